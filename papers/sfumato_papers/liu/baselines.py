"""The three mechanisms that the paper compares itself with, section V-A.

Each spends a third of the budget on the weights, a third on the means and a third on the covariances; the paper does
not say. What comes out is projected back to what a mixture may be.
"""

import math
from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from sfumato.errors import RequestError
from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.design import optimal_design
from sfumato_papers.liu.faults import BASELINE_FAULTS
from sfumato_papers.liu.fitting import Fitted, Mixture, check_records, fit
from sfumato_papers.liu.limits import check_budget, check_size
from sfumato_papers.liu.neighbours import Reading, mean_shifts
from sfumato_papers.liu.noise import gaussian
from sfumato_papers.liu.projection import nearest_covariance, nearest_weights
from sfumato_papers.liu.release import PublishedRelease, claim
from sfumato_papers.liu.sensitivities import Footing, Sensitivity, sensitivity

Baseline = Literal["i.i.d. Laplace", "i.i.d. Gaussian", "colored Gaussian"]
Noise = Callable[[float, float, int], FloatArray]
"""So many independent draws, for a sensitivity in l1 and in l2."""


def release_by_baseline(
    rng: np.random.Generator,
    X: FloatArray,  # noqa: N803 - X as in the paper
    y: AnyIntArray,
    classes: int,
    epsilon: float,
    delta: float,
    *,
    baseline: Baseline,
    footing: Footing = "range",
    adjacency: Reading = "leave",
) -> PublishedRelease:
    """A baseline of the paper, on records X with labels y from 0 to classes - 1.

    i.i.d. Laplace      the same noise on every entry, by the sensitivity in l1; the paper claims (epsilon, 0)
    i.i.d. Gaussian     the same, by the sensitivity in l2
    colored Gaussian    means with the noise of least mean square error under (10); the rest as i.i.d. Gaussian

    Formal guarantees
        None: the sensitivities are read off the records. The release carries the claim and its faults.
    Edge cases
        As `release_as_published`. Eigenvalues that are not positive are raised to a millionth.
    """
    if baseline not in get_args(Baseline):
        raise RequestError(f"baseline is {baseline!r}; it must be one of {', '.join(get_args(Baseline))}")
    check_budget(epsilon, delta)
    check_records(X)
    check_size(len(X), X.shape[1], classes)
    fitted = fit(X, y, classes)
    noise = _noise(rng, baseline, epsilon / 3, delta / 3)
    reach = [sensitivity(X, y, fitted, k, adjacency, footing) for k in range(classes)]
    if baseline == "colored Gaussian":
        shifts = (mean_shifts(X, y, fitted, k, adjacency) for k in range(classes))
        factor = gaussian_factor(epsilon / 3, delta / 3)
        spreads = [factor**2 * optimal_design(v, np.eye(fitted.dimensions)).covariance for v in shifts]
        means = fitted.means + np.array([gaussian(rng, spread) for spread in spreads])
    else:
        means = fitted.means + np.array([noise(one.mean_l1, one.mean_l2, fitted.dimensions) for one in reach])
    noisy = Mixture(_noisy_weights(fitted, footing, noise), means, _noisy_covariances(fitted, reach, noise))
    return PublishedRelease.of(noisy, claim(epsilon, 0.0 if baseline == "i.i.d. Laplace" else delta), BASELINE_FAULTS)


def gaussian_factor(epsilon: float, delta: float) -> float:
    """Standard deviations for a sensitivity of 1, by the classical formula. It is proven for an epsilon up to 1."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _noise(rng: np.random.Generator, baseline: Baseline, epsilon: float, delta: float) -> Noise:
    if baseline == "i.i.d. Laplace":
        return lambda l1, _, count: rng.laplace(0, l1 / epsilon, count)
    factor = gaussian_factor(epsilon, delta)
    return lambda _, l2, count: factor * l2 * rng.standard_normal(count)


def _noisy_weights(fitted: Fitted, footing: Footing, noise: Noise) -> FloatArray:
    """One count falls by 1 and one rises; on the footing of the range l2 is bounded by l1."""
    records = int(fitted.counts.sum())
    l1 = 2 / records
    l2 = l1 if footing == "range" else math.sqrt(2) / records
    return nearest_weights(fitted.weights + noise(l1, l2, len(fitted.weights)), 1 / records)


def _noisy_covariances(fitted: Fitted, reach: list[Sensitivity], noise: Noise) -> FloatArray:
    d = fitted.dimensions
    rows, columns = np.triu_indices(d)
    noisy = []
    for covariance, one in zip(fitted.covariances, reach, strict=True):
        added = np.zeros((d, d))
        added[rows, columns] = added[columns, rows] = noise(one.covariance_l1, one.covariance_l2, len(rows))
        noisy.append(nearest_covariance(covariance + added))
    return np.array(noisy)
