"""The divergences of `retrain` against each other: `python -m experiments.slicing.divergences [--quick]`.

Two census tables are released by `slices` at epsilon 1, twice each; from each bundle a generator is trained by every
divergence. Figures are as in the census table. Written beside the script, after every run: `divergences.json`; runs
that are in it are not run again. `--quick` trains for a moment and writes nothing.
"""

import argparse
import json
import statistics
from collections.abc import Mapping
from pathlib import Path

import sfumato
from experiments.cells import table as plain_table
from experiments.slicing.methods import DELTA, Case, judged
from experiments.slicing.metrics import METRICS
from experiments.slicing.tasks import coded_rows, rows_of, task
from experiments.tables import split
from sfumato.artefact.release import Release
from sfumato.fitting.generators import DIVERGENCES

RESULTS = Path(__file__).with_suffix(".json")
TASKS, SEEDS, EPSILON = ("Coverage", "Adult"), (0, 1), 1.0
EPOCHS, QUICK_EPOCHS, QUICK_ROWS = 1_000, 5, 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one table, a moment of training; writes nothing")
    parser.add_argument("--most", type=int, help="stop after so many new releases")
    asked = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() and not asked.quick else {}
    wanted = [
        (name, seed) for name in TASKS[: 1 if asked.quick else None] for seed in SEEDS[: 1 if asked.quick else None]
    ]
    new = [one for one in wanted if any(key_of(*one, name) not in found for name in DIVERGENCES)]
    for name, seed in new[: asked.most]:
        made = released(name, seed, asked.quick)
        for divergence in DIVERGENCES:
            if key_of(name, seed, divergence) not in found:
                trained = made.retrain(epochs=QUICK_EPOCHS if asked.quick else EPOCHS, seed=seed, divergence=divergence)
                found[key_of(name, seed, divergence)] = figures(name, seed, trained)
                if not asked.quick:
                    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(plain_table(["", *METRICS], lines(found)))


def key_of(name: str, seed: int, divergence: str) -> str:
    return f"{name}, seed {seed}, {divergence}"


def released(name: str, seed: int, quick: bool) -> Release:
    """Of the training rows; the generator that comes with it is not looked at."""
    one = task(name)
    return sfumato.release(
        split(one, seed)[0][: QUICK_ROWS if quick else None],
        one.schema,
        epsilon=EPSILON,
        delta=DELTA,
        mechanism="tables" if quick else "slices",
        adjacency="replace",
        ledger=None,
        seed=seed,
        types="declared",
    )


def figures(name: str, seed: int, trained: Release) -> dict[str, float]:
    """Against rows that were held out."""
    rows = rows_of(name)
    drawn = coded_rows(trained.sample(seed=seed, output="arrow"), trained.schema)
    return judged(Case(name, rows), rows.split(seed).filled(), drawn)


def bundles(found: Mapping[str, Mapping[str, float]]) -> str:
    """Those that every divergence was trained on."""
    there = [
        f"{name}, seed {seed}"
        for name in TASKS
        for seed in SEEDS
        if all(key_of(name, seed, divergence) in found for divergence in DIVERGENCES)
    ]
    return f"{len(there)} of {len(TASKS) * len(SEEDS)} bundles ({'; '.join(there)})"


def lines(found: Mapping[str, Mapping[str, float]]) -> list[list[str]]:
    """A line for each divergence: means over tables and seeds."""
    rows = []
    for divergence in DIVERGENCES:
        runs = [found[key] for name in TASKS for seed in SEEDS if (key := key_of(name, seed, divergence)) in found]
        known = [[one[metric] for one in runs if metric in one] for metric in METRICS]
        rows.append([divergence, *(f"{statistics.mean(values):.3f}" if values else "not run" for values in known)])
    return rows


if __name__ == "__main__":
    main()
