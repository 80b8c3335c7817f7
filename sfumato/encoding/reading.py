"""Arrow arrays of any type as plain numbers, days, seconds or list positions, value by value.

What cannot be read becomes NaN (or position -1), as a null does: nothing here raises for what a row holds, and no value
has a say in how another one is read. Which way is taken depends on the array's declared type alone, which is public.
"""

import datetime as dt
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.schema import text_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Scalar = TypeVar("Scalar", np.float64, np.int64)
Family = Literal["nothing", "boolean", "number", "text", "day", "moment"]

_EPOCH = dt.date(1970, 1, 1).toordinal()
_DAY = 86_400
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_TRUE, _FALSE = {"true", "t", "yes", "y", "1"}, {"false", "f", "no", "n", "0"}


@lru_cache
def family(storage: pa.DataType) -> Family | None:
    """What kind of values a column of this Arrow type holds; None for lists, structs, durations and the like."""
    types = pa.types
    if types.is_dictionary(storage):
        return family(storage.value_type)
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


def as_numbers(array: pa.Array) -> FloatArray:
    """Each value as a float64; infinities and numbers beyond its range stay infinite."""
    if pa.types.is_dictionary(array.type):
        return _through_dictionary(array, as_numbers, math.nan)
    match family(array.type):
        case "boolean" | "number":
            return _filled(array)
        case "text":
            return _each_text(array, _parsed_number)
    return _nothing(array)


def as_days(array: pa.Array) -> FloatArray:
    """Each value as days since 1970-01-01, in universal time where it has a zone."""
    return np.floor(as_seconds(array) / _DAY)


def as_seconds(array: pa.Array) -> FloatArray:
    """Each value as whole seconds since 1970-01-01 in universal time; a moment without a zone counts as universal."""
    if pa.types.is_dictionary(array.type):
        return _through_dictionary(array, as_seconds, math.nan)
    match family(array.type):
        case "day":
            return _DAY * _filled(pc.cast(pc.cast(array, pa.date32(), safe=False), pa.int32()))
        case "moment":
            ticks = pc.cast(array, pa.int64())
            seconds = pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False) // _PER_SECOND[array.type.unit]
            return np.where(_null(array), math.nan, seconds)
        case "text":
            return _each_text(array, _parsed_moment)
    return _nothing(array)


def as_truth(array: pa.Array) -> FloatArray:
    """Each value as 1 (true) or 0 (false)."""
    if family(array.type) == "text":
        if pa.types.is_dictionary(array.type):
            return _through_dictionary(array, as_truth, math.nan)
        return _each_text(array, _parsed_truth)
    number = as_numbers(array)
    return number if family(array.type) == "boolean" else np.where((number == 0) | (number == 1), number, math.nan)


def positions(array: pa.Array, listed: Sequence[str]) -> IntArray:
    """Where each value stands in the list of texts; -1 for a null and for what is not listed."""
    if pa.types.is_dictionary(array.type):
        return _through_dictionary(array, lambda values: positions(values, listed), -1)
    match family(array.type):
        case "text":
            return _found(pc.cast(array, pa.large_binary()), _in_bytes(tuple(listed)))
        case "boolean":
            values = pc.if_else(array, "true", "false")
            return _found(values, pa.array([text.lower() for text in listed]))
        case "number":
            return _found(_not_nan(array), pa.array([_number_if_plain(text) for text in listed], pa.float64()))
        case "day":
            return _found(pc.cast(pc.cast(array, pa.date32(), safe=False), pa.string()), pa.array(listed))
    return np.full(len(array), -1)


@lru_cache
def _in_bytes(listed: tuple[str, ...]) -> pa.Array:
    return pa.array([text.encode() for text in listed], pa.large_binary())


def _not_nan(array: pa.Array) -> pa.Array:
    number = pc.cast(array, pa.float64(), safe=False)
    return pc.if_else(pc.is_nan(number), pa.scalar(None, pa.float64()), number)


def _number_if_plain(text: str) -> float | None:
    """The number that this text writes in the plain way: "7" but not "007"."""
    number = _parsed_number(text.encode())
    return number if text_of(number) == text and math.isfinite(number) else None


def _found(values: pa.Array, listed: pa.Array) -> IntArray:
    """Nulls are never found, not even where the list of numbers holds one for a text that is no number."""
    place = pc.index_in(values, listed, skip_nulls=True)
    found: IntArray = pc.fill_null(pc.cast(place, pa.int64()), -1).to_numpy(zero_copy_only=False)
    return found


def _through_dictionary(
    array: pa.DictionaryArray, read: Callable[[pa.Array], NDArray[Scalar]], absent: float
) -> NDArray[Scalar]:
    """Read the dictionary once, then look each value up; `absent` stands for null."""
    known = read(array.dictionary)
    table = np.append(known, np.asarray(absent, known.dtype))
    places = pc.fill_null(pc.cast(array.indices, pa.int64()), len(table) - 1).to_numpy(zero_copy_only=False)
    looked_up: NDArray[Scalar] = table[places]
    return looked_up


def _each_text(array: pa.Array, parse: Callable[[bytes], float]) -> FloatArray:
    """Each distinct text parsed once."""
    encoded = pc.dictionary_encode(pc.cast(array, pa.large_binary()))
    parsed = np.array([parse(text) for text in encoded.dictionary.to_pylist()], dtype=np.float64)
    return _through_dictionary(encoded, lambda _: parsed, math.nan)


def _parsed_number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _parsed_moment(text: bytes) -> float:
    try:
        moment = dt.datetime.fromisoformat(text.decode().strip())
        utc = moment.astimezone(dt.UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return math.nan
    return (utc.toordinal() - _EPOCH) * _DAY + utc.hour * 3600 + utc.minute * 60 + utc.second


def _parsed_truth(text: bytes) -> float:
    word = text.decode(errors="replace").strip().lower()
    return 1.0 if word in _TRUE else 0.0 if word in _FALSE else math.nan


def _filled(array: pa.Array) -> FloatArray:
    """Each number as a float64, NaN for null."""
    numbers = array if pa.types.is_float64(array.type) else pc.cast(array, pa.float64(), safe=False)
    filled: FloatArray = (pc.fill_null(numbers, math.nan) if numbers.null_count else numbers).to_numpy()
    return filled


def _null(array: pa.Array) -> NDArray[np.bool_]:
    null: NDArray[np.bool_] = pc.is_null(array).to_numpy(zero_copy_only=False)
    return null


def _nothing(array: pa.Array) -> FloatArray:
    return np.full(len(array), math.nan)
