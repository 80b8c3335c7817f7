"""What wide tables are worth after a release by `subspace`: `python -m experiments.subspace`.

LightGBM learns from 20,000 synthetic rows and is tested on real ones, and the release itself predicts the same rows
(accuracy for ten classes, area under the ROC curve for two; add-remove; median and quartiles of three releases).
Pictures also as plain pixels, which are not aligned. Then how often intervals of class means hold, and
`docs/pictures` gets grids of synthetic digits. Some twenty-five minutes on two cores; `--quick` three, and writes
nothing.
"""

import argparse
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

import sfumato
from experiments import subspace_coverage
from experiments.cells import Cell, Figures, Results, shown, table
from experiments.subspace_data import Wide, digits, isolet, mnist, usps
from experiments.subspace_pictures import write_filled, write_grid
from sfumato.artefact.release import Release
from sfumato.trusted.arrays import FloatArray, IntArray

RESULTS = Path(__file__).with_suffix(".json")
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
TABLES = {"MNIST": mnist, "USPS": usps, "digits": digits, "isolet": isolet}
PICTURES_OF = ("MNIST", "USPS", "digits")
EPSILONS = (0.2, 1.0, 3.0)
ROWS, QUICK_ROWS, SEEDS = 20_000, 5_000, 3
SHAPE, FILLED = (28, 28), 8
PAPER = {("MNIST", 0.2): "0.650", ("MNIST", 1.0): "0.818", ("isolet", 1.0): "0.903"}  # ClustMix; its claim is unproven
STUDY = {
    ("MNIST", 0.2): "0.843 / 0.949",
    ("MNIST", 1.0): "0.902 / 0.977",
    ("MNIST", 3.0): "0.902 / 0.980",
    ("USPS", 1.0): "0.837 / 0.865",
    ("isolet", 0.2): "0.803 / 0.802",
    ("isolet", 1.0): "0.944 / 0.960",
    ("isolet", 3.0): "0.969 / 0.980",
}


@cache
def loaded(name: str) -> Wide:
    return TABLES[name]()


def released(data: Wide, epsilon: float) -> Release:
    return sfumato.release(
        data.table(),
        data.schema(),
        epsilon=epsilon,
        delta=data.delta,
        mechanism="subspace",
        ledger=None,
        types="declared",
    )


def measure(name: str, epsilon: float, rows: int, seed: int, *, pictured: bool = True) -> Figures:
    data = loaded(name) if pictured else loaded(name)._replace(image=None)
    begin = time.process_time()
    release = released(data, epsilon)
    seconds = time.process_time() - begin
    synthetic = release.sample(rows, seed=seed, output="arrow")
    numbers = np.column_stack([synthetic.column(column).to_numpy() for column in data.columns])
    learner = lightgbm.LGBMClassifier(n_estimators=50 if data.classes > 2 else 100, colsample_bytree=0.2, verbose=-1)
    learner.fit(numbers, synthetic.column("y").to_numpy())
    told = np.zeros((len(data.test_label), data.classes))
    told[:, learner.classes_.astype(int)] = learner.predict_proba(data.test_numbers)
    own = release.predict_proba(data.rows(data.test_numbers))
    return {
        "rows": score(told, data.test_label),
        "posterior": score(own, data.test_label),
        "rank": float(release.fitted.basis.shape[1]),  # type: ignore[attr-defined]
        "seconds": seconds,
    }


def score(probability: FloatArray, label: IntArray) -> float:
    if probability.shape[1] == 2:
        return float(roc_auc_score(label, probability[:, 1]))
    return float(np.mean(probability.argmax(axis=1) == label))


def cells(quick: bool) -> Iterator[Cell]:
    for name in TABLES:
        for epsilon in (1.0,) if quick else EPSILONS:
            rows, seeds = (QUICK_ROWS, range(1)) if quick else (ROWS, range(SEEDS))
            run = partial(measure, name, epsilon, rows)
            yield Cell("subspace", case_of(name, epsilon), seeds, run)
            if name in PICTURES_OF and not quick:
                yield Cell("as pixels", case_of(name, epsilon), seeds, partial(run, pictured=False))


def case_of(name: str, epsilon: float) -> str:
    return f"{name}, epsilon {epsilon:g}"


def show(results: Results, quick: bool) -> str:
    lines = []
    for name in TABLES:
        for epsilon in (1.0,) if quick else EPSILONS:
            case = case_of(name, epsilon)
            figures = [shown(results.figure("subspace", case, one)) for one in ("rows", "posterior", "rank", "seconds")]
            pixels = [shown(results.figure("as pixels", case, one)) for one in ("rows", "posterior")]
            lines.append([case, *figures, *pixels, STUDY.get((name, epsilon), ""), PAPER.get((name, epsilon), "")])
    head = ["", "LightGBM on rows", "posterior", "rank of pixels", "CPU s", "rows as pixels", "posterior as pixels"]
    head += ["study: rows / posterior", "paper, unproven"]
    return table(head, lines)


def draw() -> None:
    """Synthetic digits at two budgets, and test digits whose lower half is filled in."""
    images = loaded("MNIST")
    releases = {epsilon: released(images, epsilon) for epsilon in EPSILONS[:2]}
    for epsilon, release in releases.items():
        write_grid(release, PICTURES / f"subspace_mnist_{epsilon:g}.png")
    write_filled(releases[1.0], images.test_numbers[:FILLED], SHAPE, PICTURES / "subspace_filled.png")
    print("drawn: subspace_mnist_0.2.png, subspace_mnist_1.png, subspace_filled.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="epsilon 1, one release each, 5,000 rows; writes nothing")
    parser.add_argument("--fresh", action="store_true", help="measure finished cells anew")
    asked = parser.parse_args()
    results = Results(None if asked.quick else RESULTS)
    if asked.fresh:
        results.forget(["subspace", "as pixels", "coverage"])
    for cell in (*cells(asked.quick), *subspace_coverage.cells(asked.quick)):
        results.run(cell)
    print(f"\n{show(results, asked.quick)}\n\n{subspace_coverage.show(results)}\n")
    if not asked.quick:
        draw()


if __name__ == "__main__":
    main()
