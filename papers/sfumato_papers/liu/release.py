"""Algorithm 1, all of it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.faults import KNOWN_FAULTS
from sfumato_papers.liu.fitting import Fitted, Mixture, check_records, fit
from sfumato_papers.liu.limits import check_budget, check_size
from sfumato_papers.liu.neighbours import Reading, mean_shifts
from sfumato_papers.liu.noise import gaussian, wishart
from sfumato_papers.liu.optimisation import NoisePlan, optimise


@dataclass(frozen=True, eq=False)
class PublishedRelease(Mixture):
    """The noisy mixture (7), what the paper says of its privacy, and what is wrong with that."""

    guarantee: str
    faults: tuple[str, ...]

    @classmethod
    def of(cls, noisy: Mixture, guarantee: str, faults: tuple[str, ...]) -> "PublishedRelease":
        """A noisy mixture that says what it is."""
        return cls(noisy.weights, noisy.means, noisy.covariances, guarantee, faults)


def release_as_published(
    rng: np.random.Generator,
    X: FloatArray,  # noqa: N803 - X as in the paper
    y: AnyIntArray,
    classes: int,
    epsilon: float,
    delta: float,
    *,
    adjacency: Reading = "leave",
) -> PublishedRelease:
    """Algorithm 1 of the paper, on records X with labels y from 0 to classes - 1.

    Formal guarantees
        None. The paper claims (epsilon, delta)-differential privacy for one changed label, the features being public;
        the release carries the claim and its faults. `rng` may be seeded: nothing here keeps a secret.
    Edge cases
        A class with no more records than dimensions, or with a singular covariance: `DataError`, because (12) inverts
        it. Rows that are not finite, or too many of them for memory: `DataError`. An epsilon beyond the range of lemma
        1: `BudgetError`. One class: the weights are released as they are, for no label can change.
    """
    check_budget(epsilon, delta)
    check_records(X)
    check_size(len(X), X.shape[1], classes)
    noisy = draw(rng, *prepared(X, y, classes, epsilon, delta, adjacency))
    return PublishedRelease.of(noisy, claim(epsilon, delta), KNOWN_FAULTS)


class Prepared(NamedTuple):
    """Algorithm 1 on a table, steps 1 to 10: all but the noise."""

    fitted: Fitted
    plan: NoisePlan


def prepared(
    X: FloatArray,  # noqa: N803 - X as in the paper
    y: AnyIntArray,
    classes: int,
    epsilon: float,
    delta: float,
    reading: Reading,
) -> Prepared:
    """The fit of the table, and how much noise each part gets."""
    fitted = fit(X, y, classes)
    shifts = (mean_shifts(X, y, fitted, k, reading) for k in range(classes))  # one class in memory at a time
    return Prepared(fitted, optimise(fitted, shifts, epsilon, delta))


def claim(epsilon: float, delta: float) -> str:
    """What the paper says, and what is to be thought of it."""
    return (
        f"guarantee: as claimed by the paper, ({epsilon:g}, {delta:g})-differential privacy for one changed label. "
        "The claim does not hold: for study only."
    )


def draw(rng: np.random.Generator, fitted: Fitted, plan: NoisePlan) -> Mixture:
    """Steps 11 and 12: the fit with the noise of the plan."""
    outcome = plan.outcomes[rng.choice(len(plan.outcomes), p=plan.probabilities)]
    means = [mean + gaussian(rng, spread) for mean, spread in zip(fitted.means, plan.mean_covariances, strict=True)]
    covariances = [
        covariance + wishart(rng, fitted.dimensions, gamma)
        for covariance, gamma in zip(fitted.covariances, plan.gammas, strict=True)
    ]
    return Mixture(outcome / outcome.sum(), np.array(means), np.array(covariances))
