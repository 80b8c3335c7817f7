"""What `predict_proba` of a release is worth: `python -m experiments.slicing.predictions`.

The five tables of the census experiment, a quarter of the rows held out, three seeds: the area under the ROC curve on
held-out rows of `slices` by the mixture of its latent points, by its labeller (which is what users get), and of
`tables`. Written beside the script, after every run: `predictions.json`; runs that are in it are not run again.
"""

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.progress import track

from experiments.cells import table as plain_table
from experiments.slicing.table import TASKS

RESULTS = Path(__file__).with_suffix(".json")
EPSILONS, SEEDS = (1.0, 5.1), (0, 1, 2)
MECHANISMS = ("slices", "tables")
METHODS = ("slices, its mixture", "slices", "tables")


def main() -> None:
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    runs = [
        (name, epsilon, seed, mechanism)
        for name in TASKS
        for epsilon in EPSILONS
        for seed in SEEDS
        for mechanism in MECHANISMS
    ]
    for name, epsilon, seed, mechanism in track(runs, "releasing"):
        key = f"{name}, epsilon {epsilon:g}, seed {seed}, {mechanism}"
        if key not in found:
            found[key] = _areas(name, epsilon, seed, mechanism)
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(plain_table(["", *METHODS], lines(found)))


def _areas(name: str, epsilon: float, seed: int, mechanism: str) -> dict[str, float]:
    """Of the release as a classifier, and of `slices` without its labeller."""
    from sklearn.metrics import roc_auc_score

    import sfumato
    from experiments.slicing.methods import DELTA
    from experiments.slicing.tasks import task
    from experiments.tables import split
    from sfumato.evaluation.records import read_all

    one = task(name)
    target = str(one.schema.target)
    train, held_out = split(one, seed)
    test = read_all(held_out, one.schema)
    release = sfumato.release(
        train,
        one.schema,
        epsilon=epsilon,
        delta=DELTA,
        mechanism=mechanism,
        adjacency="replace",
        ledger=None,
        seed=seed,
        types="declared",
    )
    model: Any = release.model
    models = {mechanism: model}
    if mechanism == "slices":
        models["slices, its mixture"] = replace(model, labeller=None)
    return {
        method: float(roc_auc_score(test.codes[target], model.class_probabilities(test, target)[:, 1]))
        for method, model in models.items()
    }


def lines(found: dict[str, dict[str, float]]) -> list[list[str]]:
    """A line for every table and epsilon, and their means; mean and standard deviation over seeds."""
    rows = []
    for epsilon in EPSILONS:
        columns: dict[str, list[float]] = {method: [] for method in METHODS}
        for name in TASKS:
            cells = []
            for method in METHODS:
                keys = [f"{name}, epsilon {epsilon:g}, seed {seed}, {method.split(',')[0]}" for seed in SEEDS]
                areas = [found[key][method] for key in keys if key in found]
                columns[method] += [statistics.mean(areas)] if areas else []
                cells.append(
                    f"{statistics.mean(areas):.3f} ± {statistics.stdev(areas):.3f}" if len(areas) > 1 else "not run"
                )
            rows.append([f"{name}, epsilon {epsilon:g}", *cells])
        means = [f"{statistics.mean(values):.3f}" if values else "" for values in columns.values()]
        rows.append([f"mean, epsilon {epsilon:g}", *means])
    return rows


if __name__ == "__main__":
    main()
