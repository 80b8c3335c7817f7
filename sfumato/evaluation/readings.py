"""What the values of a stored column are read as, before the schema clamps them or sends them elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.trusted.arrays import BoolArray, FloatArray, IntArray
from sfumato.trusted.encoding import CategoricalCodec, Codes, NumericCodec
from sfumato.trusted.encoding.cells import unpack
from sfumato.trusted.encoding.listings import IS_NULL, NOT_LISTED
from sfumato.trusted.encoding.reading import decimal_of, family, stored_decimals
from sfumato.trusted.encoding.values import Kind, Value, value_of
from sfumato.trusted.schema import text_of


@dataclass(frozen=True)
class Reading:
    """Some values of one column.

    values    numbers, days or seconds as they are; of a listed column the place in the list; NaN where there is neither
    null      which are null
    strange   which are no number, day, moment or truth value, or are not in the list
    words     which are null because they are words such as "n/a", where a number may be missing
    """

    values: FloatArray
    null: BoolArray
    strange: BoolArray
    words: BoolArray


def read_array(array: pa.Array, codes: Codes) -> Reading:
    """Read stored values as a release reads them, but neither clamp them nor replace those that do not fit."""
    null: BoolArray = pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False)
    values: FloatArray = np.full(len(array), np.nan)
    strange = np.zeros(len(array), dtype=bool)
    words = strange
    if null.all():
        return Reading(values, null, strange, words)
    if isinstance(codes, NumericCodec):
        values, unread = codes.read(array)
        strange = strange if unread is None else unread & ~null
        words = words if codes.missing is None else _are_words(array, strange)
        strange = strange & ~words
        null = null | (np.isnan(values) & ~strange)  # a text may say that it is none
    elif isinstance(codes, CategoricalCodec):
        place = codes.find(array)
        null = null | (place == IS_NULL)
        strange = (place == NOT_LISTED) & ~null
        values = np.where(null | strange, np.nan, place)
    return Reading(values, null, strange, words)


def _are_words(array: pa.Array, where: BoolArray) -> BoolArray:
    """Which of some values hold no digit: nothing that could be a number, a day or a moment in another format."""
    found = np.zeros(len(array), dtype=bool)
    if where.any():
        texts, places = distinct_texts(array.filter(pa.array(where)))
        found[where] = np.array([not any(map(str.isdigit, text)) for text in texts])[places]
    return found


def plain_array(array: pa.Array) -> pa.Array:
    """The array without a dictionary."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def distinct_texts(array: pa.Array) -> tuple[list[str], IntArray]:
    """The different values as a person writes them, and the place of each record's among them.

    3, 3.0 and "3" are the same to a person, and have the same text. There are no nulls in the array.
    """
    texts: Callable[[pa.Array], list[str]]
    match family(array.type):
        case "cell":
            stored, texts = array.storage, _texts_of_cells
        case "text":
            stored, texts = pc.cast(array, pa.large_binary()), _texts_of_bytes
        case "number" if pa.types.is_decimal(array.type):
            stored, texts = stored_decimals(array), partial(_texts_of_decimals, array.type.scale)
        case "day" | "moment":
            stored, texts = array, lambda values: pc.cast(values, pa.string()).to_pylist()
        case _:
            stored, texts = array, lambda values: [text_of(value) for value in values.to_pylist()]
    distinct = pc.dictionary_encode(stored)
    return texts(distinct.dictionary), distinct.indices.to_numpy(zero_copy_only=False)


def _texts_of_bytes(values: pa.Array) -> list[str]:
    return [value.decode("utf-8", "replace") for value in values.to_pylist()]


def _texts_of_decimals(scale: int, values: pa.Array) -> list[str]:
    return [text_of(value_of(decimal_of(stored, scale)).content) for stored in values.to_pylist()]


def _texts_of_cells(values: pa.Array) -> list[str]:
    return [_text_of_value(unpack(cell)) for cell in values.to_pylist()]


def _text_of_value(value: Value) -> str:
    match value.kind:
        case Kind.TEXT:
            return str(value.content, "utf-8", "replace")
        case Kind.NUMBER:
            return text_of(value.content)
        case Kind.DAY:
            return str(np.datetime64(value.content, "D"))
        case Kind.MOMENT:
            return str(np.datetime64(value.content, "s"))
    return f"something of the kind {value.kind.name.lower()}"
