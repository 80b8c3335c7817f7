"""What a forecast rests on, in words."""

from dataclasses import replace

from sfumato.artefact.verdict import Quality
from sfumato.errors import SfumatoError
from sfumato.fitting.mechanisms.mechanism import find_mechanism
from sfumato.fitting.stored_plan import describe_mechanism
from sfumato.planning.request import TYPICAL_LIST, Request
from sfumato.planning.simulation import Simulation

_GAUSSIAN = ("mixture", "subspace")
_FEW = 500  # records times mu below which Gaussians describe numbers better than counts do: `experiments.mixture`


def _is_fitted(request: Request) -> bool:
    """Whether the formula was fitted to releases by this mechanism: by `tables`, which are the usual parts of `3a`."""
    if request.mechanism != "3a":
        return request.mechanism == "tables"
    usual = replace(request, settings={})
    return bool(request.mechanism_plan.to_dict() == usual.mechanism_plan.to_dict())


def _is_tried(request: Request) -> bool:
    """Whether releases of this size and budget were among those that the formula was fitted to."""
    return 2_000 <= request.rows <= 20_000 and 0.3 <= request.budget.epsilon <= 3


def _suits_mixture(request: Request) -> bool:
    """Whether `mixture` would describe the table better: few records of numbers alone, and nothing to predict."""
    mu = request.risk.mu
    if request.mechanism != "tables" or request.schema.target is not None or request.rows * mu >= _FEW:
        return False
    try:
        find_mechanism("mixture").build_plan(request.completed, request.budget, request.adjacency, {})
    except SfumatoError:
        return False
    return len(request.completed.columns) > 1


def note_of_choice(request: Request, quality: Quality) -> str:
    """What an epsilon that was chosen by a target of quality does not promise."""
    gap = quality.intervals.get("prediction_gap")
    reach = ""
    if gap is not None and _is_fitted(request):
        reach = f" A predictor may lose up to {gap[1]:.2g} at it, one time in ten more."
    return f"This epsilon was chosen so that the middle of the forecast reaches the target, not its interval.{reach}"


def words_of_interval(request: Request, simulated: Simulation | None) -> str:
    """How often an interval holds, where that was tried."""
    if simulated is None and not _is_fitted(request):
        return "how often the interval holds was not tried with this mechanism"
    return "four tables out of five lie in the interval"


def notes_of(request: Request, simulated: Simulation | None) -> tuple[str, ...]:
    """What somebody must know who relies on the forecast."""
    schema, found = request.schema, []
    found.append(
        f"Every figure follows from the schema, the budget and the {request.rows:,} rows that you estimate; no private "
        "table was read."
    )
    if schema.discovered:
        names = ", ".join(schema.discovered[:5])
        found.append(
            f"Lists of values are yet to be found ({names}): a part of the budget is set aside for them, and "
            f"{TYPICAL_LIST} values are assumed in each."
        )
    if schema.estimated:
        names = ", ".join(schema.estimated[:5])
        found.append(f"Bounds are yet to be found ({names}): a part of the budget is set aside for them.")
    if _suits_mixture(request):
        limit = _FEW / request.risk.mu
        found.append(
            f"Fewer than about {limit:,.0f} rows of numbers alone are described better by mechanism mixture at this "
            "budget. The number of rows is private, so `auto` cannot choose by it; you can."
        )
    if simulated is None and request.mechanism in _GAUSSIAN:
        found.append(
            f"Forecasts for {request.mechanism} rest on a few tables: how well Gaussians fit yours is not known "
            "beforehand. Give a public table with --like to simulate it."
        )
    elif simulated is None and not _is_fitted(request):
        found.append(
            f"No formula was fitted to releases by {describe_mechanism(request.mechanism, request.choices)}: what is "
            "asked and its noise are sure, but errors are forecast as if tables made use of it. Give a public table "
            "with --like to simulate it."
        )
    if simulated is not None:
        found.append(
            f"Errors are from {simulated.repetitions} simulated releases of {request.rows:,} records like "
            f"{simulated.source}; they hold for your table as far as it is like that one."
        )
    if simulated is None and not _is_tried(request):
        found.append(
            "The formula was fitted to releases of 2,000 to 20,000 records at epsilon 0.3 to 3; beyond these it is "
            "extrapolated."
        )
    if simulated is not None or _is_fitted(request):
        found.append("Intervals hold four tables out of five on tables that the formula never saw.")
    return tuple(found)
