"""What tells two Gaussians of different means and covariances apart, exactly.

The loss  L = ln p(x) / p'(x)  of x from p is a constant and a sum over independent standard normal z:

    L = constant + sum of  slope z + bend z^2 / 2

Its cumulant function K(s) = ln E exp(s L) is known, and E max(0, 1 - exp(epsilon - L)), the delta at epsilon, is

    1 / (2 pi i)  times the integral of  exp(K(s) - s epsilon) / (s (s + 1))  along Re s = r,

for any r > 0 where K(r) is finite: the Laplace transform of max(0, 1 - exp(-u)) is 1 / (s (s + 1)). The integral is
taken through the saddle point, where nothing cancels, so that a small delta is as precise as a large one.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from sfumato.trusted.arrays import FloatArray

_NODES, _REACH = 2_000, 12.0  # of the sinh rule: up to 80,000 widths of the saddle
_FARTHEST = 1e6  # where K is finite everywhere
_LEAST_EPSILON, _LEAST_DELTA = 1e-9, 1e-300  # for 0, which has no saddle point and no logarithm
_PRECISION = 1e-6  # of an epsilon


@dataclass(frozen=True, eq=False)
class GaussianLoss:
    """L of the notes above."""

    constant: float
    slopes: FloatArray
    bends: FloatArray

    @classmethod
    def between(
        cls, mean: FloatArray, covariance: FloatArray, other_mean: FloatArray, other_covariance: FloatArray
    ) -> "GaussianLoss":
        """Of x from the first of two Gaussians."""
        half, precision = np.linalg.cholesky(covariance), np.linalg.inv(other_covariance)
        ratios, axes = np.linalg.eigh(half.T @ precision @ half)
        moved = precision @ (mean - other_mean)
        constant = float((mean - other_mean) @ moved - np.log(ratios).sum()) / 2
        return cls(constant, axes.T @ (half.T @ moved), ratios - 1)

    def __add__(self, other: "GaussianLoss") -> "GaussianLoss":
        """Of both, where they are independent."""
        slopes, bends = np.concatenate((self.slopes, other.slopes)), np.concatenate((self.bends, other.bends))
        return GaussianLoss(self.constant + other.constant, slopes, bends)

    @property
    def divergence(self) -> float:
        """KL(p || p'), the mean of L."""
        return self.constant + float(self.bends.sum()) / 2

    @property
    def most(self) -> float:
        """The largest L, infinite unless every bend is downwards."""
        if (self.bends >= 0).any():
            return math.inf
        return self.constant - float((self.slopes**2 / self.bends).sum()) / 2

    def delta(self, epsilon: float) -> float:
        """The least delta for this epsilon, in this direction."""
        epsilon = max(epsilon, _LEAST_EPSILON)
        if epsilon >= self.most:
            return 0.0
        middle, width = self._saddle(epsilon)
        step = _REACH / _NODES
        u = step * (np.arange(_NODES) + 0.5)
        s = middle + 1j * width * np.sinh(u)
        heights = np.exp(self._cumulant(s) - s * epsilon) / (s * (s + 1))
        return max(0.0, float((heights.real * width * np.cosh(u)).sum() * step / math.pi))

    def epsilon(self, delta: float) -> float:
        """The least epsilon for this delta, in this direction."""

        def excess(epsilon: float) -> float:
            return math.log(max(self.delta(epsilon), _LEAST_DELTA) / delta)

        if excess(0.0) <= 0:
            return 0.0
        low, high = 0.0, 1.0
        while excess(high) > 0:
            low, high = high, 2 * high
        return float(brentq(excess, low, high, rtol=_PRECISION))

    def _cumulant(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        left = 1 - np.multiply.outer(s, self.bends)
        each = np.multiply.outer(s**2, self.slopes**2) / left - np.log(left)
        total: NDArray[np.complex128] = s * self.constant + each.sum(axis=-1) / 2
        return total

    def _saddle(self, epsilon: float) -> tuple[float, float]:
        """Where, along the real axis, the integrand is least, and how wide it is across."""
        end = min(1 / max(float(self.bends.max()), 1 / _FARTHEST), _FARTHEST)

        def height(place: float) -> float:
            log = self._cumulant(np.asarray(place, dtype=np.complex128)).real - place * epsilon
            return float(log) - math.log(place) - math.log1p(place)

        def odds(value: float) -> float:
            return end / (1 + math.exp(-value))

        found = minimize_scalar(lambda value: height(odds(value)), bounds=(-40, 30), method="bounded")
        middle = odds(float(found.x))
        left = 1 - middle * self.bends
        curvature = float((self.bends**2 / (2 * left**2) + self.slopes**2 / left**3).sum())
        return middle, 1 / math.sqrt(curvature + middle**-2 + (middle + 1) ** -2)
