"""The curves of every figure: what the paper proposes, what it compares with, what is proven, and no privacy at all."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from sfumato_papers.liu import (
    Baseline,
    Fitted,
    Footing,
    Mixture,
    Reading,
    divergence,
    draw,
    fit,
    release_as_published,
    release_by_baseline,
)
from sfumato_papers.liu.release import prepared

from experiments.mixture_data import DELTA, Records, mixture_of, released
from experiments.pictures import Stroke

PROPOSED, GUARDED = "proposed, as published", "proposed, both classes guarded"
LAPLACE, GAUSSIAN, COLORED = "i.i.d. Laplace", "i.i.d. Gaussian", "colored Gaussian"
FAIR = "i.i.d. Laplace, equal footing"
WHOLE, LABEL = "proven, whole record", "proven, label alone"
LIMIT, FITTED = "no privacy: another sample", "no privacy: the fit"
REAL, OWN = "no privacy: the records", "nothing released"
EXPECTED, EXPECTED_GUARDED = "expected, leave", "expected, both"
NOTE = "Brown: proven. Colours: guarantee as claimed by the paper, which does not hold. Grey, black: no privacy."

STROKES = {
    PROPOSED: Stroke("#2b62ad", 2.2),
    GUARDED: Stroke("#2b62ad", 1.6, "6 3"),
    LAPLACE: Stroke("#cf8d2e"),
    GAUSSIAN: Stroke("#3f7f68"),
    COLORED: Stroke("#76569c"),
    FAIR: Stroke("#cf8d2e", 1.4, "2 3"),
    WHOLE: Stroke("#7a3b2e", 2.6),
    LABEL: Stroke("#7a3b2e", 1.6, "6 3"),
    LIMIT: Stroke("#8a8178", 1.4, "1 3"),
    FITTED: Stroke("#8a8178", 1.4, "1 3"),
    REAL: Stroke("#8a8178", 1.8),
    OWN: Stroke("#2f2a26", 1.4, "8 4"),
}

NOISES = 40  # over which (8) is averaged

Method = Callable[[Records, float, int], Mixture]


def _proposed(reading: Reading) -> Method:
    def release(records: Records, epsilon: float, seed: int) -> Mixture:
        rng = np.random.default_rng([1, seed])
        return release_as_published(
            rng, records.numbers, records.label, records.classes, epsilon, DELTA, adjacency=reading
        )

    return release


def _baseline(name: Baseline, footing: Footing) -> Method:
    def release(records: Records, epsilon: float, seed: int) -> Mixture:
        rng = np.random.default_rng([2, seed])
        return release_by_baseline(
            rng, records.numbers, records.label, records.classes, epsilon, DELTA, baseline=name, footing=footing
        )

    return release


def another_sample(records: Records, _: float, seed: int) -> Mixture:
    """The fit of as many new records in each class, drawn from the fit: what chance alone does to it."""
    fitted, rng = fitted_to(records), np.random.default_rng([3, seed])
    roots = np.linalg.cholesky(fitted.covariances)
    numbers = [
        mean + rng.standard_normal((count, fitted.dimensions)) @ root.T
        for mean, root, count in zip(fitted.means, roots, fitted.counts, strict=True)
    ]
    return fit(np.concatenate(numbers), np.repeat(np.arange(records.classes), fitted.counts), records.classes)


PUBLISHED: dict[str, Method] = {
    PROPOSED: _proposed("leave"),
    GUARDED: _proposed("both"),
    LAPLACE: _baseline("i.i.d. Laplace", "range"),
    GAUSSIAN: _baseline("i.i.d. Gaussian", "range"),
    COLORED: _baseline("colored Gaussian", "range"),
    FAIR: _baseline("i.i.d. Laplace", "unit ball"),
    LIMIT: another_sample,
}


PROVEN = {"whole": (WHOLE, "add-remove"), "label": (LABEL, "label")}
PARTS = ("published", "expected", *PROVEN)
"""What is measured apart: all that is not private; the paper's expectation (8); the proven curves."""


class Case(NamedTuple):
    """What is released in a trial: records, the same in the units of the paper, and the budget."""

    records: Records
    scaled: Records
    epsilon: float


def mixtures(part: str, case: Case, seed: int) -> Iterator[tuple[str, Mixture, Fitted]]:
    """A release by each method of a part, with the fit that it is to be compared with."""
    if part in PROVEN:
        name, adjacency = PROVEN[part]
        yield name, proven(case.records, case.epsilon, adjacency), fitted_to(case.records)
        return
    fitted = fitted_to(case.scaled)
    for name, method in PUBLISHED.items():
        yield name, method(case.scaled, case.epsilon, seed), fitted


def proven(records: Records, epsilon: float, adjacency: str) -> Mixture:
    return mixture_of(released(records, epsilon, adjacency)[0], records)


def fitted_to(records: Records) -> Fitted:
    return fit(records.numbers, records.label, records.classes)


def expected_kl(records: Records, epsilon: float, reading: Reading, seed: int, draws: int = NOISES) -> float:
    """(8) for the proposed mechanism: the mean over its noise alone."""
    rng = np.random.default_rng([4, seed])
    fitted, plan = prepared(records.numbers, records.label, records.classes, epsilon, DELTA, reading)
    return float(np.mean([divergence(draw(rng, fitted, plan), fitted).total for _ in range(draws)]))
