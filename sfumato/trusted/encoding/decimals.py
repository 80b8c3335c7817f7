"""The roundest decimal in an interval: what a step of a scale stands for when it is written out again.

Units 1, 5, 10, 50, 100 ... and 0.5, 0.1, 0.05 ... are a chain: each divides the next. Of all numbers in an interval the
roundest is the multiple of the coarsest unit that has one there; 120 rather than 119.9973. Public arithmetic.
"""

import math
from collections.abc import Sequence

import numpy as np

from sfumato.trusted.arrays import FloatArray

Unit = tuple[int, int]
"""(k, e) for k * 10**e."""
MOMENTS: tuple[Unit, ...] = ((1, 0), (6, 1), (36, 2), (864, 2))
"""Second, minute, hour and day, in seconds: a chain as well."""
_NEAR = 1e-9  # of a unit: what rounding may add


def units_between(finest: float, coarsest: float) -> list[Unit]:
    """The units of the chain from one size to another, finest first."""
    first, last = math.floor(math.log10(finest)), math.floor(math.log10(coarsest))
    chain = [(k, e) for e in range(first, last + 1) for k in (1, 5)]
    return [unit for unit in chain if finest <= size_of(unit) * (1 + _NEAR) and size_of(unit) <= coarsest * (1 + _NEAR)]


def size_of(unit: Unit) -> float:
    """The unit as a number."""
    return float(at_multiple(np.ones(1), unit)[0])


def at_multiple(count: FloatArray, unit: Unit) -> FloatArray:
    """The float64 nearest to a count times the unit."""
    k, e = unit
    return count * float(k) / 10.0**-e if e < 0 else count * (k * 10.0**e)


def multiples_of(number: FloatArray, unit: Unit) -> FloatArray:
    """Numbers counted in units."""
    k, e = unit
    return number * 10.0**-e / k if e < 0 else number / (k * 10.0**e)


def roundest_between(left: FloatArray, right: FloatArray, units: Sequence[Unit] | None = None) -> FloatArray:
    """The roundest number in each interval [left, right), 0 the roundest of all; `left` where none is found.

    By these units, finest first; decimals by default.
    """
    found, open_ = np.array(left, dtype=np.float64), np.ones(len(left), dtype=bool)
    width = right - left
    if not len(left) or not (width > 0).any():
        return found
    zero = (left <= 0) & (right > 0)
    found[zero], open_[zero] = 0.0, False
    largest = float(max(np.abs(left).max(), np.abs(right).max()))
    finest, coarsest = float(width[width > 0].min()) / 10, max(largest, float(width.max()))
    for unit in reversed(units or units_between(finest, coarsest)):
        where = np.flatnonzero(open_)
        number = at_multiple(np.ceil(multiples_of(left[where], unit) - _NEAR), unit)
        hit = (left[where] <= number) & (number < right[where])
        found[where[hit]], open_[where[hit]] = number[hit], False
    return found


def roundest_of_steps(ends: FloatArray, units: Sequence[Unit] | None = None) -> FloatArray:
    """The same for the intervals between rising ends, sooner where they are many: each multiple is looked up once."""
    span, found = float(ends[-1] - ends[0]), np.full(len(ends) - 1, np.nan)
    largest = float(np.abs(ends[[0, -1]]).max())
    chain = units or units_between(span / len(found), max(largest, span))
    for unit in [unit for unit in chain if size_of(unit) * len(found) >= span]:
        first, last = multiples_of(ends[[0, -1]], unit)
        number = at_multiple(np.arange(np.ceil(first - _NEAR), last + 1), unit)
        number = number[(ends[0] <= number) & (number < ends[-1])][::-1]  # of several in an interval the first is kept
        found[np.searchsorted(ends, number, side="right") - 1] = number
    if ends[0] <= 0 < ends[-1]:
        found[np.searchsorted(ends, 0.0, side="right") - 1] = 0.0
    left = np.flatnonzero(np.isnan(found))
    found[left] = roundest_between(ends[left], ends[left + 1], units)
    return found
