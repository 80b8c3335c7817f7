"""What is known of each class from noisy sums: its mean, and its covariance along a few directions."""

import math
from typing import NamedTuple

import numpy as np

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray


class Tuning(TuningConstants, group="subspace.classes"):
    """See `sfumato.fitting.tuning`."""

    least_variance = 0.05  # along a whitened direction; to what noise may raise it
    most_raised = 0.5


class Counts(NamedTuple):
    """Noisy numbers of records, each 1 at least, and the deviation of their noise."""

    each: FloatArray
    deviation: float

    @property
    def total(self) -> float:
        """Of all classes."""
        return float(self.each.sum())

    @property
    def weights(self) -> FloatArray:
        """As shares."""
        shares: FloatArray = self.each / self.each.sum()
        return shares


class Means(NamedTuple):
    """Of each class (classes x columns), and the deviation of the noise that is left in them."""

    values: FloatArray
    deviations: FloatArray


def shrunk_means(moves: FloatArray, noise: FloatArray, weights: FloatArray) -> Means:
    """Class means from noisy ones, each column pulled together by what is known of the noise (a deviation by class).

    A column whose classes differ no more than noise would make them has one mean. The deviations count what the pull
    takes off, by how far classes lie apart: in this column, which few classes say little of, and in all of them.
    """
    together = weights @ moves
    away = moves - together
    expected = float((weights * (1 - weights)) @ noise**2)  # the common mean has a part of the noise
    apart = weights @ away**2 - expected
    gain = np.maximum(0.0, apart) / np.maximum(apart + expected, 1e-300)
    pooled = 1 / max(len(weights) - 1, 1) ** 2
    believed = np.maximum((1 - pooled) * apart + pooled * apart.mean(), 0.0)
    squares = float((weights**2).sum())
    off = (1 - 2 * weights + squares) / max(1 - squares, 1e-9)  # a small class lies farther from the common mean
    common = float(((weights * noise) ** 2).sum())
    variances = np.outer(noise**2, gain**2) + np.outer(off, (1 - gain) ** 2 * believed) + common * (1 - gain)
    return Means(together + gain * away, np.sqrt(variances))


def shrunk_covariances(noisy: FloatArray, noise: FloatArray, weights: FloatArray) -> FloatArray:
    """Class covariances (classes x a x a), each pulled to the pooled one by what is known of its noise.

    The spectrum of the noise ends at 2 noise sqrt(a). A variance below half of that cannot be told from it, and one
    believed to be small would be all that tells a class.
    """
    pooled = np.einsum("c,cij->ij", weights, noisy)
    found = np.empty_like(noisy)
    for place, (one, deviation) in enumerate(zip(noisy, noise, strict=True)):
        apart = one - pooled
        expected = deviation**2 * len(pooled) ** 2
        gain = max(0.0, 1 - expected / max(float((apart * apart).sum()), 1e-300))
        edge = 2 * deviation * math.sqrt(len(pooled))
        found[place] = _floored(
            pooled + gain * apart, float(np.clip(edge / 2, Tuning.least_variance, Tuning.most_raised))
        )
    return found


def _floored(matrix: FloatArray, least: float) -> FloatArray:
    values, axes = np.linalg.eigh(matrix)
    raised: FloatArray = (axes * np.maximum(values, least)) @ axes.T
    return (raised + raised.T) / 2
