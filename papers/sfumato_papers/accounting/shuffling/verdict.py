"""What an account of a shuffle says, and whether it may be relied on."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq

from sfumato.errors import BudgetError, RequestError
from sfumato.trusted.budget import mu_of

_PRECISION = 1e-4  # of kappa
_MOST = 8.0  # kappa that is looked at


@dataclass(frozen=True)
class Shuffled:
    """The greatest kappa = 2 c / sigma for which an account gives (epsilon, delta).

    `proven` says whether a release may rely on it; `because` why, or why not.
    """

    kappa: float
    proven: bool
    because: str

    @property
    def sigma(self) -> float:
        """The noise in units of the sensitivity 2 c."""
        return 1 / self.kappa


def unshuffled(epsilon: float, delta: float) -> Shuffled:
    """No gain: each record shown with its place."""
    return Shuffled(mu_of(epsilon, delta), True, "the Gaussian mechanism")


def checked(records: int, epsilon: float, delta: float, width: int = 1) -> None:
    """Refuse what is no budget and no table."""
    for name, value, least in (("records", records, 2), ("width", width, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise RequestError(f"{name} is {value!r}; it must be a whole number, {least} or more")
    if not 0 < epsilon < math.inf:
        raise BudgetError(f"epsilon is {epsilon}; it must be a number above 0, say 1")
    if not 0 < delta < 1:
        raise BudgetError(f"delta is {delta}; it must lie between 0 and 1, say 1e-6")


def greatest(curve: Callable[[float], float], delta: float, least: float) -> float:
    """The greatest kappa at which a growing curve is at most delta, rounded to the safe side; `least` is given.

    Never less than `least`: what holds without a shuffle holds with one, for an order tells nothing.
    """

    def excess(log_kappa: float) -> float:
        return math.log(max(curve(math.exp(log_kappa)), delta * 1e-6) / delta)

    low, high = math.log(least), math.log(least)
    while high < math.log(_MOST) and excess(high) <= 0:
        low, high = high, min(high + 0.7, math.log(_MOST))
    if low == high:
        return least
    if excess(high) <= 0:
        return math.exp(high)
    return max(least, math.exp(brentq(excess, low, high, xtol=_PRECISION / 2) - _PRECISION / 2))
