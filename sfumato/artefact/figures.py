"""Figures of a column as a receiver reads them: a mean or another number, and the ends of its 95 % interval."""

import datetime as dt
import math
from typing import Any, NamedTuple

import numpy as np

from sfumato.trusted.encoding import Codes, NumericCodec


class Expectation(NamedTuple):
    """A mean, and the ends of its 95 % interval; moments in time for a column of dates."""

    mean: float | dt.date | dt.datetime
    low: float | dt.date | dt.datetime
    high: float | dt.date | dt.datetime

    def __repr__(self) -> str:
        return f"Expectation(mean={_short(self.mean)}, low={_short(self.low)}, high={_short(self.high)})"


class Summary(NamedTuple):
    """One figure of a column: what it is, its value, and the ends of its 95 % interval, None where they are not known.

    Of a column of dates the values are dates, and the standard deviation is a duration.
    """

    figure: str
    value: Any
    low: Any
    high: Any

    def __repr__(self) -> str:
        ends = f"low={_short(self.low)}, high={_short(self.high)}"
        return f"Summary(figure={self.figure!r}, value={_short(self.value)}, {ends})"


def _short(value: Any) -> str:
    """As many digits of a number as anybody reads."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show_number(codes: Codes, number: float) -> float | dt.date | dt.datetime:
    """A number as the column shows it: dates as dates, counts of steps as what they add up to."""
    if not isinstance(codes, NumericCodec):
        return number
    if codes.dated:
        moment: dt.date | dt.datetime = codes.write(np.array([number]), np.array([False]))[0].as_py()
        return moment
    return float(codes.in_units(np.array([number]))[0])


def show_or_none(codes: Codes, number: float) -> Any:
    """The same; None for what is no number."""
    return None if math.isnan(number) else show_number(codes, number)


def show_length(codes: NumericCodec, number: float) -> Any:
    """A distance between two values of the column."""
    if math.isnan(number):
        return None
    if codes.dated:
        return dt.timedelta(days=number) if codes.by_day else dt.timedelta(seconds=number)
    return float(codes.in_units(np.array([number]))[0])
