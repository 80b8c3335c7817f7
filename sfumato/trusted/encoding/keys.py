"""The key of a value: the text under which a discovered list would name it.

A key is what `listings` would find the value by: a text is itself, a number its plain digits (true is 1), a day its ISO
text. What no list can name has no key: nulls, text that says NaN, moments, objects, text that is not UTF-8, that is
longer than `LONGEST` characters, or that a schema refuses.

Formal guarantees
    The key of a value depends on that value alone, and never on the type of the array or on the values beside it.
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.trusted.encoding.cells import unpack
from sfumato.trusted.encoding.listings import iso_day, plain_text
from sfumato.trusted.encoding.reading import decimal_of, family, stored_decimals
from sfumato.trusted.encoding.values import Kind, Value, number_of_text, value_of

LONGEST = 128
_REFUSED = b"FILL"  # stands for what is not filled in yet, so that no schema can list it


def key_of(value: Value) -> bytes | None:
    """The key of one value, None where it has none."""
    match value.kind:
        case Kind.NUMBER:
            digits = plain_text(value.content)
            return digits if len(digits) <= LONGEST else None
        case Kind.TEXT:
            return value.content if _can_be_listed(value.content) else None
        case Kind.DAY:
            return iso_day(value.content) or None
    return None


def _can_be_listed(text: bytes) -> bool:
    try:
        characters = len(text.decode())
    except UnicodeDecodeError:
        return False
    number = number_of_text(text) if characters <= LONGEST else None
    return characters <= LONGEST and text != _REFUSED and (number is None or number == number)


def keys(array: pa.Array) -> pa.LargeBinaryArray:
    """The key of each value of an array, null where it has none. Nothing here raises for what a row holds."""
    if pa.types.is_dictionary(array.type):
        return keys(array.dictionary).take(pc.cast(array.indices, pa.int64()))
    match family(array.type):
        case "text":
            return _each(pc.cast(array, pa.large_binary()), lambda text: Value(Kind.TEXT, text))
        case "boolean":
            return _each(pc.cast(array, pa.int8()), value_of)
        case "number" if pa.types.is_decimal(array.type):
            scale = array.type.scale
            return _each(stored_decimals(array), lambda stored: value_of(decimal_of(stored, scale)))
        case "number" if pa.types.is_floating(array.type):
            return _each(pc.cast(array, pa.float64()), value_of)
        case "number":
            return _each(array, value_of)
        case "day":
            days = pc.cast(pc.cast(array, pa.date32(), safe=False), pa.int32())
            return _each(days, lambda count: Value(Kind.DAY, count))
        case "cell":
            return _each(array.storage, unpack)
    return pa.nulls(len(array), pa.large_binary())


def _each(array: pa.Array, read: Callable[[Any], Value]) -> pa.LargeBinaryArray:
    """Of every value by itself, each looked at once."""
    found = pc.dictionary_encode(array)
    known = [None if one is None else key_of(read(one)) for one in found.dictionary.to_pylist()]
    return pa.array(known, pa.large_binary()).take(pc.cast(found.indices, pa.int64()))
