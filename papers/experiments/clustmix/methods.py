"""The columns of table 1 that need plain arrays alone: the real rows, the rivals, and ClustMix as published."""

import itertools
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from sfumato_papers.baselines import RIVALS, Rival, Table
from sfumato_papers.clustmix import PublishedPoints, Scaling, Setting, searched, smallest_mixture

from experiments.clustmix.learning import score, told
from experiments.clustmix.rows import Rows, Split
from sfumato.trusted.arrays import FloatArray, IntArray

EPSILON = 1.0
MNIST_DELTA = 1e-5
ITERATIONS, FEWER_ITERATIONS, QUICK_ITERATIONS = 30, 10, 4  # of a search: as many as the paper's, or of large tables
LARGE = 50_000
MOST_POINTS = 1_500  # beyond, clusters take hours to find and are all noise
FEWER_POINTS = {"census": 500}  # of a table where fewer take as long
SCALINGS: tuple[Scaling, ...] = ("min-max", "normal quantiles")
SETTINGS = [
    Setting(sigma_max, alpha, slices, scaling)
    for sigma_max in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
    for alpha, slices, scaling in itertools.product((None, 0.5), (0, 3), SCALINGS)
]
Method = Callable[[str, Rows, int, bool], float]


def delta_of(task: str, rows: int) -> float:
    """As in the paper: one in as many as there are training rows, and 1e-5 for digits."""
    return MNIST_DELTA if task == "mnist" else 1 / rows


def real(task: str, rows: Rows, seed: int, quick: bool) -> float:  # noqa: ARG001
    """No privacy at all."""
    split = rows.split(seed)
    return score(task, told(task, split.X, split.y, split.test_X, rows.classes), split.test_y)


def rival(method: Rival) -> Method:
    """A rival at its default setting, which was chosen on a table that is none of these (the page says more)."""

    def run(task: str, rows: Rows, seed: int, quick: bool) -> float:  # noqa: ARG001
        split = rows.split(seed).filled()
        table = Table(split.X, split.y, rows.kinds, rows.classes)
        made = method(np.random.default_rng(seed), table, EPSILON, delta_of(task, len(split.y)))
        return score(task, told(task, made.X, made.y, split.test_X, rows.classes), split.test_y)

    return run


def clustmix(task: str, rows: Rows, seed: int, quick: bool, beside: int = 1) -> float:
    """ClustMix, the best of a random search on its own training rows, several of them side by side.

    Categories are numbers to it.
    """
    rng, split = np.random.default_rng(seed), rows.split(seed).filled()
    delta = delta_of(task, len(split.y))
    tries = QUICK_ITERATIONS if quick else ITERATIONS if len(split.y) <= LARGE else FEWER_ITERATIONS
    drawn = (SETTINGS[place] for place in rng.permutation(len(SETTINGS)))
    settings = [one for one in drawn if _few_points(task, one, split, rows.classes, delta)][:tries]

    by_training = _Score(task, split.X, split.y, rows.classes)
    arguments = (rng, split.X, split.y, rows.classes, EPSILON, delta, settings, by_training)
    if beside == 1:
        best = searched(*arguments)
    else:
        with ProcessPoolExecutor(beside) as pool:
            best = searched(*arguments, pool.map)
    return _Score(task, split.test_X, split.test_y, rows.classes)(best)


@dataclass(frozen=True, eq=False)
class _Score:
    """What LightGBM learns of released points, on real rows."""

    task: str
    real: FloatArray
    label: IntArray
    classes: int

    def __call__(self, points: PublishedPoints) -> float:
        synthetic = points.synthetic
        learnt = told(self.task, synthetic.X, synthetic.y, points.scale(self.real), self.classes)
        return score(self.task, learnt, self.label)


def _few_points(task: str, setting: Setting, split: Split, classes: int, delta: float) -> bool:
    """Whether a setting makes at least one point of each class and not very many."""
    size = smallest_mixture(EPSILON, delta, setting.sigma_max, classes, split.X.shape[1])
    counts = np.bincount(split.y, minlength=classes) // (size or len(split.y))
    return bool(counts.min() >= 1 and counts.sum() <= FEWER_POINTS.get(task, MOST_POINTS))


METHODS: dict[str, Method] = {
    "Real": real,
    **{name: rival(method) for name, method in RIVALS.items()},
    "ClustMix": clustmix,
}
