"""What each epsilon would buy."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sfumato.artefact.quality import expected_quality
from sfumato.artefact.verdict import Quality
from sfumato.errors import BudgetError
from sfumato.planning.questions import list_questions, pairs_of
from sfumato.planning.request import Request

EPSILONS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True)
class Point:
    """An epsilon, the errors to be expected at it, and what an attacker gains."""

    epsilon: float
    quality: Quality
    advantage: float


def forecast(request: Request) -> Quality:
    """The errors to be expected of a planned release; of means none where bounds are yet to be found."""
    found = expected_quality(pairs_of(list_questions(request)), request.completed, request.rows)
    if not request.schema.estimated:
        return found
    intervals = {name: ends for name, ends in found.intervals.items() if name != "mean_error"}
    return replace(found, mean_error=None, intervals=intervals)


def draw_curve(request: Request, epsilons: Iterable[float] = EPSILONS) -> tuple[Point, ...]:
    """A point for each epsilon, and for that of the request; those too small for the mechanism are left out."""
    found = []
    for epsilon in sorted({*epsilons, request.budget.epsilon}):
        try:
            there = request.at(epsilon)
            found.append(Point(epsilon, forecast(there), there.risk.advantage))
        except BudgetError:
            continue
    return tuple(found)
