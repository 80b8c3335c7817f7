"""Whether means can be trusted: `python -m experiments.means [--quick] [--only TABLE ...]`.

For every numeric column of a table, over all records and given each frequent value of the target: the mean of a
release, how far it is from the truth in standard deviations of the column, and whether its 95 % interval holds the
truth. The same rows, twenty releases with noise of their own. `payments` is made up: amounts with heavy tails inside
bounds that are far wider, as a claims department has them.

A constant of the intervals (what cells add in which nothing was seen) was chosen on adult, coverage, census and
payments.
"""

import argparse
import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track

import sfumato
from experiments.tasks import TASKS, Task
from sfumato.artefact.release import Expectation
from sfumato.evaluate.records import read_all, values_of
from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.encoding import CategoricalCodec, Encoder, NumericCodec

RESULTS = Path(__file__).with_suffix(".json")
ROWS = 30_000
RELEASES = 20
FREQUENT = 0.05  # share of the records that a condition holds at least
TABLES = ("adult", "census", "credit", "length of stay", "class of worker", "coverage", "payments")


def payments() -> Task:
    """Amounts of a claims department."""
    rng = np.random.default_rng(0)
    pay = np.where(rng.random(ROWS) < 0.3, 0.0, np.rint(np.exp(rng.normal(7, 1.6, ROWS))))
    rows = pd.DataFrame(
        {
            "pay": pay.clip(0, 2e6),
            "claim": np.round(100 * (rng.pareto(1.7, ROWS) + 0.2), 2).clip(0, 1e6),
            "wage": np.round(np.exp(rng.normal(3, 0.6, ROWS)), 2).clip(0, 1e4),
            "debt": np.where(rng.random(ROWS) < 0.8, 0, -np.rint(np.exp(rng.normal(8, 1.2, ROWS)))).clip(-1e6, 0),
            "open": np.where(rng.random(ROWS) < 1 / (1 + np.exp(2.5 - np.log1p(pay) / 2)), "yes", "no"),
        }
    )
    bounds = {"pay": [0, 2_000_000], "claim": [0, 1_000_000], "wage": [0, 10_000], "debt": [-1_000_000, 0]}
    columns = [{"name": name, "type": "number", "bounds": ends} for name, ends in bounds.items()]
    target = {"name": "open", "type": "category", "values": ["no", "yes"]}
    content = {"sfumato": 1, "name": "payments", "columns": [*columns, target], "target": "open"}
    return Task("payments", rows, sfumato.Schema.from_dict(content))


def compare(task: Task, epsilon: float) -> list[dict[str, Any]]:
    """One release: every mean against the truth."""
    schema, rows = task.schema, task.rows
    release = sfumato.release(rows, schema, epsilon=epsilon, delta=1 / len(rows), ledger=None, types="declared")
    truth, codes = values_of(read_all(rows, schema), schema), Encoder(schema).columns
    found = []
    for name in schema.features:
        if isinstance(codes[name], NumericCodec):
            for given, where in conditions(task, truth):
                real = truth[name][where & np.isfinite(truth[name])]
                answer = release.mean(name, given=given or None)
                if len(real) and isinstance(answer.mean, float):
                    found.append(_judge(name, given, answer, real))
    return found


def _judge(name: str, given: dict[str, Any], answer: Expectation, real: FloatArray) -> dict[str, Any]:
    mean, low, high = (float(end) for end in answer if isinstance(end, float))
    spread = max(float(real.std()), 1e-12)
    return {
        "column": name,
        "given": bool(given),
        "held": bool(low <= real.mean() <= high),
        "off": (mean - float(real.mean())) / spread,
        "width": (high - low) / 2 / spread,
    }


def conditions(task: Task, truth: Mapping[str, FloatArray]) -> list[tuple[dict[str, Any], BoolArray]]:
    """All records, and each frequent value of the target."""
    target = str(task.schema.target)
    listed, everybody = Encoder(task.schema).columns[target], np.ones(len(task.rows), dtype=bool)
    if not isinstance(listed, CategoricalCodec):
        return [({}, everybody)]
    each = [({target: value}, truth[target] == place) for place, value in enumerate(listed.values)]
    return [({}, everybody), *((given, where) for given, where in each if where.mean() >= FREQUENT)]


def summarise(found: list[dict[str, Any]]) -> dict[str, float]:
    """Over columns and releases: all records, and conditions."""
    kinds = {
        "": [one for one in found if not one["given"]],
        " given the target": [one for one in found if one["given"]],
    }
    return {
        f"{what}{kind}": value
        for kind, some in kinds.items()
        if some
        for what, value in {
            "intervals": float(len(some)),
            "held": statistics.mean(one["held"] for one in some),
            "off, root mean square": statistics.mean(one["off"] ** 2 for one in some) ** 0.5,
            "off, median": statistics.median(abs(one["off"]) for one in some),
            "half width, median": statistics.median(one["width"] for one in some),
        }.items()
    }


def main() -> None:
    """See the top."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="payments alone, two releases; writes nothing")
    parser.add_argument("--only", nargs="*", choices=TABLES, help="some tables; the results of others are kept")
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for name in asked.only or (["payments"] if asked.quick else TABLES):
        task = payments() if name == "payments" else TASKS[name]()
        task = Task(task.name, task.rows.sample(min(ROWS, len(task.rows)), random_state=0), task.schema)
        runs = track(range(2 if asked.quick else RELEASES), name, transient=True)
        found = summarise([one for _ in runs for one in compare(task, asked.epsilon)])
        print(f"{name}, epsilon {asked.epsilon:g}: " + ", ".join(f"{key} {value:.3f}" for key, value in found.items()))
        kept = [one for one in kept if (one["table"], one["epsilon"]) != (name, asked.epsilon)]
        kept.append({"table": name, "epsilon": asked.epsilon, **found})
        if not asked.quick:
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
