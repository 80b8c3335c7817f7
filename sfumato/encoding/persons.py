"""Whose record it is, as bytes: the same person has the same bytes whatever type an id is stored in."""

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.encoding.objects import id_of_object
from sfumato.encoding.reading import family

_WHOLE = 2.0**63


def person_type_fits(storage: pa.DataType) -> bool:
    """Whether a column of this declared type can say whose record it is."""
    plain = storage.storage_type if isinstance(storage, pa.BaseExtensionType) else storage
    return family(plain) in ("nothing", "boolean", "number", "text", "day") or pa.types.is_fixed_size_binary(plain)


def persons(array: pa.Array) -> pa.LargeBinaryArray:
    """The id of each record as bytes; null where nobody is named: null, NaN and empty text.

    A whole number is its digits, whether it is stored as an integer, a float, a decimal or text; text may have written
    it as 17.0, as pandas does where an id is missing elsewhere in the column. Other values keep themselves apart.
    """
    if isinstance(array, pa.ExtensionArray):
        named = array.type.extension_name == "arrow.uuid"
        return _each(array.storage, _uuid) if named else persons(array.storage)
    if pa.types.is_dictionary(array.type):
        return persons(array.dictionary).take(pc.cast(array.indices, pa.int64()))
    if pa.types.is_floating(array.type):
        return _named(_digits_of_floats(pc.cast(array, pa.float64())))
    if pa.types.is_decimal(array.type):
        return _each(array, id_of_object)
    if pa.types.is_fixed_size_binary(array.type):
        return _named(pc.cast(array, pa.binary()))
    return _named(_whole_numbers(array) if family(array.type) == "text" else _text(array))


def _text(array: pa.Array) -> pa.Array:
    day = pc.cast(array, pa.date32(), safe=False) if family(array.type) == "day" else array
    return pc.cast(day, pa.string())


def _digits_of_floats(numbers: pa.Array) -> pa.Array:
    """Floats that are whole are written as integers; pandas makes floats of integers where one is missing."""
    values = pc.fill_null(numbers, np.nan).to_numpy(zero_copy_only=False)
    whole = (np.abs(values) < _WHOLE) & (np.floor(values) == values)
    integers = pc.cast(pa.array(np.where(whole, values, 0.0).astype(np.int64)), pa.string())
    others = pc.cast(pa.array(values, mask=np.isnan(values)), pa.string())
    return pc.if_else(pa.array(whole), integers, others)


def _whole_numbers(text: pa.Array) -> pa.Array:
    """17 for 17.0, whoever wrote it so; other text as it is."""
    found = pc.cast(text, pa.large_binary())
    if not pc.any(pc.match_substring(found, ".0")).as_py():
        return found
    return pc.replace_substring_regex(found, r"\A(-?[0-9]+)\.0+\z", r"\1")


def _uuid(stored: bytes | None) -> bytes | None:
    return None if stored is None else id_of_object(uuid.UUID(bytes=stored))


def _each(array: pa.Array, name: Callable[[Any], bytes | None]) -> pa.LargeBinaryArray:
    """Of every value by itself, each looked at once."""
    found = array.dictionary_encode()
    names = pa.array(map(name, found.dictionary.to_pylist()), pa.large_binary())
    return names.take(pc.cast(found.indices, pa.int64()))


def _named(text: pa.Array) -> pa.LargeBinaryArray:
    """As bytes, without names that are empty."""
    found = pc.cast(text, pa.large_binary())
    return pc.if_else(pc.equal(pc.binary_length(found), 0), pa.scalar(None, pa.large_binary()), found)
