"""Whose record it is, as bytes: the same person has the same bytes whatever type an id is stored in."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.encoding.reading import family

_WHOLE = 2.0**63
_ENDING_ZEROS = r"(\.\d*?)0+$"


def person_type_fits(storage: pa.DataType) -> bool:
    """Whether a column of this declared type can say whose record it is."""
    plain = storage.storage_type if isinstance(storage, pa.BaseExtensionType) else storage
    return family(plain) in ("nothing", "boolean", "number", "text", "day") or pa.types.is_fixed_size_binary(plain)


def persons(array: pa.Array) -> pa.LargeBinaryArray:
    """The id of each record as bytes; null where nobody is named: null, NaN and empty text.

    A whole number is its digits, whether it is stored as an integer, a float, a decimal or text.
    """
    if isinstance(array, pa.ExtensionArray):
        return persons(array.storage)
    if pa.types.is_dictionary(array.type):
        return persons(array.dictionary).take(pc.cast(array.indices, pa.int64()))
    if pa.types.is_floating(array.type):
        return _named(_digits_of_floats(pc.cast(array, pa.float64())))
    if pa.types.is_decimal(array.type):
        return _named(_without_ending_zeros(pc.cast(array, pa.string())))
    text = array if pa.types.is_fixed_size_binary(array.type) or family(array.type) == "text" else _text(array)
    return _named(text)


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


def _without_ending_zeros(text: pa.Array) -> pa.Array:
    shorter = pc.replace_substring_regex(text, _ENDING_ZEROS, r"\1")
    return pc.replace_substring_regex(shorter, r"\.$", "")


def _named(text: pa.Array) -> pa.LargeBinaryArray:
    """As bytes, without names that are empty."""
    found = pc.cast(pc.cast(text, pa.binary()) if pa.types.is_fixed_size_binary(text.type) else text, pa.large_binary())
    return pc.if_else(pc.equal(pc.binary_length(found), 0), pa.scalar(None, pa.large_binary()), found)
