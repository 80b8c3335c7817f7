"""Where a row stands among those of its parent row, as a whole number: a turn. Rows without a place come last.

A turn is a function of one cell. Of a released column it can be read back as the number that the cell is.
"""

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.constraints.numbers import numbers_of
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.encoding.persons import persons

_LAST = np.iinfo(np.int64).max
_BELOW_THE_SIGN = np.int64(_LAST)


def turns_of_numbers(numbers: FloatArray) -> IntArray:
    """Whole numbers in the same order as some numbers, one for each; NaN is the last of all."""
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)  # one NaN, one zero
    bits = plain.view(np.int64)
    turns: IntArray = np.where(bits < 0, bits ^ _BELOW_THE_SIGN, bits)
    return turns


def numbers_of_turns(turns: IntArray) -> FloatArray:
    """The numbers that have these turns."""
    numbers: FloatArray = np.where(turns < 0, turns ^ _BELOW_THE_SIGN, turns).view(np.float64)
    return numbers


def read_turns(codes: NumericCodec, column: pa.Array) -> IntArray:
    """The turns of a released column, by the numbers that its cells are."""
    return turns_of_numbers(numbers_of(codes, column))


def read_running_numbers(codes: NumericCodec, column: pa.Array) -> IntArray:
    """The turns of a column of whole numbers that is not released: themselves, with all their 64 bits."""
    if pa.types.is_integer(column.type):
        found = column.to_pylist() if pa.types.is_uint64(column.type) else None
        if found is None:
            filled = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            return np.where(column.is_null().to_numpy(zero_copy_only=False), _LAST, filled.clip(max=_LAST - 1))
        return np.array([_LAST if one is None else min(one, _LAST - 1) for one in found], dtype=np.int64)
    rounded = numbers_of(codes, column)
    told = persons(column).to_pylist() if not pa.types.is_null(column.type) else [None] * len(column)
    return np.array([_turn(one, number) for one, number in zip(told, rounded.tolist(), strict=True)], dtype=np.int64)


def _turn(digits: bytes | None, rounded: float) -> int:
    """Of a cell by its digits; where they are no whole number, by what the column reads."""
    if digits is not None and digits.removeprefix(b"-").isdigit():
        return max(-_LAST, min(int(digits[:40]), _LAST - 1))
    return _LAST if np.isnan(rounded) else int(rounded)
