"""Figure 3: digits released by ClustMix as published."""

from pathlib import Path

import numpy as np
from sfumato_papers.clustmix import PublishedPoints, Setting, searched

from experiments.clustmix.learning import score, told
from experiments.clustmix.methods import MNIST_DELTA
from experiments.clustmix.rows import Rows
from sfumato.reports.images import png, sheet_of
from sfumato.trusted.arrays import FloatArray, IntArray

EPSILONS = (1.0, 0.2)
SETTINGS = [Setting(sigma) for sigma in (0.2, 0.5, 1.0, 2.0, 4.0)]
EACH, SHAPE, CHECKED = 10, (28, 28), 10_000


def released(rows: Rows, epsilon: float) -> tuple[PublishedPoints, float]:
    """The best of some settings on training digits, and its accuracy on the test digits."""
    split, rng = rows.split(0), np.random.default_rng(0)
    some = rng.permutation(len(split.y))[:CHECKED]

    def right(points: PublishedPoints, images: FloatArray, label: IntArray) -> float:
        learnt = told("mnist", points.synthetic.X, points.synthetic.y, points.scale(images), rows.classes)
        return score("mnist", learnt, label)

    best = searched(
        rng,
        split.X,
        split.y,
        rows.classes,
        epsilon,
        MNIST_DELTA,
        SETTINGS,
        lambda points: right(points, split.X[some], split.y[some]),
    )
    return best, right(best, split.test_X, split.test_y)


def write(points: PublishedPoints, path: Path) -> None:
    """Ten digits of each class, or as many as there are."""
    made = points.synthetic
    sheets = []
    for label in range(10):
        images = made.X[made.y == label][:EACH].clip(0, 1)
        padded = np.zeros((EACH, images.shape[1]))
        padded[: len(images)] = images
        sheets.append((255 * (1 - padded)).astype(np.uint8).reshape(-1, *SHAPE))
    path.write_bytes(png(sheet_of(sheets)))
