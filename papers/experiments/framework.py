"""What each choice of the framework's parts is worth: `python -m experiments.framework [--quick] [--only TASK ...]`.

Releases by mechanism `3a` with choices of anonymize, approximate and adapt, and with several shares of the budget for
adapt, at epsilon 1 and delta = 1/N; a random 75/25 split for each of three seeds, one for networks. The area under the
ROC curve on real test rows of LightGBM on as many synthetic rows as the noisy size says (`rows`), and of the release
itself (`itself`).

Chosen on `acs income` and `coverage`, on seed 0: the kernel's width, its number of frequencies and its share. `adult`
and `length of stay` (71,518 first stays in hospital, four classes) are reported and were used for no choice of this
mechanism, `length of stay` for none of this library; `adult` was looked at for what `tables` brings along, as
`experiments.tables` says. Shares and networks are tried on `adult` alone. Finished cells are kept in `framework.json`;
`--show` prints them, and `--forecasts` holds what the release itself loses against LightGBM on the real rows (of
`tables.json`) against what `sfumato plan` says of it, whose formula was fitted to `tables, mixture, gradients` alone.

The data is read from $SFUMATO_DATA.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path

import numpy as np

import sfumato
from experiments.cells import Cell, Figures, Results, table
from experiments.tables import RESULTS as RESULTS_OF_TABLES
from experiments.tables import learner, split
from experiments.tasks import TASKS
from sfumato.evaluation.learners import design, score
from sfumato.evaluation.records import read_all, values_of
from sfumato.fitting.mechanisms.choice import Settings
from sfumato.trusted.encoding import Encoder

RESULTS = Path(__file__).with_suffix(".json")
CHOOSING, REPORTING = ("acs income", "coverage"), ("adult", "length of stay")
WITH_SHARES_AND_NETWORKS = "adult"
SEEDS, SEEDS_OF_NETWORKS = range(3), range(1)
EPSILON = 1.0
PARTS = (
    ("tables", "mixture", "gradients"),
    ("tables", "mixture", "leaves"),
    ("tables", "mixture", "released"),
    ("tables", "mixture", "none"),
    ("tables", "generator", "gradients"),
    ("slices", "mixture", "gradients"),
    ("slices", "mixture", "none"),
    ("slices", "generator", "released"),
    ("kernel", "mixture", "gradients"),
    ("kernel", "mixture", "leaves"),
    ("kernel", "mixture", "released"),
    ("kernel", "mixture", "none"),
    ("kernel", "generator", "none"),
)
SHARES = (0.05, 0.5, 0.8)
"""Beside the usual one, for two choices."""
SHARED = (("tables", "mixture", "gradients"), ("kernel", "mixture", "gradients"))
QUICK = 3_000  # training rows

Parts = tuple[str, str, str]


def measure(name: str, parts: Parts, share: float | None, quick: bool, seed: int) -> Figures:
    """One split, one release, one learner."""
    task = TASKS[name]()
    schema, target = task.schema, str(task.schema.target)
    train, test = split(task, seed)
    train = train.head(QUICK) if quick else train
    begin = time.process_time()
    anonymize, approximate, adapt = parts
    release = sfumato.release(
        train,
        schema,
        epsilon=EPSILON,
        delta=1 / len(train),
        mechanism="3a",
        anonymize=anonymize,
        approximate=approximate,
        adapt=adapt,
        share=share,
        ledger=None,
        types="declared",
    )
    seconds = time.process_time() - begin
    held_out = read_all(test, schema)
    truth = values_of(held_out, schema)
    made = values_of(release.model.sample(release.size, np.random.default_rng(seed)), schema)
    learnt = learner(task, Encoder(schema).columns[target].size)(design(made, schema), made[target], None)
    return {
        "rows": float(score(learnt(design(truth, schema)), truth[target]) or 0),
        "itself": float(score(release.predict_encoded(held_out), truth[target]) or 0),
        "cpu seconds": seconds,
    }


def case_of(parts: Parts, share: float | None) -> str:
    """As it is kept and printed."""
    return ", ".join(parts) + ("" if share is None else f", share {share:g}")


def cells(names: list[str], quick: bool) -> list[Cell]:
    """What is to be measured; a quick run has one seed, and one table alone has networks and shares."""
    found = []
    for name in names:
        asked: list[tuple[Parts, float | None]] = [(parts, None) for parts in PARTS]
        asked += [(parts, share) for parts in SHARED for share in SHARES]
        if quick or name != WITH_SHARES_AND_NETWORKS:
            asked = [(parts, share) for parts, share in asked if parts[1] == "mixture" and share is None]
        for parts, share in asked:
            seeds = range(1) if quick else SEEDS if parts[1] == "mixture" else SEEDS_OF_NETWORKS
            found.append(Cell(name, case_of(parts, share), seeds, partial(measure, name, parts, share, quick)))
    return found


def lines(results: Results, names: list[str]) -> list[list[str]]:
    """A row for every choice: LightGBM on rows / the release itself, means over seeds, for every task."""
    found = []
    for case in dict.fromkeys(cell.case for cell in cells([*REPORTING, *names], quick=False)):
        entries = []
        for name in names:
            rows, itself = (results.figure(name, case, figure) for figure in ("rows", "itself"))
            entries.append("" if rows is None else f"{rows['mean']:.3f} / {itself['mean']:.3f}")
        if any(entries):
            found.append([case, *entries])
    return found


def compare_with_forecasts(results: Results, names: list[str]) -> list[list[str]]:
    """A row for every choice of parts: loss / forecast, starred where it is outside of the interval, for every task."""
    kept = json.loads(RESULTS_OF_TABLES.read_text())
    real = {item["task"]: np.mean(item["score"]) for item in kept if item["epsilon"] is None}
    tasks = {name: TASKS[name]() for name in names}
    found = []
    for parts in (parts for parts in PARTS if parts[1] == "mixture"):
        entries = []
        for name, task in tasks.items():
            rows = round(0.75 * len(task.rows))
            settings = Settings(anonymize=parts[0], approximate=parts[1], adapt=parts[2])
            plan = sfumato.plan(task.schema, rows=rows, epsilon=EPSILON, delta=1 / rows, mechanism="3a", **settings)
            low, high = plan.quality.intervals["prediction_gap"]
            loss = real[name] - results.figure(name, case_of(parts, None), "itself")["mean"]
            outside = "" if low <= loss <= high else "*"
            entries.append(f"{loss / (plan.quality.prediction_gap or 1):.1f}{outside}")
        found.append([case_of(parts, None), *entries])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="some rows of acs income, one seed; nothing is written")
    parser.add_argument("--only", nargs="*", choices=[*CHOOSING, *REPORTING], help="some tasks; others are kept")
    parser.add_argument("--show", action="store_true", help="print what is kept, and measure nothing")
    parser.add_argument("--forecasts", action="store_true", help="hold what is kept against what a plan forecasts")
    asked = parser.parse_args()
    names = asked.only or (["acs income"] if asked.quick else [*CHOOSING, *REPORTING])
    results = Results(None if asked.quick else RESULTS)
    if asked.forecasts:
        print(table(["loss / forecast", *names], compare_with_forecasts(results, names)))
        return
    for cell in () if asked.show else cells(names, asked.quick):
        results.run(cell)
    print(table(["rows / itself", *names], lines(results, names)))


if __name__ == "__main__":
    main()
