"""How near the numbers of a synthetic table come: `python -m experiments.values [--quick] [--only TASK ...]`.

For every numeric column: Kolmogorov and Smirnov's distance between training and synthetic rows (KS), Wasserstein's
divided by the range from the 1st to the 99th percentile (W1), the ratio of the means, and the share of synthetic values
on the coarsest decimal unit of which 99 % of the training values are multiples. For the table: the area under the ROC
curve of LightGBM, the total variation of pairs, and how often the interval of `Release.mean` holds the truth. `before`
is the same library without the question on where long columns have their mass. Splits, delta and learner are those of
`experiments.tables`.

The constants were chosen on made-up columns, but for three: cells are joined up to a thousandth of the records, not a
hundredth, after a look at the means of census; how cells of a tail grow, and what counts as seen there, were chosen on
ICU stays, SUPPORT2, Connecticut (the rows of `coverage`) and the payments of `experiments.means`. Adult, length of stay
and class of worker chose nothing.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from rich.progress import track
from scipy.stats import ks_2samp, wasserstein_distance

import sfumato
from experiments.tables import learner, raw, split
from experiments.tasks import TASKS, Task
from sfumato.evaluation.fidelity import fidelity
from sfumato.evaluation.learners import design, score
from sfumato.evaluation.records import read_all, values_of
from sfumato.fitting.mechanisms.counts.plan import Tuning
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import CategoricalCodec, Encoder, NumericCodec
from sfumato.trusted.encoding.decimals import Unit, multiples_of, units_between

MADE_UP = "made up"
RESULTS = Path(__file__).with_suffix(".json")
EPSILONS = (0.2, 1.0, 3.0)
SEEDS = 3
ON_UNIT = 0.99


def made_up() -> Task:
    """Columns as custodians have them: heaps and sentinel codes in wide bounds, units, payments, working days."""
    rows, rng = 40_000, np.random.default_rng(0)
    high = rng.random(rows) < 0.4
    pay = np.where(rng.random(rows) < 0.3, 0, np.rint(np.exp(rng.normal(7, 1.5, rows))))
    days = rng.integers(3_000, 9_000, 3 * rows)
    weekend = (days + 3) % 7 >= 5
    table = pd.DataFrame(
        {
            "pressure": np.where(rng.random(rows) < 0.4, 120.0, np.rint(rng.normal(130 + 10 * high, 18, rows))),
            "test": np.where(rng.random(rows) < 0.5, rng.choice([96.0, 97, 99], rows), rng.integers(0, 60, rows)),
            "limit": rng.integers(1, 80, rows) * 10_000,
            "pay": np.where(rng.random(rows) < 0.4, np.rint(pay / 1_000) * 1_000, pay).clip(0, 1e6),
            "wage": np.round(np.exp(rng.normal(3, 0.6, rows)), 2),
            "fever": np.round(rng.normal(37, 0.7, rows), 1),
            "born": days[rng.random(3 * rows) < np.where(weekend, 0.2, 1.0)][:rows].astype("datetime64[D]"),
            "high": np.where(high, "yes", "no"),
        }
    )
    columns: list[dict[str, Any]] = [
        {"name": "pressure", "type": "number", "bounds": [-150, 17_000]},
        {"name": "test", "type": "number", "bounds": [0, 10_000]},
        {"name": "limit", "type": "integer", "bounds": [0, 1_000_000]},
        {"name": "pay", "type": "number", "bounds": [0, 1_000_000]},
        {"name": "wage", "type": "number", "bounds": [0, 10_000], "scale": "log"},
        {"name": "fever", "type": "number", "bounds": [30, 45]},
        {"name": "born", "type": "date", "bounds": ["1970-01-01", "2030-12-31"]},
        {"name": "high", "type": "category", "values": ["no", "yes"]},
    ]
    content = {"sfumato": 1, "name": "made-up", "columns": columns, "target": "high"}
    return Task(MADE_UP, table, sfumato.Schema.from_dict(content))


def measure(task: Task, epsilon: float, seed: int) -> dict[str, Any]:
    """One split, one release, one learner."""
    schema, target = task.schema, str(task.schema.target)
    train, test = split(task, seed)
    release = sfumato.release(train, schema, epsilon=epsilon, delta=1 / len(train), ledger=None, types="declared")
    real, held_out = (values_of(read_all(rows, schema), schema) for rows in (train, test))
    drawn = values_of(release.model.sample(release.size, np.random.default_rng(seed)), schema)
    codes = Encoder(schema).columns
    columns = {
        name: compare_column(real[name], drawn[name], release, name)
        for name in schema.by_name
        if isinstance(codes[name], NumericCodec) and np.isfinite(real[name]).any() and np.isfinite(drawn[name]).any()
    }
    listed = codes[target]
    learn = learner(task, listed.size if isinstance(listed, CategoricalCodec) else None)
    predicted = learn(design(drawn, schema), drawn[target], None)(design(held_out, schema))
    return {
        "columns": columns,
        "score": float(score(predicted, held_out[target]) or 0),
        "pairs apart": fidelity(raw(real), raw(drawn), schema).mean_pair,
    }


def compare_column(real: FloatArray, drawn: FloatArray, release: sfumato.Release, name: str) -> dict[str, float]:
    """One column, over the rows that have a value."""
    real, drawn = real[np.isfinite(real)], drawn[np.isfinite(drawn)]
    low, high = np.quantile(real, [0.01, 0.99])
    answer = release.mean(name)
    found = {
        "KS": float(ks_2samp(real, drawn).statistic),
        "W1": float(wasserstein_distance(real, drawn) / max(high - low, 1e-12)),
        "mean ratio": float(drawn.mean() / real.mean()) if real.mean() else 1.0,
    }
    if isinstance(answer.mean, float):
        found["held"] = float(answer.low <= real.mean() <= answer.high)
    if (level := unit_of(real)) is not None:
        found["on unit"] = float(np.mean(level_of_numbers(drawn, CHAIN) >= level))
    return found


CHAIN = units_between(1e-4, 1e6)


def level_of_numbers(numbers: FloatArray, units: list[Unit]) -> IntArray:
    """The number, from 1, of the coarsest unit that each is a multiple of; 0: of none."""
    level = np.zeros(len(numbers), dtype=np.int64)
    for place, unit in enumerate(units, start=1):
        count = multiples_of(numbers, unit)
        level[np.abs(count - np.rint(count)) <= 1e-9 * np.maximum(np.abs(count), 1.0)] = place
    return level


def unit_of(values: FloatArray) -> int | None:
    """The number of the coarsest unit of which almost all values are multiples."""
    level = level_of_numbers(values, CHAIN)
    fitting = [place for place in range(1, len(CHAIN) + 1) if np.mean(level >= place) >= ON_UNIT]
    return max(fitting, default=None)


def summarise(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over columns and runs, and the worst column."""
    names = runs[0]["columns"]
    ks = {name: statistics.mean(run["columns"][name]["KS"] for run in runs if name in run["columns"]) for name in names}
    every = [column for run in runs for column in run["columns"].values()]
    return {
        "KS": ks,
        "KS mean": statistics.mean(ks.values()),
        "KS worst": max(ks.values()),
        "W1 mean": statistics.mean(column["W1"] for column in every),
        "off mean": statistics.median(abs(np.log(max(column["mean ratio"], 1e-9))) for column in every),
        "off mean, worst": max(abs(np.log(max(column["mean ratio"], 1e-9))) for column in every),
        "intervals held": statistics.mean(column["held"] for column in every if "held" in column),
        "on unit": statistics.mean(column["on unit"] for column in every if "on unit" in column),
        "score": statistics.mean(run["score"] for run in runs),
        "pairs apart": statistics.mean(run["pairs apart"] for run in runs),
    }


def main() -> None:
    """See the top."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="Adult alone, epsilon 1, one seed; writes nothing")
    parser.add_argument(
        "--only", nargs="*", choices=[MADE_UP, *TASKS], help="some tasks; the results of others are kept"
    )
    parser.add_argument("--epsilon", nargs="*", type=float, default=EPSILONS)
    asked = parser.parse_args()
    names = asked.only or (["adult"] if asked.quick else [MADE_UP, *TASKS])
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for name in names:
        task = made_up() if name == MADE_UP else TASKS[name]()
        for epsilon in (1.0,) if asked.quick else asked.epsilon:
            for when, share in (("before", 0.0), ("after", Tuning.zoom)):
                seeds = track(range(1 if asked.quick else SEEDS), f"{name} {epsilon:g} {when}", transient=True)
                with mock.patch.object(Tuning, "zoom", share):
                    found = summarise([measure(task, epsilon, seed) for seed in seeds])
                print(f"{name}, epsilon {epsilon:g}, {when}: ", end="")
                print(
                    ", ".join(f"{key} {value:.4f}" for key, value in (found | found["KS"]).items() if key != "KS"),
                    flush=True,
                )
                kept = [one for one in kept if (one["task"], one["epsilon"], one["when"]) != (name, epsilon, when)]
                kept.append({"task": name, "epsilon": epsilon, "when": when, **found})
                if not asked.quick:
                    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
