"""Algorithm 1, all of it."""

from dataclasses import dataclass

import numpy as np

from sfumato.errors import BudgetError
from sfumato.published.liu.faults import KNOWN_FAULTS
from sfumato.published.liu.fitting import Fitted, FloatArray, IntArray, Mixture, fit
from sfumato.published.liu.neighbours import Reading, mean_shifts
from sfumato.published.liu.noise import gaussian, wishart
from sfumato.published.liu.optimisation import NoisePlan, optimise

_LARGEST_EPSILON = 1_000  # far beyond it (26) is too small for a float


@dataclass(frozen=True, eq=False)
class PublishedRelease(Mixture):
    """The noisy mixture (7), what the paper says of its privacy, and what is wrong with that."""

    guarantee: str
    faults: tuple[str, ...]


def release_as_published(
    rng: np.random.Generator,
    X: FloatArray,  # noqa: N803 - X as in the paper
    y: IntArray,
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
        it. One class: the weights are released as they are, for no label can change.
    """
    if not 0 < epsilon <= _LARGEST_EPSILON or not 0 < delta < 1:
        raise BudgetError(
            f"epsilon is {epsilon} and delta {delta}; epsilon must be above 0 and at most {_LARGEST_EPSILON}, "
            "and delta between 0 and 1"
        )
    fitted = fit(X, y, classes)
    shifts = [mean_shifts(X, y, fitted, k, adjacency) for k in range(classes)]
    noisy = draw(rng, fitted, optimise(fitted, shifts, epsilon, delta))
    guarantee = (
        f"({epsilon:g}, {delta:g})-differential privacy for one changed label, as claimed by the paper. "
        "The claim does not hold: for study only."
    )
    return PublishedRelease(noisy.weights, noisy.means, noisy.covariances, guarantee, KNOWN_FAULTS)


def draw(rng: np.random.Generator, fitted: Fitted, plan: NoisePlan) -> Mixture:
    """Steps 11 and 12: the fit with the noise of the plan."""
    outcome = plan.outcomes[rng.choice(len(plan.outcomes), p=plan.probabilities)]
    means = [mean + gaussian(rng, spread) for mean, spread in zip(fitted.means, plan.mean_covariances, strict=True)]
    covariances = [
        covariance + wishart(rng, fitted.dimensions, gamma)
        for covariance, gamma in zip(fitted.covariances, plan.gammas, strict=True)
    ]
    return Mixture(outcome / outcome.sum(), np.array(means), np.array(covariances))
