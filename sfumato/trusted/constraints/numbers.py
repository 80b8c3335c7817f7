"""Values of ordered columns as numbers in their own units, and back: days of dates, seconds of datetimes.

Each number is a function of one cell. A missing value is NaN.
"""

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.encoding.code_arrays import as_they_lie

Numbers = Mapping[str, FloatArray]
_HAIR = 1e-12  # relative: what a difference of decimals loses
_DIGITS = 14  # that a sum keeps of its largest value: what float64 adds beyond is no part of the values


def numbers_of(codes: NumericCodec, array: pa.Array) -> FloatArray:
    """What a column reads of each cell: clamped to its bounds; NaN for missing, and where it may be, for unreadable."""
    if pa.types.is_null(array.type) or not len(array):
        return np.full(len(array), _of_nothing(codes, absent=True))
    if pa.types.is_dictionary(array.type):
        table = np.append(numbers_of(codes, array.dictionary), _of_nothing(codes, absent=True))
        places = pc.fill_null(pc.cast(array.indices, pa.int64()), len(table) - 1)
        numbers: FloatArray = table[places.to_numpy(zero_copy_only=False)]
        return numbers
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    values, unread = codes.read(as_they_lie(array) if pa.types.is_primitive(array.type) else array)
    number = np.clip(np.rint(values) if codes.whole else values, codes.low, codes.high)
    blank = np.isnan(values)
    if array.null_count:
        stored = array.storage if isinstance(array, pa.ExtensionArray) else array
        blank |= pc.is_null(stored).to_numpy(zero_copy_only=False)
    if unread is not None:
        number = np.where(unread, _of_nothing(codes, absent=False), number)
        blank &= ~unread
    return codes.in_units(np.where(blank, _of_nothing(codes, absent=True), number))


def _of_nothing(codes: NumericCodec, *, absent: bool) -> float:
    """The number of a null (`absent`) or of a value that cannot be read."""
    if absent and codes.missing is not None:
        return math.nan
    if codes.place is not None:
        return codes.place
    return math.nan if codes.missing is not None else float(codes.numbers[codes.otherwise])


def write_numbers(codes: NumericCodec, numbers: FloatArray, least: FloatArray | None = None) -> pa.Array:
    """Numbers as values of a column, on its steps and within its bounds; NaN as missing, or where it puts nothing.

    No value is below `least`, if there is any: it goes to the next step above.
    """
    counted = numbers if codes.unit is None else codes.unit.counts(numbers)
    scaled = np.rint(counted) if codes.whole else np.round(counted, _decimals(codes))
    if least is not None:
        floor = least if codes.unit is None else codes.unit.counts(least)
        above = np.ceil(floor - _HAIR * np.abs(floor)) if codes.whole else floor
        scaled = np.maximum(scaled, above)
    known = ~np.isnan(scaled)
    if codes.missing is None:
        scaled = np.where(known, scaled, _of_nothing(codes, absent=False))
        known = np.ones(len(scaled), dtype=bool)
    return codes.write(np.clip(np.where(known, scaled, codes.low), codes.low, codes.high), ~known)


def _decimals(codes: NumericCodec) -> int:
    largest = max(abs(codes.low), abs(codes.high))
    return _DIGITS - math.ceil(math.log10(largest)) if largest > 0 else _DIGITS
