"""Earlier bounds on the noise of random slices, to compare the exact curve with.

Rakotomamonjy and Ralaivola, "Differentially private sliced Wasserstein distance" (ICML 2021), bound T by w except with
probability delta/2 and give the other half of delta to a Gaussian mechanism of sensitivity Delta sqrt(w). T is there a
sum of m independent Beta(1/2, (d - 1)/2). All noise is in units of Delta.

Known faults
    (2/3) log(1/delta') in w does not shrink with d: up to 40 times the noise that is needed.
    Their program multiplies a variance by m twice, which wastes noise and harms nobody.
    Their variant by a central limit is no bound, though it was enough wherever it was compared with the exact curve.
    Their training draws directions at every step and pays for the event T <= w once: the stated delta does not hold.
"""

import math

import numpy as np
from scipy.special import ndtri

from sfumato.trusted.budget import mu_of
from sfumato.trusted.random_directions import OrthonormalFrame
from sfumato_papers.accounting import SlicingProfile

_SHARES = np.geomspace(1e-4, 0.9, 60)


def worst_case(frame: OrthonormalFrame, epsilon: float, delta: float) -> float:
    """T at its greatest: valid, and valid for directions that were known before."""
    return math.sqrt(frame.most()) / mu_of(epsilon, delta)


def bernstein(dimension: int, slices: int, epsilon: float, delta: float) -> float:
    """Their theorem: w = m/d + (2/3) l + (2/d) sqrt(m l (d - 1)/(d + 2)), l = log(2/delta). Valid."""
    return _split(slices / dimension, _variance(dimension) * slices, epsilon, delta)


def bernstein_as_coded(dimension: int, slices: int, epsilon: float, delta: float) -> float:
    """Their program: the variance of the sum multiplied by m once more. Valid."""
    return _split(slices / dimension, _variance(dimension) * slices**2, epsilon, delta)


def central_limit(dimension: int, slices: int, epsilon: float, delta: float) -> float:
    """T as if it were normal: w = m/d + z sqrt(variance), P(N > z) = delta/2. Not a bound."""
    spread = -float(ndtri(delta / 2)) * math.sqrt(_variance(dimension) * slices)
    return math.sqrt(slices / dimension + spread) / mu_of(epsilon, delta / 2)


def tail_split(frame: OrthonormalFrame, epsilon: float, delta: float) -> float:
    """The best that such a split can do: the exact tail of T, and the best share of delta for it. Valid."""
    law = SlicingProfile(frame).law
    above = np.append(np.cumsum(law.mass[::-1])[::-1][1:], 0.0) + law.misplaced
    found = [
        math.sqrt(float(law.high[np.argmax(above <= share * delta)])) / mu_of(epsilon, delta * (1 - share))
        for share in _SHARES
        if (above <= share * delta).any()
    ]
    return min(found, default=worst_case(frame, epsilon, delta))


def _variance(dimension: int) -> float:
    """Of one Beta(1/2, (d - 1)/2)."""
    return 2 * (dimension - 1) / (dimension**2 * (dimension + 2))


def _split(mean: float, variance: float, epsilon: float, delta: float) -> float:
    """Bernstein's inequality for half of delta, a Gaussian mechanism for the other half."""
    log = math.log(2 / delta)
    return math.sqrt(mean + 2 / 3 * log + math.sqrt(2 * variance * log)) / mu_of(epsilon, delta / 2)
