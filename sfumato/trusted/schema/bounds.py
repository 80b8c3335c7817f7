"""Bounds of ordered columns as numbers: days of dates, seconds of datetimes; and what constraints leave of them."""

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Literal

from sfumato.trusted.schema.columns import BooleanColumn, CategoryColumn, Column, DateColumn, DatetimeColumn
from sfumato.trusted.schema.relations import Inequality, Limit
from sfumato.trusted.schema.steps import written

Kind = Literal["list", "number", "date", "datetime"]

_EPOCH = dt.datetime(1970, 1, 1)
_FINEST = 2.0**-20  # of a range: what > means where values have no step


def kind_of(column: Column) -> Kind:
    """What values of a column can be compared with."""
    if isinstance(column, CategoryColumn | BooleanColumn):
        return "list"
    if isinstance(column, DateColumn | DatetimeColumn):
        return column.type
    return "number"


def number_of(column: Column, value: Any) -> float:
    """A value of an ordered column as a number."""
    if isinstance(column, DateColumn):
        return float(value.toordinal() - _EPOCH.toordinal())
    if isinstance(column, DatetimeColumn):
        return float((value - _EPOCH) // dt.timedelta(seconds=1))
    return float(value)


def value_of(column: Column, number: float) -> Any:
    """The value of an ordered column that a number stands for."""
    if isinstance(column, DateColumn):
        return dt.date.fromordinal(round(number) + _EPOCH.toordinal())
    if isinstance(column, DatetimeColumn):
        return _EPOCH + dt.timedelta(seconds=round(number))
    return round(number) if column.type == "integer" else number


def span_of(column: Column) -> tuple[float, float]:
    """The bounds of an ordered column as numbers."""
    low, high = column.bounds  # type: ignore[union-attr]
    return number_of(column, low), number_of(column, high)


def constant_of(column: Column, constant: Any) -> float:
    """A constant of a constraint on an ordered column as a number. Raises `ValueError` for one that is no value."""
    try:
        if isinstance(column, DateColumn):
            day = constant if isinstance(constant, dt.date) else dt.date.fromisoformat(str(constant).strip())
            return number_of(column, day)
        if isinstance(column, DatetimeColumn):
            moment = _moment(constant)
            return number_of(column, moment)
        return math.nan if isinstance(constant, bool) else float(constant)
    except (ValueError, TypeError):
        raise ValueError(f"{constant!r} is not a value of a column of type {column.type}; correct it") from None


def _moment(constant: Any) -> dt.datetime:
    if isinstance(constant, dt.datetime):
        return constant.replace(tzinfo=None)
    if isinstance(constant, dt.date):
        return dt.datetime.combine(constant, dt.time())
    return dt.datetime.fromisoformat(str(constant).strip()).replace(tzinfo=None)


def least_step(column: Column) -> float:
    """The least distance of two different values of an ordered column."""
    spacing = getattr(column, "spacing", None)
    if spacing is not None:
        return float(spacing)
    low, high = span_of(column)
    return (high - low) * _FINEST if column.type == "number" else 1.0


def least_gap(one: Inequality, columns: Mapping[str, Column]) -> float:
    """How far the greater column lies above the lesser at least."""
    step = min(least_step(columns[name]) for name in one.columns)
    return one.offset + (step if one.strict else 0.0)


def tightened(relations: Iterable[Any], columns: Mapping[str, Column]) -> dict[str, tuple[float, float]]:
    """The bounds that constraints leave to the columns that they bound.

    A column below another cannot be above the other's upper bound, nor one above another below its lower bound, where
    the other is never missing.
    """
    listed = list(relations)
    found: dict[str, tuple[float, float]] = {}
    for one in listed:
        if isinstance(one, Limit):
            low, high = found.get(one.column, span_of(columns[one.column]))
            end, step = constant_of(columns[one.column], one.constant), least_step(columns[one.column]) * one.strict
            found[one.column] = (low, min(high, end - step)) if one.below else (max(low, end + step), high)
    inequalities = [one for one in listed if isinstance(one, Inequality)]
    for _ in inequalities:  # as many rounds as a chain may be long
        for one in inequalities:
            above, below = (found.get(name, span_of(columns[name])) for name in one.columns)
            gap = least_gap(one, columns)
            found[one.lesser] = (below[0], min(below[1], above[1] - gap))
            raised = above[0] if columns[one.lesser].missing else max(above[0], below[0] + gap)
            found[one.greater] = (raised, above[1])
    return {name: _on_steps(columns[name], *span) for name, span in found.items()}


def _on_steps(column: Column, low: float, high: float) -> tuple[float, float]:
    """The outermost values of a column between two numbers."""
    own = span_of(column)
    step = getattr(column, "spacing", None) or (0 if column.type == "number" else Fraction(1))
    if not step:
        return low, high
    first, last = (written(end) / step for end in (low, high))
    inner = float(math.ceil(first) * step), float(math.floor(last) * step)
    return (low if low == own[0] else inner[0], high if high == own[1] else inner[1])


def shown_bounds(column: Column) -> str:
    """The bounds of an ordered column as a schema writes them."""
    low, high = column.bounds  # type: ignore[union-attr]
    return f"[{low}, {high}]"


def with_bounds(column: Column, bounds: tuple[float, float]) -> Column:
    """The same ordered column with narrower bounds; what lies outside of them is taken off."""
    low, high = (value_of(column, bound) for bound in bounds)
    update: dict[str, Any] = {"bounds": (low, high)}
    if column.otherwise is not None:
        update["otherwise"] = min(max(column.otherwise, low), high)
    if getattr(column, "atoms", ()):
        update["atoms"] = tuple(atom for atom in column.atoms if low <= atom <= high)  # type: ignore[union-attr]
    return column.model_copy(update=update)
