"""The exact arithmetic of spending: mu squared in whole numbers of 1e-12, never a sum of floats."""

import math
from fractions import Fraction

from sfumato.errors import BudgetError, BudgetExceededError

UNITS_PER_MU_SQUARED = 10**12


def units_of(mu: float) -> int:
    """What mu costs, in units of 1e-12 of mu squared, rounded up. Exact: every float is a fraction."""
    return math.ceil(Fraction(mu) ** 2 * UNITS_PER_MU_SQUARED)


def mu_of_units(units: int) -> float:
    """The largest float whose cost is `units` or less."""
    mu = math.sqrt(units / UNITS_PER_MU_SQUARED)
    while units_of(mu) > units:
        mu = math.nextafter(mu, 0.0)
    return mu


class PrivacyFilter:
    """The units of one release, spent measurement by measurement. `spend` comes before anything is read.

    Where `records` of one person count, a measurement costs what it lets out of all of them: records squared times as
    much as of one. `delta` is what lists of values may cost besides, see `thresholds`; it is for all records of a
    person already.
    """

    def __init__(self, units: int, records: int = 1, delta: float = 0.0) -> None:
        self.units = units
        self.records = records
        self._spent = 0
        self._delta_left = Fraction(delta)

    @property
    def spent(self) -> int:
        """Units spent so far."""
        return self._spent

    def spend(self, mu: float, delta: float = 0.0) -> None:
        """Take the cost of mu for one record, and delta, or raise `BudgetExceededError` and take nothing."""
        if not 0 < mu < math.inf:
            raise BudgetError(f"mu is {mu}; it must be a number above 0")
        if not 0 <= delta < 1:
            raise BudgetError(f"delta is {delta}; it must lie between 0 and 1")
        if delta > self._delta_left:
            raise BudgetExceededError(
                f"the measurement costs a delta of {delta:.4g} and {float(self._delta_left):.4g} is set aside",
                requested=delta,
                remaining=float(self._delta_left),
            )
        cost, left = self.records**2 * units_of(mu), self.units - self._spent
        if cost > left:
            requested, remaining = cost / UNITS_PER_MU_SQUARED, left / UNITS_PER_MU_SQUARED
            raise BudgetExceededError(
                f"the measurement costs {requested:.4g} of mu squared and {remaining:.4g} is left",
                requested=requested,
                remaining=remaining,
            )
        self._spent += cost
        self._delta_left -= Fraction(delta)
