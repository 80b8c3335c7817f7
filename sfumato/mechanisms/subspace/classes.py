"""What is known of each class from noisy sums: its mean, and its covariance along a few directions."""

from typing import NamedTuple

import numpy as np

from sfumato.mechanisms.subspace.spectrum import FloatArray

_LEAST_VARIANCE = 0.05  # along a whitened direction


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

    A column whose classes differ no more than noise would make them has one mean.
    """
    together = weights @ moves
    away = moves - together
    seen = weights @ away**2
    expected = float(weights @ noise**2)
    gain = np.maximum(0.0, 1 - expected / np.maximum(seen, 1e-300))
    common = float(((weights * noise) ** 2).sum())
    return Means(together + gain * away, np.sqrt(np.outer(noise**2, gain) + common * (1 - gain)))


def shrunk_covariances(noisy: FloatArray, noise: FloatArray, weights: FloatArray) -> FloatArray:
    """Class covariances (classes x a x a), each pulled to the pooled one by what is known of its noise."""
    pooled = np.einsum("c,cij->ij", weights, noisy)
    found = np.empty_like(noisy)
    for place, (one, deviation) in enumerate(zip(noisy, noise, strict=True)):
        apart = one - pooled
        expected = deviation**2 * len(pooled) ** 2
        gain = max(0.0, 1 - expected / max(float((apart * apart).sum()), 1e-300))
        found[place] = _floored(pooled + gain * apart)
    return found


def _floored(matrix: FloatArray) -> FloatArray:
    values, axes = np.linalg.eigh(matrix)
    raised: FloatArray = (axes * np.maximum(values, _LEAST_VARIANCE)) @ axes.T
    return (raised + raised.T) / 2
