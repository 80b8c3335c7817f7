"""Whether means can be trusted: `python -m experiments.means [--quick] [--only TABLE ...]`.

For every numeric column of a table, over all records and given each frequent value of the target: mean, standard
deviation and quantiles of a release, how far they are from the truth in standard deviations of the column, and whether
their 95 % intervals hold the truth. The same rows, twenty releases with noise of their own. `payments` is made up:
amounts with heavy tails inside bounds that are far wider, as a claims department has them.

What cells add to an interval in which nothing was seen was chosen by five other releases of each of these tables, so
that their means are held. Nothing was chosen by standard deviations, quantiles or conditions.
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
from sfumato.artefact.figures import Summary
from sfumato.evaluation.records import read_all, values_of
from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.encoding import CategoricalCodec, Encoder, NumericCodec

RESULTS = Path(__file__).with_suffix(".json")
ROWS = 30_000
RELEASES = 20
_NEAR = 1e-9  # standard deviations: a column with a unit is written with the last digit of its own
FREQUENT = 0.05  # share of the records that a condition holds at least
TABLES = ("adult", "census", "acs income", "length of stay", "class of worker", "coverage", "payments", "credit")


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
    """One release: every figure against the truth."""
    schema, rows = task.schema, task.rows
    release = sfumato.release(rows, schema, epsilon=epsilon, delta=1 / len(rows), ledger=None, types="declared")
    truth, codes = values_of(read_all(rows, schema), schema), Encoder(schema).columns
    found = []
    for name in schema.features:
        if isinstance(codes[name], NumericCodec):
            for given, where in conditions(task, truth):
                real = truth[name][where & np.isfinite(truth[name])]
                if len(real):
                    found += _judge(release.summary(name, given=given or None), given, real)
    return found


def _judge(figures: list[Summary], given: dict[str, Any], real: FloatArray) -> list[dict[str, Any]]:
    quantiles = np.quantile(real, [0.05, 0.25, 0.5, 0.75, 0.95], method="inverted_cdf")
    spread = float(real.std()) or 1.0
    return [
        {
            "figure": "quantile" if "quantile" in one.figure else one.figure,
            "given": bool(given),
            "held": bool(one.low - _NEAR * spread <= number <= one.high + _NEAR * spread),
            "off": (one.value - number) / spread,
            "width": (one.high - one.low) / 2 / spread,
        }
        for one, number in zip(figures, [real.mean(), real.std(), *quantiles], strict=True)
    ]


def conditions(task: Task, truth: Mapping[str, FloatArray]) -> list[tuple[dict[str, Any], BoolArray]]:
    """All records, and each frequent value of the target."""
    target = str(task.schema.target)
    listed, everybody = Encoder(task.schema).columns[target], np.ones(len(task.rows), dtype=bool)
    if not isinstance(listed, CategoricalCodec):
        return [({}, everybody)]
    each = [({target: value}, truth[target] == place) for place, value in enumerate(listed.values)]
    return [({}, everybody), *((given, where) for given, where in each if where.mean() >= FREQUENT)]


def summarise(found: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Over columns and releases, by figure: all records, and conditions."""
    kinds = {(one["figure"], one["given"]) for one in found}
    return {
        f"{figure}{' given the target' * given}": {
            "intervals": len(some),
            "held": statistics.mean(one["held"] for one in some),
            "off, root mean square": statistics.mean(one["off"] ** 2 for one in some) ** 0.5,
            "off, median": statistics.median(abs(one["off"]) for one in some),
            "half width, median": statistics.median(one["width"] for one in some),
        }
        for figure, given in sorted(kinds)
        for some in [[one for one in found if (one["figure"], one["given"]) == (figure, given)]]
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
        print(f"{name}, epsilon {asked.epsilon:g}:", flush=True)
        for figure, values in found.items():
            print(f"  {figure}: " + ", ".join(f"{key} {value:.3f}" for key, value in values.items()), flush=True)
        kept = [one for one in kept if (one["table"], one["epsilon"]) != (name, asked.epsilon)]
        kept.append({"table": name, "epsilon": asked.epsilon, **found})
        if not asked.quick:
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
