"""What the `mixture` mechanism is compared with."""

import math

import numpy as np
from sfumato_papers.liu import Mixture, release_as_published

from experiments.mixture_data import DELTA, Records
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget, noise_scale
from sfumato.trusted.noise import SecureNoise

LEAST = 1e-3  # share of the box that a variance keeps
_UNIT = 2**22


def box_moments(records: Records, epsilon: float, adjacency: str = "add-remove") -> Mixture:
    """Naive and sound: noisy moments of every class on the public box, and what is negative of them cut off.

    Formal guarantees
        A record adds vv'/2 to the sums of its class, v = (1, u) with u in the unit ball, so that its norm is 1 at most;
        truncated to whole numbers of 1/2^22 it does not grow. One record more or less: sensitivity 1. Another label:
        two classes, sqrt(2). Another record: <vv', ww'> = (v.w)^2 is not negative, so that sqrt(2) holds as well, up to
        one step of the lattice in each coordinate. The noise is the library's own.
    """
    d, classes = records.columns, records.classes
    middle = (records.low + records.high) / 2
    half = (records.high - records.low) / 2 * math.sqrt(d)
    v = np.hstack([np.ones((len(records.numbers), 1)), (records.numbers - middle) / half])
    i, j = np.triu_indices(d + 1)
    twice = np.where(i == j, 1.0, math.sqrt(2))
    vectors = np.trunc(v[:, i] * v[:, j] * twice / 2 * (_UNIT - 1))
    sums = np.array([vectors[records.label == k].sum(axis=0) for k in range(classes)])
    reach = {"add-remove": 1.0, "label": math.sqrt(2), "replace": math.sqrt(2) + math.sqrt(len(i)) / _UNIT}
    sigma = noise_scale(reach[adjacency] * _UNIT, Budget(epsilon, DELTA).mu)
    sums += SecureNoise().rounded_gaussian(sigma, sums.size).reshape(sums.shape)
    found = [_gaussian(2 * one / twice / _UNIT, d) for one in sums]
    counts = np.array([count for count, _, _ in found])
    means = np.array([middle + half * mean for _, mean, _ in found])
    return Mixture(counts / counts.sum(), means, np.array([cov * np.outer(half, half) for _, _, cov in found]))


def _gaussian(triangle: FloatArray, d: int) -> tuple[float, FloatArray, FloatArray]:
    """Count, mean and covariance from the noisy sum of vv'."""
    sums = np.empty((d + 1, d + 1))
    i, j = np.triu_indices(d + 1)
    sums[i, j] = sums[j, i] = triangle
    count = max(float(sums[0, 0]), 2.0)
    mean = np.clip(sums[0, 1:] / count, -1, 1)
    values, vectors = np.linalg.eigh(sums[1:, 1:] / count - np.outer(mean, mean))
    return count, mean, (vectors * np.clip(values, LEAST, 1)) @ vectors.T


def as_published(records: Records, epsilon: float, seed: int) -> Mixture:
    """The paper's mechanism in its favourable reading: not private."""
    rng = np.random.default_rng([7, seed, int(100 * epsilon)])
    return release_as_published(rng, records.numbers, records.label, records.classes, epsilon, DELTA, adjacency="leave")
