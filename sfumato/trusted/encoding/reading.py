"""Arrow arrays of any type as numbers, seconds, truth values or list positions, value by value.

The same as the definitions in `values` and `listings`, for many values at once: what a value is read as depends on the
value alone, and never on the type of the array or on the values beside it. Nothing here raises for what a row holds.
"""

import decimal
import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.trusted.arrays import BoolArray, FloatArray, IntArray
from sfumato.trusted.encoding.cells import CellType, unpack
from sfumato.trusted.encoding.listings import IS_NULL, NOT_LISTED, Listing, NumberTable
from sfumato.trusted.encoding.values import (
    DAY_SECONDS,
    NO_WORDS,
    Kind,
    ReadText,
    TruthWords,
    Value,
    float_of_text,
    read_number,
    read_seconds,
    read_truth,
    seconds_of_text,
    truth_of_text,
    value_of,
)

Family = Literal["nothing", "boolean", "number", "text", "day", "moment", "cell"]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EXACT, _EXACT_SCALE = 2**53, 22  # integers up to this one, and powers of ten up to this one, are floats
_WORD = 8  # bytes


class Numbers(NamedTuple):
    """What values are read as: NaN stands for a null; `unread` tells those that cannot be read, None if all can."""

    values: FloatArray
    unread: BoolArray | None = None


def family(storage: pa.DataType) -> Family | None:
    """What kind of values a column of this Arrow type holds; None for lists, structs, durations and the like."""
    if isinstance(storage, pa.BaseExtensionType):
        return "cell" if isinstance(storage, CellType) else None
    if pa.types.is_dictionary(storage):
        return family(storage.value_type)
    return _plain_family(storage)


@lru_cache
def _plain_family(storage: pa.DataType) -> Family | None:
    types = pa.types
    kinds: list[tuple[Family, bool]] = [
        ("nothing", types.is_null(storage)),
        ("boolean", types.is_boolean(storage)),
        ("number", types.is_integer(storage) or types.is_floating(storage) or types.is_decimal(storage)),
        ("text", _is_text(storage)),
        ("day", types.is_date(storage)),
        ("moment", types.is_timestamp(storage)),
    ]
    return next((kind for kind, fits in kinds if fits), None)


def _is_text(storage: pa.DataType) -> bool:
    types = pa.types
    views = types.is_string_view(storage) or types.is_binary_view(storage)
    wide = types.is_large_string(storage) or types.is_large_binary(storage)
    return bool(views or wide or types.is_string(storage) or types.is_binary(storage))


def as_numbers(array: pa.Array, of_text: ReadText = float_of_text) -> Numbers:
    """Each value as the nearest float64; what lies beyond its range is infinite. `of_text` reads what is text."""
    match family(array.type):
        case "boolean":
            return Numbers(_filled(array))
        case "number" if pa.types.is_decimal(array.type):
            return Numbers(_floats_of_decimals(array))
        case "number":
            return Numbers(_filled(array))
        case "text":
            return _each_text(array, of_text)
        case "cell":
            return _each_cell(array, lambda value: read_number(value, of_text))
    return _nothing(array)


def as_days(array: pa.Array, of_text: ReadText = seconds_of_text) -> Numbers:
    """Each value as days since 1970-01-01, in universal time where it has a zone. `of_text` reads what is text."""
    seconds, unread = as_seconds(array, of_text)
    return Numbers(np.floor(seconds / DAY_SECONDS), unread)


def as_seconds(array: pa.Array, of_text: ReadText = seconds_of_text) -> Numbers:
    """Each value as seconds since 1970-01-01, rounded down; a moment without a zone counts as universal time.

    `of_text` reads what is text.
    """
    match family(array.type):
        case "day":
            return Numbers(DAY_SECONDS * _days(array))
        case "moment":
            ticks = pc.fill_null(pc.cast(array, pa.int64()), 0).to_numpy(zero_copy_only=False)
            return Numbers(np.where(_null(array), math.nan, ticks // _PER_SECOND[array.type.unit]))
        case "text":
            return _each_text(array, of_text)
        case "cell":
            return _each_cell(array, lambda value: read_seconds(value, of_text))
    return _nothing(array)


def as_truth(array: pa.Array, own: TruthWords = NO_WORDS) -> Numbers:
    """Each value as 1 (true) or 0 (false); `own` are the words that the schema adds."""
    match family(array.type):
        case "boolean":
            return Numbers(_filled(array))
        case "number":
            number = as_numbers(array).values
            return Numbers(number, ~((number == 0) | (number == 1) | np.isnan(number)))
        case "text":
            return _each_text(array, lambda text: truth_of_text(text, own))
        case "cell":
            return _each_cell(array, lambda value: read_truth(value, own))
    return _nothing(array)


def positions(array: pa.Array, listing: Listing) -> IntArray:
    """Where each value stands in the list: `NOT_LISTED` or `IS_NULL` where it does not; of a null, either."""
    match family(array.type):
        case "text":
            return _positions_of_text(pc.cast(array, pa.large_binary()), listing)
        case "boolean":
            return _found(pc.cast(array, pa.int64()), listing.in_integers)
        case "number" if pa.types.is_decimal(array.type):
            scale = array.type.scale
            return _each_position(stored_decimals(array), listing, lambda stored: value_of(decimal_of(stored, scale)))
        case "number" if pa.types.is_floating(array.type):
            with np.errstate(invalid="ignore"):  # a warning would tell of a NaN that signals
                number = _filled(array) + 0.0  # no negative zero
            return np.where(np.isnan(number), IS_NULL, _found(pa.array(number), listing.in_floats))
        case "number" if pa.types.is_uint64(array.type):
            return _found(array, listing.in_unsigned)
        case "number":
            return _found(pc.cast(array, pa.int64()), listing.in_integers)
        case "day":
            return _each_position(pc.cast(array, pa.date32(), safe=False), listing, _day, pa.int32())
        case "cell":
            return _each_position(array.storage, listing, unpack)
    return np.where(_null(array), IS_NULL, NOT_LISTED)


def _positions_of_text(texts: pa.Array, listing: Listing) -> IntArray:
    """Spelt like an entry; else, of the few that are not, by what each writes."""
    found = pc.fill_null(pc.cast(pc.index_in(texts, listing.in_bytes), pa.int64()), NOT_LISTED)
    places: IntArray = found.to_numpy(zero_copy_only=False)
    strange = places == NOT_LISTED
    if strange.any():
        others = texts.filter(pa.array(strange))
        places = places.copy()
        places[strange] = _each_position(others, listing, lambda text: Value(Kind.TEXT, text or b""))
    return places


def _found(numbers: pa.Array, table: NumberTable) -> IntArray:
    place = pc.index_in(numbers, table.numbers, skip_nulls=True)
    found: IntArray = table.places[pc.fill_null(pc.cast(place, pa.int64()), -1).to_numpy(zero_copy_only=False)]
    return found


def _each_position(
    array: pa.Array, listing: Listing, read: Callable[[Any], Value], plain: pa.DataType | None = None
) -> IntArray:
    distinct = pc.dictionary_encode(array)
    known = distinct.dictionary if plain is None else pc.cast(distinct.dictionary, plain)
    places = np.array([*(listing.position(read(one)) for one in known.to_pylist()), IS_NULL], dtype=np.int64)
    return places[_indices(distinct, len(known))]


def _day(days: int) -> Value:
    return Value(Kind.DAY, days)


def _each_text(array: pa.Array, read: Callable[[bytes], float | None]) -> Numbers:
    distinct = pc.dictionary_encode(pc.cast(array, pa.large_binary()))
    return _looked_up(distinct, map(read, distinct.dictionary.to_pylist()))


def _each_cell(array: pa.Array, read: Callable[[Value], float | None]) -> Numbers:
    distinct = pc.dictionary_encode(array.storage)
    return _looked_up(distinct, (read(unpack(cell)) for cell in distinct.dictionary.to_pylist()))


def _looked_up(array: pa.DictionaryArray, known: Iterable[float | None]) -> Numbers:
    """Every distinct value was read once; None where it could not be."""
    read = list(known)
    values = np.array([math.nan if one is None else one for one in read] + [math.nan], dtype=np.float64)
    unread = np.array([one is None for one in read] + [False])
    index = _indices(array, len(read))
    return Numbers(values[index], unread[index] if unread.any() else None)


def _indices(array: pa.DictionaryArray, of_null: int) -> IntArray:
    index: IntArray = pc.fill_null(pc.cast(array.indices, pa.int64()), of_null).to_numpy(zero_copy_only=False)
    return index


def _floats_of_decimals(array: pa.Array) -> FloatArray:
    """The nearest float64 of each: Arrow's own cast errs in the last bit."""
    scale, null = array.type.scale, _null(array)
    values, exact = _quotients(array)
    values[null] = math.nan
    others = ~exact & ~null
    if others.any():
        distinct = pc.dictionary_encode(stored_decimals(array).filter(pa.array(others)))
        known = (read_number(value_of(decimal_of(one, scale))) for one in distinct.dictionary.to_pylist())
        values[others] = _looked_up(distinct, known).values
    return values


def _quotients(array: pa.Array) -> tuple[FloatArray, BoolArray]:
    """Decimals as floats, and which of them are the nearest ones.

    An integer up to 2^53 and a power of ten up to 10^22 are floats, so that their quotient is rounded once.
    """
    rows, width, scale = len(array), array.type.byte_width, array.type.scale
    if not 0 <= scale <= _EXACT_SCALE:
        return np.empty(rows), np.zeros(rows, dtype=np.bool_)
    word = min(width, _WORD)
    words: IntArray = np.ndarray((rows, width // word), f"<i{word}", array.buffers()[1], array.offset * width)
    lowest = words[:, 0].astype(np.int64)
    alone = (words[:, 1:] == (lowest >> 63)[:, None]).all(axis=1)
    return lowest / 10.0**scale, alone & (lowest >= -_EXACT) & (lowest <= _EXACT)


def stored_decimals(array: pa.Array) -> pa.FixedSizeBinaryArray:
    """The bytes of each decimal. Arrow itself refuses one that has more digits than its type declares."""
    return pa.Array.from_buffers(pa.binary(array.type.byte_width), len(array), array.buffers(), offset=array.offset)


def decimal_of(stored: bytes, scale: int) -> decimal.Decimal:
    """The decimal that is stored in some bytes, all of its digits."""
    return decimal.Decimal(f"{int.from_bytes(stored, 'little', signed=True)}e{-scale}")


def _days(array: pa.Array) -> FloatArray:
    return _filled(pc.cast(pc.cast(array, pa.date32(), safe=False), pa.int32()))


def _filled(array: pa.Array) -> FloatArray:
    """Each number as a float64, NaN for null."""
    numbers = array if pa.types.is_float64(array.type) else pc.cast(array, pa.float64(), safe=False)
    filled: FloatArray = (pc.fill_null(numbers, math.nan) if numbers.null_count else numbers).to_numpy()
    return filled


def _null(array: pa.Array) -> BoolArray:
    null: BoolArray = pc.is_null(array).to_numpy(zero_copy_only=False)
    return null


def _nothing(array: pa.Array) -> Numbers:
    """Values of a kind that cannot be read here; a NaN is a null in any column."""
    null = np.isnan(_filled(array)) if pa.types.is_floating(array.type) else _null(array)
    return Numbers(np.full(len(array), math.nan), ~null)
