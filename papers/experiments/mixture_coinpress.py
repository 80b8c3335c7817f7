"""CoinPress (Biswas, Dong, Kamath and Ullman, 2020): iterative private means and covariances, class by class.

Each step knows a ball that holds the mean and an ellipsoid that holds the covariance. Records are clipped to what
Gaussian records of such a law reach, noise is added to what is left, and the next ball and ellipsoid are smaller.

    A       whitening: A Sigma A' is at most I
    gamma   how far Gaussian records of covariance I are from their mean
    c, r    the mean is within r of c, in units of A

The paper has the steps, the clipping, the conversion of the budget and, in its experiments, a quarter of the budget for
all steps but the last. Ours, and all in its favour: means and covariances take turns in one loop, instead of
covariances of differences of half as many pairs; one record more or less changes sums, whose sensitivity is half that
of means; the noise on a matrix is that on a vector of its norm; what the bounds of the columns say is never forgotten;
the excess of the noise is what it typically is, and not at worst. The number of steps, the share of the early ones and
the least eigenvalue were chosen on tables that are not reported (seeds 900 to 902).
"""

import math
from typing import NamedTuple

import numpy as np
from sfumato_papers.liu import Mixture

from experiments.mixture_data import DELTA, Records
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget

STEPS = 16
COUNT_SHARE = 0.05
EARLY = 0.25  # share of the steps before the last
CLIPPED = 0.1  # of Gaussian records, at most: the bound is loose, and hardly any are
LEAST = 0.005  # eigenvalue of a whitened covariance that is released


def rho_of(epsilon: float, delta: float) -> float:
    """The rho of concentrated privacy that the paper converts: epsilon = rho + 2 sqrt(rho ln(1 / delta))."""
    log = math.log(1 / delta)
    return (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2


def exact_rho(epsilon: float, delta: float) -> float:
    """The same noise by the exact curve of the Gaussian mechanism, as this library accounts: rho = mu^2 / 2."""
    return Budget(epsilon, delta).mu ** 2 / 2


def coinpress(rng: np.random.Generator, records: Records, epsilon: float, *, exact: bool = False) -> Mixture:
    """A noisy count, mean and covariance of each class.

    Formal guarantees
        For one record more or less. It is in one class, and there in one count and in two sums for each step, whose
        noise has the standard deviation `sensitivity / sqrt(2 rho_i)`: the count moves by 1, a sum of clipped records
        by the radius to which they are clipped, a sum of their squares by its square (Frobenius, and the noise is that
        of a vector with this norm). Later steps see noisy values of earlier ones alone, so that the rho_i add up to
        rho; other classes stay as they are. Noise is drawn in floating point: a rival for study, not a release.
    Edge cases
        A class without records gets noise. Numbers beyond the bounds are cut off by `Records`.
    """
    rho = (exact_rho if exact else rho_of)(epsilon, DELTA)
    middle, half = (records.high + records.low) / 2, (records.high - records.low) / 2
    scaled = (records.numbers - middle) / half
    found = [_class(rng, scaled[records.label == k], rho) for k in range(records.classes)]
    counts = np.array([one.size for one in found])
    means = np.array([middle + half * one.mean for one in found])
    return Mixture(counts / counts.sum(), means, np.array([one.covariance * np.outer(half, half) for one in found]))


class _Moments(NamedTuple):
    size: float
    mean: FloatArray
    covariance: FloatArray


def _class(rng: np.random.Generator, x: FloatArray, rho: float) -> _Moments:
    """Of records in the cube from -1 to 1, where no covariance is larger than d I and no mean longer than sqrt(d)."""
    d = x.shape[1]
    count = max(len(x) + rng.normal(0, 1 / math.sqrt(2 * COUNT_SHARE * rho)), 2.0)
    mean, A, radius = np.zeros(d), np.eye(d) / math.sqrt(d), 1.0
    for share in steps():
        left = (1 - COUNT_SHARE) * rho * share
        longest = min(radius + reach(d), farthest(A, mean))
        moved, radius = pressed_mean(rng, (x - mean) @ A.T, count, longest, left * mean_share(d))
        mean = np.clip(mean + np.linalg.solve(A, moved), -1, 1)
        longest = min(reach(d), farthest(A, mean))
        square, excess = pressed_square(rng, (x - mean) @ A.T, count, longest, left * (1 - mean_share(d)))
        values, vectors = np.linalg.eigh(square)
        inverse = np.linalg.inv(A)
        covariance = inverse @ (vectors * np.clip(values, LEAST, 1)) @ vectors.T @ inverse.T
        bounds = np.minimum(np.maximum(values, 0) + excess, 1)  # that it is at most I is known
        A, radius = (vectors / np.sqrt(bounds)) @ vectors.T @ A, radius / math.sqrt(bounds.min())
    return _Moments(count, mean, covariance)


def steps() -> list[float]:
    """Shares of the budget: a quarter for all steps but the last."""
    return [EARLY / (STEPS - 1)] * (STEPS - 1) + [1 - EARLY]


def mean_share(d: int) -> float:
    """Of a step, for the mean: KL suffers d^2 / rho from noise on it and d^4 / 2 rho from noise on the covariance."""
    return 1 / (1 + d / math.sqrt(2))


def reach(d: int) -> float:
    """gamma of the paper: how far records of covariance I are from their mean, but for a small share of them."""
    log = math.log(1 / CLIPPED)
    return math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)


def farthest(A: FloatArray, mean: FloatArray) -> float:  # noqa: N803 - A as in the paper
    """No record of the cube is farther from this mean, in units of A."""
    return float(np.linalg.norm(A, 2) * (math.sqrt(len(mean)) + np.linalg.norm(mean)))


def pressed_mean(
    rng: np.random.Generator, z: FloatArray, count: float, longest: float, rho: float
) -> tuple[FloatArray, float]:
    """A noisy mean of whitened records, clipped to a length, and how far from the true one it is but for small odds."""
    d = z.shape[1]
    spread = longest / math.sqrt(2 * rho) / count
    mean: FloatArray = clipped(z, longest).sum(axis=0) / count + rng.normal(0, spread, d)
    return mean, reach(d) * math.sqrt(1 / count + spread**2)


def pressed_square(
    rng: np.random.Generator, z: FloatArray, count: float, longest: float, rho: float
) -> tuple[FloatArray, float]:
    """A noisy mean of zz' for whitened records, clipped to a length, and by how much the true one may exceed it."""
    d = z.shape[1]
    near = clipped(z, longest)
    spread = longest**2 / math.sqrt(2 * rho) / count
    noise = rng.normal(0, spread, (d, d))
    square: FloatArray = near.T @ near / count + (noise + noise.T) / 2
    chance = math.sqrt(d / count)
    return square, chance + chance**2 / 2 + spread * math.sqrt(2 * d)


def clipped(z: FloatArray, longest: float) -> FloatArray:
    """Rows that are longer are shortened to that length."""
    length = np.linalg.norm(z, axis=1, keepdims=True)
    short: FloatArray = z * np.minimum(1, longest / np.maximum(length, 1e-300))
    return short
