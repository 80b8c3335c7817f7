"""Classes of few records, by how many there are for each unit of 1 / mu: ours, what was published, and a floor.

The floor is not private either: of each class it is told where it lies and how wide it is, looks at it through that,
and spends the whole budget on one question. What `mixture` loses beyond it is the price of not being told.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from sfumato_papers.liu import Mixture, fit

from experiments.cells import Cell, Figures, Results, table
from experiments.mixture_accuracy import UNSEEN
from experiments.mixture_data import DELTA, Records, mixture_of, released, synthetic
from experiments.mixture_rivals import as_published
from sfumato.fitting.mechanisms.mixture.design import build_design
from sfumato.fitting.mechanisms.mixture.posterior import ClassPosterior, Prior, Score
from sfumato.fitting.mechanisms.mixture.rounds import score_whitening
from sfumato.fitting.models.gaussian_mixture.gaussians import gaussian_kl
from sfumato.fitting.public_rng import public_rng
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS

PART = "small classes"
EPSILON, SEEDS = 1.0, 60
BANDS = ((10, 20), (20, 50), (50, 100))  # records for each unit of 1 / mu
TASKS: dict[str, tuple[int, int, int]] = {  # rows, columns, classes
    "N 300, K 5, d 3": (300, 3, 5),
    "N 1000, K 12, d 3": (1_000, 3, 12),
    "N 1000, K 5, d 5": (1_000, 5, 5),
    "N 1000, K 5, d 8": (1_000, 8, 5),
}
_DRAWS = 1_000
Method = Callable[[Records, int], Mixture]


def ours(records: Records, seed: int) -> Mixture:  # noqa: ARG001 - its noise cannot be seeded
    return mixture_of(released(records, EPSILON)[0], records)


def published(records: Records, seed: int) -> Mixture:
    return as_published(records, EPSILON, seed)


def floor(records: Records, seed: int) -> Mixture:
    """Every class through its own mean and covariance, with a prior that is wide and lies in the right place."""
    rng, fitted = np.random.default_rng([8, seed]), fit(records.numbers, records.label, records.classes)
    width = records.high - records.low
    found = []
    for k in range(records.classes):
        places = (records.numbers[records.label == k] - records.low) / width
        mean, cov = (fitted.means[k] - records.low) / width, fitted.covariances[k] / np.outer(width, width)
        found.append(told_where(rng, places, mean, cov))
    means = np.array([records.low + width * mean for mean, _ in found])
    covs = np.array([cov * np.outer(width, width) for _, cov in found])
    return Mixture(fitted.weights, means, covs)


def told_where(
    rng: np.random.Generator, places: FloatArray, mean: FloatArray, cov: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of least expected KL, from the scores of one round with the whole budget."""
    mu, sd = Budget(EPSILON, DELTA).mu, np.sqrt(np.diag(cov))
    one = build_design("hampel", score_whitening(mean, cov), len(places), mu)
    whole = np.rint(places.T * 2.0**PLACE_BITS)
    noisy = one(whole).values.sum(axis=1) / UNIT + rng.normal(0, 1 / mu, one.width)
    unsure = np.ones(len(mean))
    posterior = ClassPosterior(Prior(len(places), len(places), mean, (3 * sd) ** 2, np.log(sd), unsure))
    posterior.scores.append(Score(one, noisy, 1 / mu))
    posterior.solve(30)
    action = posterior.action(posterior.draw(public_rng(0), _DRAWS))
    return action.mean, action.cov


METHODS: dict[str, Method] = {"mixture": ours, "as published, not private": published, "floor, not private": floor}


def measure(task: str, method: str, seed: int) -> Figures:
    """KL(released || fit) of the Gaussians of one table, the mean over the classes of each band."""
    records = synthetic(UNSEEN + seed, *TASKS[task])
    found, fitted = METHODS[method](records, seed), fit(records.numbers, records.label, records.classes)
    pairs = zip(found.means, found.covariances, fitted.means, fitted.covariances, strict=True)
    sizes = np.bincount(records.label, minlength=records.classes)
    each = defaultdict(list)
    for size, gaussians in zip(sizes, pairs, strict=True):
        if band := band_of(size * Budget(EPSILON, DELTA).mu):
            each[band].append(gaussian_kl(*gaussians))
    return {band: float(np.mean(values)) for band, values in each.items()}


def band_of(units: float) -> str | None:
    """The name of the band that a class of so many records, in units of 1 / mu, is in."""
    return next((_name(band) for band in BANDS if band[0] <= units < band[1]), None)


def _name(band: tuple[int, int]) -> str:
    return f"{band[0]} to {band[1]}"


def cells(quick: bool) -> Iterator[Cell]:
    for task in TASKS:
        for method in METHODS:
            yield Cell(PART, f"{task}, {method}", range(3 if quick else SEEDS), partial(measure, task, method))


def show(results: Results) -> str:
    rows = [
        [
            f"{task}, {_name(band)}",
            *(_shown(results.figure(PART, f"{task}, {method}", _name(band))) for method in METHODS),
        ]
        for task in TASKS
        for band in BANDS
    ]
    title = (
        f"Classes by records for each unit of 1 / mu, epsilon {EPSILON:g}: mean KL(released || fit), median in brackets"
    )
    return title + "\n" + table(["", *METHODS], rows)


def _shown(figure: dict[str, float] | None) -> str:
    return "-" if figure is None else f"{figure['mean']:.2g} ({figure['median']:.2g})"
