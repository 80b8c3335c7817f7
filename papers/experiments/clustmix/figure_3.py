"""Figure 3: digits of ClustMix as published, of as many records as the paper's own, by the reading of its noise.

Clusters are found once for each seed, without adaptation, and the noise of each reading is added to the same means, so
that nothing but the noise differs. What was measured is kept in `figure_3.json`.
"""

import json
import statistics
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from sfumato_papers.clustmix import Factor, PublishedPoints, Setting, clustmix, noise

from experiments.clustmix.learning import score, told
from experiments.clustmix.methods import MNIST_DELTA
from experiments.clustmix.rows import Rows
from sfumato.reports.images import png, sheet_of
from sfumato.trusted.arrays import FloatArray

READINGS: tuple[Factor, ...] = get_args(Factor)
SEEDS, EACH, SHAPE = 3, 3, (28, 28)


class Printed(NamedTuple):
    """What the paper says of its digits: records of each on average, and accuracy on test digits."""

    size: int
    accuracy: float


PAPER = {1.0: Printed(118, 0.818), 0.2: Printed(20, 0.650)}
KEPT = Path(__file__).with_suffix(".json")
Measured = dict[str, Any]


def kept() -> Measured:
    """Of each epsilon: how many digits of how many records, and the noise and accuracies of each reading."""
    return dict(json.loads(KEPT.read_text()))


def measure(rows: Rows, folder: Path) -> Measured:
    """What is to be kept; the sheets of digits go to the folder."""
    return {f"{epsilon:g}": _of_epsilon(rows, epsilon, folder) for epsilon in PAPER}


def _of_epsilon(rows: Rows, epsilon: float, folder: Path) -> Measured:
    split, size = rows.split(0), PAPER[epsilon].size
    accuracies: dict[str, list[float]] = {reading: [] for reading in READINGS}
    sigmas: dict[str, float] = {}
    for seed in reversed(range(SEEDS)):  # what is drawn and counted is that of seed 0
        found = clusters(rows, epsilon, size, seed)
        drawn = {reading: noisy(found, epsilon, rows, reading, seed) for reading in READINGS}
        for reading, points in drawn.items():
            learnt = told("mnist", points, found.synthetic.y, found.scale(split.test_X), rows.classes)
            accuracies[reading].append(score("mnist", learnt, split.test_y))
            sigmas[reading] = float(np.mean(_sigmas(found, epsilon, rows, reading)))
    (folder / f"figure_3_{epsilon:g}.png").write_bytes(_sheet(drawn, found))
    sizes = found.synthetic.sizes.tolist()
    return {"digits": len(sizes), "size": statistics.mean(sizes), "noise": sigmas, "accuracy": accuracies}


def clusters(rows: Rows, epsilon: float, size: int, seed: int) -> PublishedPoints:
    """Means of so many training digits at least."""
    split = rows.split(0)
    sigma = noise(epsilon, MNIST_DELTA, size, rows.classes, split.X.shape[1])
    assert sigma is not None
    setting = Setting(sigma * (1 + 1e-9))
    return clustmix(np.random.default_rng(seed), split.X, split.y, rows.classes, epsilon, MNIST_DELTA, setting)


def noisy(found: PublishedPoints, epsilon: float, rows: Rows, reading: Factor, seed: int) -> FloatArray:
    """The same means with the noise of a reading."""
    means = found.synthetic.means
    sigmas = _sigmas(found, epsilon, rows, reading)
    points: FloatArray = means + sigmas[:, None] * np.random.default_rng((seed, 1)).standard_normal(means.shape)
    return points


def _sigmas(found: PublishedPoints, epsilon: float, rows: Rows, reading: Factor) -> FloatArray:
    sizes, features = found.synthetic.sizes, found.synthetic.means.shape[1]
    return np.array([noise(epsilon, MNIST_DELTA, int(size), rows.classes, features, reading) for size in sizes])


def _sheet(drawn: dict[Factor, FloatArray], found: PublishedPoints) -> bytes:
    """Three lines of the ten digits for each reading, in their order."""
    label = found.synthetic.y
    lines = []
    for points in drawn.values():
        for line in range(EACH):
            images = np.array([points[label == digit][line] for digit in range(10)]).clip(0, 1)
            lines.append((255 * (1 - images)).astype(np.uint8).reshape(-1, *SHAPE))
    return png(sheet_of(lines))
