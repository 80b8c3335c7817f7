"""The exact privacy of a release of slices, (U, X U + sigma N).

Formal guarantees
    Two tables differ in one record by z, |z| <= Delta; U is drawn when both lie fixed. Then for every epsilon >= 0

        delta(epsilon) = E_T[h(Delta sqrt(T) / sigma)],
        h(mu) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2),

    in both directions, and this is no bound but the value: opposite records at the radius attain it.

    Proof. U has the same law for both tables and is shown, so the divergence is the mean over U of the divergence given
    U: that of two Gaussians |z| sqrt(T) / sigma deviations apart, which is h. The law of T does not know z (`frames`).
    h'(mu) = phi(epsilon/mu - mu/2) > 0, so |z| = Delta is worst, for each U and hence on the mean.

    Delta is 2 R to replace a record and R to blank it, for records within radius R. The number of records is public.
    R and any centring or scaling must not come from the records, and U not from before them (`require_fresh`).

All noise is in units of Delta. Both ends of a bracket are certain but for the rounding of special functions, which is
allowed for; of a sigma only the upper end may be used for a release.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

from sfumato.errors import BudgetError
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.random_directions import Directions, OrthonormalFrame, require_fresh
from sfumato_papers.accounting.law import Law, law_of

_ROUNDING = 1e-10  # relative, of survival functions and of sums
_CURVE_ROUNDING = 1e-12  # of Phi(-epsilon/mu + mu/2), from which the rest of h is subtracted


class Bracket(NamedTuple):
    """A number that lies between two others."""

    lower: float
    upper: float


@dataclass(frozen=True)
class SlicingProfile:
    """What a frame gives, with shadows clipped to R sqrt(clip) or not.

    For delta from 1e-12 and epsilon from 0.01 to 20 the ends of a bracket of sigma are less than 2e-4 apart. Several
    blocks need long doubles of 64 bits or more for that; where a machine has none, brackets of the smallest deltas are
    wider, and as certain. Thousands of blocks take tens of seconds and some gigabytes.

    Edge cases
        directions fixed before the records: `RequestError`, see `sigma_for_fixed`
        directions that are neither fresh nor fixed: `RequestError`
        epsilon < 0, delta outside of (0, 1), sigma <= 0: `BudgetError`
    """

    frame: OrthonormalFrame
    clip: float | None = None
    directions: Directions = Directions.FRESH

    def __post_init__(self) -> None:
        require_fresh(self.directions, self.frame, self.clip)

    @cached_property
    def law(self) -> Law:
        """T, clipped."""
        return law_of(self.frame).clipped(self.clip)

    def delta(self, epsilon: float, sigma: float) -> Bracket:
        """The least delta at this noise."""
        if not 0 <= epsilon < math.inf:
            raise BudgetError(f"epsilon is {epsilon}; it must be a number, 0 or more")
        kappa = 1 / _above_zero("sigma", sigma)
        return Bracket(self._delta_below(epsilon, kappa), self._delta_above(epsilon, kappa))

    def sigma(self, epsilon: float, delta: float) -> Bracket:
        """The least noise for (epsilon, delta); `upper` is certified."""
        _above_zero("epsilon", epsilon)
        _checked_delta(delta)
        self._refuse_unresolved(delta)
        too_much = _root(lambda kappa: self._delta_below(epsilon, kappa), delta)
        while self._delta_below(epsilon, too_much) < delta:
            too_much *= 1 + 1e-9
        enough = _root(lambda kappa: self._delta_above(epsilon, kappa), delta)
        while self._delta_above(epsilon, enough) > delta:
            enough *= 1 - 1e-9
        return Bracket(1 / too_much * (1 - 1e-15), 1 / enough * (1 + 1e-15))

    def epsilon(self, sigma: float, delta: float) -> Bracket:
        """The least epsilon at this noise; `upper` is certified."""
        kappa = 1 / _above_zero("sigma", sigma)
        _checked_delta(delta)
        self._refuse_unresolved(delta)
        least = _crossing(lambda epsilon: self._delta_below(epsilon, kappa) - delta)
        while least > 0 and self._delta_below(least, kappa) < delta:
            least = max(0.0, least - 1e-10 * max(least, 1.0))
        most = _crossing(lambda epsilon: self._delta_above(epsilon, kappa) - delta)
        while self._delta_above(most, kappa) > delta:
            most += 1e-10 * max(most, 1.0)
        return Bracket(least, most)

    def _refuse_unresolved(self, delta: float) -> None:
        if self.law.beyond * 2 >= delta:
            raise BudgetError(f"delta {delta:g} is below what this arithmetic resolves; raise it, say to 1e-12")

    def _delta_above(self, epsilon: float, kappa: float) -> float:
        curve, slack = gaussian_deltas(epsilon, kappa * np.sqrt(self.law.high))
        return min(float(self.law.mass @ (curve + slack)) * (1 + _ROUNDING) + self.law.error(curve), 1.0)

    def _delta_below(self, epsilon: float, kappa: float) -> float:
        curve, slack = gaussian_deltas(epsilon, kappa * np.sqrt(self.law.low))
        return max(float(self.law.mass @ (curve - slack)) * (1 - _ROUNDING) - self.law.error(curve), 0.0)


def gaussian_deltas(epsilon: float, mu: FloatArray) -> tuple[FloatArray, FloatArray]:
    """h(mu) for many mu, and how far rounding may have moved each.

    As `accounting.delta_of`: x = epsilon/mu - mu/2, y = epsilon/mu + mu/2, e^epsilon phi(y) = phi(x), so that
    h = Phi(-x) - phi(x) R(y) with R the Mills ratio. Where mu is 0 nothing changed, and h is 0.
    """
    still = 0.0 if epsilon == 0 else math.inf
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.divide(epsilon, mu, out=np.full_like(mu, still), where=mu > 0)
        x, y = ratio - mu / 2, ratio + mu / 2
        tail: FloatArray = ndtr(-x)
        curve = tail - np.exp(-x * x / 2) / 2 * erfcx(y / math.sqrt(2))
        return np.clip(curve, 0.0, 1.0), _CURVE_ROUNDING * tail


def _root(curve: Callable[[float], float], delta: float) -> float:
    """Where a growing curve of kappa passes delta, to nine digits."""

    def excess(log_kappa: float) -> float:
        return math.log(max(curve(math.exp(log_kappa)), 1e-300) / delta)

    low = high = 0.0
    while excess(high) <= 0:
        high += 1.0
    while excess(low) >= 0:
        low -= 1.0
    return math.exp(brentq(excess, low, high, xtol=1e-10))


def _crossing(excess: Callable[[float], float]) -> float:
    """Where a falling curve of epsilon passes 0, to ten digits; 0 where it begins below."""
    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-11))


def _above_zero(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise BudgetError(f"{name} is {value!r}; it must be a number above 0")
    return float(value)


def _checked_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise BudgetError(f"delta is {delta}; it must lie between 0 and 1, far below one over the rows, say 1e-6")
