"""From (epsilon, delta) to mu and back.

Inside the library privacy is counted in mu of Gaussian differential privacy (Dong, Roth and Su, "Gaussian differential
privacy", arXiv 1905.02383): a Gaussian mechanism with noise sensitivity / mu is mu-GDP (theorem 2.7), and mechanisms in
a row, each chosen by the answers before it, are sqrt(sum mu_i^2)-GDP (corollary 3.3). So mu squared adds up: see
`privacy_filter`.

(epsilon, delta) appear at the edges only, by the exact curve of the Gaussian mechanism (corollary 2.13; Balle and Wang,
arXiv 1805.06530, theorem 8):  delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import erfcx, ndtr

from sfumato.errors import BudgetError
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED, mu_of_units

DEFAULT_DELTA = 1e-6
LARGEST_BUDGET = 2**53  # units; an epsilon of some thousands
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_ROUNDING = 1e-12  # `delta_of` is good to this relative error, shown in the tests against 60-digit arithmetic


def delta_of(epsilon: float, mu: float) -> float:
    """The least delta for which mu-GDP gives (epsilon, delta).

    With x = epsilon/mu - mu/2 and y = epsilon/mu + mu/2, phi the normal density and R its Mills ratio (1 - Phi)/phi:
    e^epsilon phi(y) = phi(x), so delta = phi(x) (R(x) - R(y)) and nothing over- or underflows.
    """
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    if mu < 1:
        return density * _mills_drop(epsilon / mu, mu)
    return float(ndtr(-x)) - density * float(_mills(y))


def _mills(x: FloatArray | float) -> FloatArray:
    scaled: FloatArray = erfcx(np.divide(x, math.sqrt(2)))
    return math.sqrt(math.pi / 2) * scaled


def _mills_drop(middle: float, width: float) -> float:
    """R falls by this much over an interval.

    The integral of -R'(t) = 1 - t R(t), so that near values are not subtracted.
    """
    t = middle + width / 2 * _NODES
    return width / 2 * float(_WEIGHTS @ (1 - t * _mills(t)))


def epsilon_of(mu: float, delta: float) -> float:
    """The least epsilon for which mu-GDP gives (epsilon, delta)."""
    if delta_of(0.0, mu) <= delta:
        return 0.0
    return _boundary(lambda epsilon: delta_of(epsilon, mu) > delta)[1]


def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu whose mu-GDP gives (epsilon, delta), rounded so that the claim never rests on a last digit."""
    return _boundary(lambda mu: delta_of(epsilon, mu) * (1 + _ROUNDING) <= delta)[0]


def _boundary(holds: Callable[[float], bool]) -> tuple[float, float]:
    """The neighbouring floats (last that holds, first that does not) of a property that holds up to a point above 0."""
    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, 2 * high
    while low == 0.0 and not holds(high / 2):
        high /= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def noise_scale(sensitivity: float, mu: float) -> float:
    """The standard deviation that makes a sum of this sensitivity mu-GDP.

    Rounded up by more than the division rounds.
    """
    return sensitivity / mu * (1 + 2.0**-48)


def units_bought(epsilon: float, delta: float, delta_keys: float = 0.0) -> int:
    """The units of mu squared that (epsilon, delta) buys, where some of delta is set aside; 0 where all of it is."""
    left = math.nextafter(delta - delta_keys, 0.0) if delta_keys else delta  # rounding may have gone up
    return int(Fraction(mu_of(epsilon, left)) ** 2 * UNITS_PER_MU_SQUARED) if left > 0 else 0


@dataclass(frozen=True)
class Budget:
    """One total (epsilon, delta). Nothing is spent on the side.

    `records` of one person count at most, and the budget is for all of them: what `mu` and `split` hand out is for one
    record, and mu-GDP for one is records * mu-GDP for so many (group privacy: Dong, Roth and Su 2019, theorem 2.14).
    `delta_keys` of delta is set aside for lists of values that are discovered, and only the rest of it buys mu: see
    `thresholds`. `earlier` units go to what is measured before that which this budget is split over.

    Edge cases
        epsilon <= 0, infinite or NaN; delta <= 0, >= 1 or NaN: `BudgetError`. An epsilon so small that it buys less
        than one unit: `BudgetError`.
    Example
        >>> round(sfumato.Budget(1.0, 1e-6).mu, 3)
        0.237
    """

    epsilon: float
    delta: float
    records: int = 1
    delta_keys: float = 0.0
    earlier: int = 0

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            try:
                object.__setattr__(self, name, float(getattr(self, name)))
            except (TypeError, ValueError, OverflowError):
                raise BudgetError(f"{name} is {getattr(self, name)!r}; it must be a number") from None
        if not 0 < self.epsilon < math.inf:
            raise BudgetError(f"epsilon is {self.epsilon}; it must be a number above 0, say 1")
        if not 0 < self.delta < 1:
            raise BudgetError(
                f"delta is {self.delta}; it must lie between 0 and 1, far below one over the rows, say 1e-6"
            )
        if not 0 <= self.delta_keys < self.delta:
            raise BudgetError(f"{self.delta_keys} cannot be set aside of a delta of {self.delta}")
        if self.units < self.records**2:
            raise BudgetError(f"epsilon {self.epsilon} at delta {self.delta} buys nothing; raise epsilon")
        if self.units > LARGEST_BUDGET:
            raise BudgetError(f"epsilon {self.epsilon} promises nothing; lower it, say to 1")

    @property
    def mu(self) -> float:
        """The largest mu for one record that the privacy filter can count."""
        return mu_of_units(self.units // self.records**2)

    @property
    def units(self) -> int:
        """The whole budget in units of 1e-12 of mu squared, rounded down, less what goes to earlier measurements."""
        return units_bought(self.epsilon, self.delta, self.delta_keys) - self.earlier

    def split(self, shares: Sequence[float], least: float | Sequence[float] = 0.0) -> tuple[float, ...]:
        """A mu for each share of mu squared; together they cost no more than the budget.

        `least` is the mu, of all or of each, below which noise would leave the lattice: `BudgetError`.
        """
        exact = [Fraction(share) for share in shares]
        units = [int(self.units * share / sum(exact) / self.records**2) for share in exact]
        mus = tuple(map(mu_of_units, units))
        lowest = [least] * len(mus) if isinstance(least, float) else least
        if min(units) < 1 or any(mu < low for mu, low in zip(mus, lowest, strict=True)):
            raise BudgetError(
                f"epsilon {self.epsilon} at delta {self.delta} is too small to split over the measurements; raise "
                "epsilon"
            )
        return mus
