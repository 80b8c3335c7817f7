"""One search for every column that has settings: as many tries for each, by the score on the training rows.

A rival begins with its default setting, which was chosen on another table (health insurance in Connecticut, ACS); the
others are drawn from the grid below. ClustMix has no default: all of its are drawn. The run that scores best is the one
that is tested, and none of the others is paid for, as in the paper.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sfumato_papers.baselines import Generated, Rival, Table
from sfumato_papers.clustmix import Factor, Scaling, Setting, smallest_mixture

from sfumato.errors import DataError
from sfumato.trusted.arrays import FloatArray, IntArray

TRIES, QUICK_TRIES = 3, 2
CHECKED = 20_000  # training rows at most by which a try is scored
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "DPMix": {"mixed": (4, 8, 16, 32, 64, 128)},
    "DP-MERF": {"features": (500, 1_000, 2_000), "counts_share": (0.1, 0.5), "rate": (3e-3, 1e-2), "steps": (2_000,)},
    "DP-GAN": {"steps": (1_000, 3_000), "weight_bound": (0.01, 0.05), "rate": (5e-4, 2e-3)},
    "PATE-GAN": {"records_each": (5, 20), "rounds": (250, 500), "rate": (1e-3, 2e-3, 5e-3)},
    "PATE-GAN to the letter": {"records_each": (100, 500, 1_000), "lam": (0.05, 0.2, 1.0), "rate": (1e-4, 1e-3)},
    "ADS-GAN": {"distance_weight": (0.01, 0.1, 1.0), "rate": (3e-4, 1e-3), "steps": (500, 1_000)},
    "ADS-GAN to the letter": {"distance_weight": (0.01, 0.1, 1.0), "rate": (3e-4, 1e-3), "steps": (500, 1_000)},
}
MOST_POINTS = 1_500  # of ClustMix: beyond, clusters take hours to find and are all noise
FEWER_POINTS = {"census": 1_000}  # of a table where fewer take as long
SCALINGS: tuple[Scaling, ...] = ("min-max", "normal quantiles")
SIGMAS = (0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


class Found(float):
    """The score on test rows of the best of some tries, with their number and its setting."""

    tries: int
    setting: str

    def __new__(cls, score: float, tries: int, setting: str) -> "Found":
        """Of one try at least."""
        made = super().__new__(cls, score)
        made.tries, made.setting = tries, setting
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Found, (float(self), self.tries, self.setting)


def settings_of(rng: np.random.Generator, method: Rival, tries: int) -> list[Rival]:
    """The default, and others of the grid in random order, none twice."""
    grid, default = GRIDS[method.name], cast("Any", method)
    others = [replace(default, **dict(zip(grid, one, strict=True))) for one in itertools.product(*grid.values())]
    drawn = [others[place] for place in rng.permutation(len(others)) if others[place] != method]
    return [method, *drawn][:tries]


def checked(rng: np.random.Generator, X: FloatArray, y: IntArray) -> tuple[FloatArray, IntArray]:  # noqa: N803
    """Some of the training rows, drawn at random, or all where there are few."""
    some = rng.permutation(len(y))[:CHECKED]
    return X[some], y[some]


def best_rows(
    rng: np.random.Generator,
    methods: Sequence[Rival],
    table: Table,
    epsilon: float,
    delta: float,
    score: Callable[[Generated], float],
) -> tuple[Rival, Generated]:
    """The setting whose rows score best, with these rows. What a table is too small for is passed over."""
    found = []
    for method, own in zip(methods, rng.spawn(len(methods)), strict=True):
        try:
            made = method(own, table, epsilon, delta)
        except DataError:
            continue
        found.append((score(made), method, made))
    if not found:
        raise DataError("no setting leaves enough records")
    _, method, made = max(found, key=lambda one: one[0])
    return method, made


def clustmix_settings(
    rng: np.random.Generator,
    task: str,
    y: IntArray,
    features: int,
    classes: int,
    budget: tuple[float, float],
    factor: Factor,
    tries: int,
) -> list[Setting]:
    """Random ones of a grid, of those that make one point of each class at least and not very many."""
    grid = [
        Setting(sigma_max, alpha, slices, scaling, factor)
        for sigma_max in SIGMAS
        for alpha, slices, scaling in itertools.product((None, 0.5), (0, 3), SCALINGS)
    ]

    def fits(setting: Setting) -> bool:
        size = smallest_mixture(*budget, setting.sigma_max, classes, features, factor)
        counts = np.bincount(y, minlength=classes) // (size or len(y))
        return bool(counts.min() >= 1 and counts.sum() <= FEWER_POINTS.get(task, MOST_POINTS))

    drawn = (grid[place] for place in rng.permutation(len(grid)))
    return [one for one in drawn if fits(one)][:tries]


def named(setting: Rival | Setting) -> str:
    """A setting as the file of results keeps it: what the search can change."""
    names = ("sigma_max", "alpha", "slices", "scaling") if isinstance(setting, Setting) else GRIDS[setting.name]
    return ", ".join(f"{name} {getattr(setting, name)}" for name in names)
