"""The columns of table 1 that need plain arrays alone: the real rows, the rivals, and ClustMix as published."""

from collections.abc import Callable
from typing import get_args

import numpy as np
from sfumato_papers.baselines import RIVALS, Generated, Rival, Table
from sfumato_papers.clustmix import Factor, PublishedPoints, searched

from experiments.clustmix.learning import score, told
from experiments.clustmix.rows import Rows
from experiments.clustmix.search import Found, best_rows, checked, clustmix_settings, named, settings_of
from sfumato.trusted.arrays import FloatArray, IntArray

EPSILON = 1.0
MNIST_DELTA = 1e-5
Method = Callable[[str, Rows, int, int], float]


def delta_of(task: str, rows: int) -> float:
    """As in the paper: one in as many as there are training rows, and 1e-5 for digits."""
    return MNIST_DELTA if task == "mnist" else 1 / rows


def real(task: str, rows: Rows, seed: int, tries: int) -> float:  # noqa: ARG001
    """No privacy at all."""
    split = rows.split(seed)
    return score(task, told(task, split.X, split.y, split.test_X, rows.classes), split.test_y)


def rival(method: Rival) -> Method:
    """A rival, the best of some settings on its own training rows."""

    def run(task: str, rows: Rows, seed: int, tries: int) -> Found:
        rng, split = np.random.default_rng(seed), rows.split(seed).filled()
        table = Table(split.X, split.y, rows.kinds, rows.classes)

        def scored(made: Generated, real: FloatArray, label: IntArray) -> float:
            return score(task, told(task, made.X, made.y, real, rows.classes), label)

        settings, some = settings_of(rng, method, tries), checked(rng, split.X, split.y)
        budget = (EPSILON, delta_of(task, len(split.y)))
        best, made = best_rows(rng, settings, table, *budget, lambda made: scored(made, *some))
        return Found(scored(made, split.test_X, split.test_y), tries, named(best))

    return run


def clustmix(factor: Factor) -> Method:
    """ClustMix with one reading of the factor, the best of some settings. Categories are numbers to it."""

    def run(task: str, rows: Rows, seed: int, tries: int) -> Found:
        rng, split = np.random.default_rng(seed), rows.split(seed).filled()
        budget = (EPSILON, delta_of(task, len(split.y)))
        settings = clustmix_settings(rng, task, split.y, split.X.shape[1], rows.classes, budget, factor, tries)
        some = checked(rng, split.X, split.y)

        def scored(points: PublishedPoints, real: FloatArray, label: IntArray) -> float:
            made = points.synthetic
            return score(task, told(task, made.X, made.y, points.scale(real), rows.classes), label)

        best = searched(rng, split.X, split.y, rows.classes, *budget, settings, lambda points: scored(points, *some))
        return Found(scored(best, split.test_X, split.test_y), tries, named(best.setting))

    return run


READINGS: dict[str, Factor] = {f"ClustMix, {factor}": factor for factor in get_args(Factor)}
METHODS: dict[str, Method] = {
    "Real": real,
    **{name: rival(method) for name, method in RIVALS.items()},
    **{name: clustmix(factor) for name, factor in READINGS.items()},
}
