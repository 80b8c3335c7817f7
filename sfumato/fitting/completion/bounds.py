"""Bounds that nobody knows: three questions about all columns together, each a table of counts for every column.

1. Cells between the powers of two, of either sign, from 2**-30 to 2**50.
2., 3. Cells of equal length around what was found. For a column whose values lie close together and far from 0, such as
years, they narrow it down; for any other they tell whether values lie on the other side of 0.

The bounds are the range of cells that stand out, as much again on either side, and then round numbers: bounds that are
too wide cost little, bounds that are too narrow cut records. A column of which nothing stands out from the noise keeps
the schema's public fallback.
"""

import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sfumato.fitting.completion.ranges import Cells, Range, even, far_from_zero, found, octaves, reaches_below
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.schema import Column, Schema
from sfumato.trusted.statistics import RangeCounts

QUESTIONS = 3
_STEPS = 20  # of round numbers that bounds take at least
_YEAR, _MONTH = 366, 31
_DAY = 86_400
_FIRST_DAY, _LAST_DAY = (day.toordinal() - dt.date(1970, 1, 1).toordinal() for day in (dt.date.min, dt.date.max))


@dataclass(frozen=True)
class _Seen:
    """What the questions so far have told of one column."""

    cells: Cells = field(default_factory=octaves)
    range: Range | None = None
    below: bool = False
    above: bool = False

    def after(self, told: Range | None) -> "_Seen":
        """The next question, given what the last one told."""
        if told is None:
            return self
        below, above = self.below or reaches_below(told), self.above or reaches_below(Range(-told.high, -told.low))
        kept = told if self.range is None or far_from_zero(self.range) else self.range
        return _Seen(even(kept.widen()), kept, below, above)

    def bounds(self, dated: bool) -> Range | None:
        """The range and its tails, which lead across 0 only where values were seen beyond it, or 0 is a day like any.

        None where nothing was seen, or nothing but 0, which tells nothing of the size of the rest.
        """
        if self.range is None or not (self.below or self.above):
            return None
        low, high = self.range.widen()
        return Range(low if self.below or dated else max(low, 0.0), high if self.above or dated else min(high, 0.0))


def estimate_bounds(curator: CuratorLike, schema: Schema, mus: Sequence[float]) -> Mapping[str, Sequence[Any]]:
    """Ask, and choose the bounds of every column of the schema that has none."""
    seen = {name: _Seen() for name in schema.estimated}
    for mu in mus:
        answer = curator.measure(RangeCounts({name: one.cells.grid for name, one in seen.items()}), mu)
        statistic = answer.statistic
        assert isinstance(statistic, RangeCounts)  # noqa: S101 - what was asked
        counts = statistic.split(answer.values)
        seen = {name: one.after(found(one.cells, counts[name][:-1], answer.sigma)) for name, one in seen.items()}
    return {
        column.name: _written(column, [seen[name] for name in column.names])
        for column in schema.columns
        if column.names[0] in seen
    }


def _written(column: Column, seen: Sequence[_Seen]) -> Sequence[Any]:
    """Bounds as a schema has them; the columns of a run share those that hold all of theirs."""
    ranges = [told for one in seen if (told := one.bounds(column.type in ("date", "datetime")))]
    if not ranges:
        return fallback_bounds(column)
    together = Range(min(one.low for one in ranges), max(one.high for one in ranges))
    return _with_named(column, *_rounded(column.type, together))


def fallback_bounds(column: Column) -> Sequence[Any]:
    """The bounds of a column of which nothing stands out."""
    return _with_named(column, *column.bounds)  # type: ignore[union-attr]


def _with_named(column: Column, low: Any, high: Any) -> Sequence[Any]:
    """Bounds that hold the values which the schema names."""
    named = [value for value in (*getattr(column, "atoms", ()), column.otherwise) if value is not None]
    return min(low, *named, low), max(high, *named, high)


def _rounded(kind: str, bounds: Range) -> tuple[Any, Any]:
    match kind:
        case "date":
            return _round_days(bounds)
        case "datetime":
            first, last = _round_days(Range(bounds.low // _DAY, bounds.high // _DAY))
            return dt.datetime.combine(first, dt.time()), dt.datetime.combine(last, dt.time(23, 59, 59))
        case "integer":
            low, high = _round(Range(math.floor(bounds.low), math.ceil(bounds.high)), whole=True)
            return int(low), int(high)
    return _round(bounds)


def _round(bounds: Range, whole: bool = False) -> tuple[float, float]:
    """The nearest round numbers outside of bounds: multiples of 1, 2 or 5 times a power of ten."""
    power = math.floor(math.log10(bounds.width / _STEPS)) if bounds.width else 0
    steps = [Decimal(digit).scaleb(exponent) for exponent, digit in itertools.product((power, power + 1), (1, 2, 5))]
    step = max((one for one in steps if one <= Decimal(bounds.width) / _STEPS), default=steps[0])
    step = max(step, Decimal(1)) if whole else step
    low, high = math.floor(Decimal(bounds.low) / step) * step, math.ceil(Decimal(bounds.high) / step) * step
    return float(low), float(high)


def _round_days(days: Range) -> tuple[dt.date, dt.date]:
    """The first and last day of whole years, of whole months, or days, by how long the range is."""
    low, high = (_day(math.floor(days.low)), _day(math.ceil(days.high)))
    if days.width > _STEPS * _YEAR:
        return low.replace(month=1, day=1), high.replace(month=12, day=31)
    if days.width > _STEPS * _MONTH:
        return low.replace(day=1), _last_of_month(high)
    return low, high


def _day(number: int) -> dt.date:
    """A day by its number from 1970-01-01 on; one that the calendar does not have is the first or the last."""
    return dt.date(1970, 1, 1) + dt.timedelta(days=min(max(number, _FIRST_DAY), _LAST_DAY))


def _last_of_month(day: dt.date) -> dt.date:
    following = day.replace(day=28) + dt.timedelta(days=4) if (day.year, day.month) != (9999, 12) else None
    return following.replace(day=1) - dt.timedelta(days=1) if following else dt.date.max
