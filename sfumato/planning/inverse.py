"""Which epsilon reaches a target, or keeps a risk."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

from sfumato.artefact.risk import mu_of_advantage
from sfumato.artefact.verdict import Quality
from sfumato.errors import BudgetError, RequestError
from sfumato.planning.curve import forecast
from sfumato.planning.request import Request
from sfumato.trusted.budget import epsilon_of

LEAST, MOST = 0.01, 10.0
_STEPS = 14  # of halving, on a log scale: to three figures


@dataclass(frozen=True)
class Targets:
    """What a release must reach, each if it is given.

    gap        what a prediction of the target may lose
    group      the smallest group that must survive
    advantage  what an attacker may gain, from 0 to 1
    """

    gap: float | None = None
    group: float | None = None
    advantage: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("target_gap", self.gap), ("smallest_group", self.group)):
            if value is not None and not (_is_number(value) and 0 < value < math.inf):
                raise RequestError(f"{name} is {value!r}; it must be a number above 0")
        if self.advantage is not None and not (_is_number(self.advantage) and 0 < self.advantage < 1):
            raise RequestError(f"max_advantage is {self.advantage!r}; it must lie between 0 and 1, say 0.1")

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return any(one is not None for one in (self.gap, self.group, self.advantage))

    @property
    def of_quality(self) -> bool:
        """Whether more epsilon is needed for one."""
        return self.gap is not None or self.group is not None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def choose_epsilon(request: Request, targets: Targets) -> float:
    """The least epsilon that reaches what is asked of the quality, or the largest that keeps the risk.

    Three figures, rounded to the side that keeps the target. Where both are asked, the least that reaches the quality,
    if it keeps the risk. Raises `RequestError` where there is none up to 10.
    """
    if targets.gap is not None and (request.schema.target is None or not request.schema.features):
        raise RequestError("a gap of prediction is asked for, and the schema names no target to predict; name one")
    allowed = None if targets.advantage is None else _largest_allowed(request, targets.advantage)
    if not targets.of_quality:
        return _not_none(allowed)
    needed = _least_needed(request, targets)
    if allowed is not None and needed > allowed:
        raise RequestError(
            f"the quality needs epsilon {needed:g} and the risk allows {allowed:g} at most; relax one of the two, or "
            "measure fewer columns"
        )
    return needed


def _not_none(epsilon: float | None) -> float:
    if epsilon is None:
        raise RequestError("no target is given; give target_gap, smallest_group or max_advantage")
    return epsilon


def _largest_allowed(request: Request, advantage: float) -> float:
    budget = request.budget
    left = advantage - budget.delta_keys
    epsilon = epsilon_of(mu_of_advantage(left), budget.delta - budget.delta_keys) if left > 0 else 0.0
    if epsilon < LEAST:
        raise RequestError(
            f"an advantage of {advantage:g} at most needs an epsilon below {LEAST:g}, which buys nothing; allow more"
        )
    return _rounded(min(epsilon, MOST), math.floor)


def _least_needed(request: Request, targets: Targets) -> float:
    def reaches(epsilon: float) -> bool:
        try:
            return _is_reached(forecast(request.at(epsilon)), targets)
        except BudgetError:
            return False

    if not reaches(MOST):
        raise RequestError(_out_of_reach(forecast(request.at(MOST)), request, targets))
    if reaches(LEAST):
        return LEAST
    low, high = LEAST, MOST
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return _rounded(high, math.ceil)


def _is_reached(quality: Quality, targets: Targets) -> bool:
    gap = targets.gap is None or (quality.prediction_gap or 0.0) <= targets.gap
    return gap and (targets.group is None or quality.smallest_group <= targets.group)


def _out_of_reach(best: Quality, request: Request, targets: Targets) -> str:
    parts = []
    if targets.gap is not None and best.prediction_gap is not None and best.prediction_gap > targets.gap:
        parts.append(f"a gap of {targets.gap:g} (the forecast there is {best.prediction_gap:.2g})")
    if targets.group is not None and best.smallest_group > targets.group:
        parts.append(f"groups of {targets.group:g} records (there {best.smallest_group:.3g} is the smallest)")
    return (
        f"no epsilon up to {MOST:g} reaches {' and '.join(parts)} with {request.rows:,} rows; ask for less, measure "
        "fewer columns, or collect more records"
    )


def _rounded(epsilon: float, towards: Callable[[float], int]) -> float:
    """To three figures."""
    size = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return float(f"{towards(epsilon / size + (-1e-9 if towards is math.ceil else 1e-9)) * size:.6g}")
