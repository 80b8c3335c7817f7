"""What sort of value each code of a scale stands for: the unit that it is on, the weekday, the full hour.

    numbers   the coarsest of the units 1, 5, 10, 50 ... and 0.5, 0.1, 0.05 ... of which the value is a multiple
    days      the weekday, and whether it is the first, the last or another day of its month
    moments   the weekday, and the coarsest of day, hour, minute and second at which the value begins

Units are a chain, each divides the next, so that every value has one. A code is of the kind of the value that it is
written as. Values that stand out anyway (0, bounds, atoms) and missing ones are of a *silent* kind: 0 is a multiple of
everything and would tell nothing. A public map, a function of the schema alone.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding.decimals import Unit, at_multiple, multiples_of, size_of, units_between
from sfumato.trusted.encoding.scales import STEPS, NumericCodec

_DIGITS = 4  # of the range, below which no unit is looked for, but for hundredths
_HUNDREDTH = 0.01
_NEAR = 1e-9  # of a count of units: what rounding may add
_WEEK, _DAY = 7, 86_400
_THURSDAY = 3  # 1970-01-01, counted from Monday
_KEPT = 64


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kind of every code.

    of_code   its number; the last is the silent one
    level     of every kind but the silent: how many units of the chain its values are multiples of
    units     the chain, finest first
    """

    of_code: NDArray[np.uint8]
    level: tuple[int, ...]
    units: tuple[Unit, ...]

    @property
    def size(self) -> int:
        """How many kinds there are, the silent one included."""
        return len(self.level) + 1


@lru_cache(maxsize=_KEPT)
def kinds_of(codes: NumericCodec) -> Kinds:
    """The kinds of a column's codes. One byte for each code, so that only some are kept."""
    units = _units(codes)
    number = codes.numbers
    if codes.by_day:
        kind, levels = _weekday(number) + _WEEK * _place_in_month(number), (0,) * (3 * _WEEK)
    elif codes.dated:
        kind = _weekday(np.floor(number / _DAY)) + _WEEK * _levels(number, units)
        levels = tuple(np.repeat(range(len(units) + 1), _WEEK).tolist())
    else:
        kind, levels = _levels(number, units), tuple(range(len(units) + 1))
    of_code = np.full(codes.size, len(levels), dtype=np.uint8)
    of_code[: codes.steps] = kind
    of_code[codes.steps_of(np.array(codes.standing_out))] = len(levels)
    return Kinds(of_code, levels, units)


def count_kinds(codes: NumericCodec) -> int:
    """How many kinds a column's codes have, the silent one included."""
    if codes.by_day:
        return 3 * _WEEK + 1
    return (_WEEK if codes.dated else 1) * (len(_units(codes)) + 1) + 1


def _units(codes: NumericCodec) -> tuple[Unit, ...]:
    """The units of which a column's values may be multiples: no finer than its codes, no coarser than half its range.

    Days have none.
    """
    span = codes.high - codes.low
    if codes.by_day or span <= 0:
        return ()
    if codes.chain is not None:
        return tuple(unit for unit in codes.chain if span / STEPS <= size_of(unit) <= span / 2)
    digits = 10.0 ** (math.floor(math.log10(span)) - _DIGITS)
    finest = 1.0 if codes.whole else min(digits, _HUNDREDTH)
    return tuple(units_between(max(finest, span / STEPS), span / 2)) if 2 * max(finest, span / STEPS) <= span else ()


def _levels(number: FloatArray, units: tuple[Unit, ...]) -> IntArray:
    """Of how many units of the chain each number is a multiple, the coarsest deciding."""
    level = np.zeros(len(number), dtype=np.int64)
    left = np.arange(len(number))
    for place, unit in enumerate(units, start=1):  # a multiple of a unit is one of all finer ones
        there = number[left]
        left = left[np.abs(at_multiple(np.rint(multiples_of(there, unit)), unit) - there) <= _NEAR * size_of(unit)]
        level[left] = place
    return level


def _weekday(days: FloatArray) -> IntArray:
    """0 for Monday."""
    return (days.astype(np.int64) + _THURSDAY) % _WEEK


def _place_in_month(days: FloatArray) -> IntArray:
    """0 for the first day of a month, 1 for the last, 2 for others."""
    day = days.astype("datetime64[D]")
    before, after = day - np.timedelta64(1, "D"), day + np.timedelta64(1, "D")
    first, last = (beside.astype("datetime64[M]") != day.astype("datetime64[M]") for beside in (before, after))
    return np.where(first, 0, np.where(last, 1, 2))
