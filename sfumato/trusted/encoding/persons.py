"""Whose record it is, as bytes: the same person has the same bytes whatever type an id is stored in."""

import decimal
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.trusted.encoding.objects import id_of_object
from sfumato.trusted.encoding.reading import decimal_of, family, stored_decimals

_WHOLE = 2.0**63  # whole floats below are 64-bit integers
_PLAIN = 1e-5, 1e9  # floats that Arrow prints without an exponent, and more
_WRITTEN_OUT = r"\A(?:-0|-?[0-9](?:\.[0-9]+)?e[+-][0-9]{2,3})\z"


def person_type_fits(storage: pa.DataType) -> bool:
    """Whether a column of this declared type can say whose record it is."""
    plain = storage.storage_type if isinstance(storage, pa.BaseExtensionType) else storage
    return family(plain) in ("nothing", "boolean", "number", "text", "day") or pa.types.is_fixed_size_binary(plain)


def persons(array: pa.Array) -> pa.LargeBinaryArray:
    """The id of each record as bytes; null where nobody is named: null, NaN and empty text.

    A number is its digits, whether it is stored as a boolean, an integer, a float, a decimal or text; text may have
    written it as 17.0 or 1.7e+16, as pandas does where an id is missing elsewhere in the column. A float with a
    fraction is its shortest digits as a float64. Other values keep themselves apart.
    """
    if isinstance(array, pa.ExtensionArray):
        named = array.type.extension_name == "arrow.uuid"
        return _each(array.storage, _uuid) if named else persons(array.storage)
    if pa.types.is_dictionary(array.type):
        return persons(array.dictionary).take(pc.cast(array.indices, pa.int64()))
    if pa.types.is_floating(array.type):
        return _digits_of_floats(array)
    if pa.types.is_decimal(array.type):
        scale = array.type.scale
        return _each(stored_decimals(array), lambda stored: id_of_object(decimal_of(stored, scale)))
    if pa.types.is_fixed_size_binary(array.type):
        return _named(_plain(pc.cast(array, pa.binary())))
    return _named(_plain(array) if family(array.type) == "text" else _text(array))


def _text(array: pa.Array) -> pa.Array:
    plain = {"day": pa.date32(), "boolean": pa.int8()}.get(str(family(array.type)), array.type)
    return pc.cast(pc.cast(array, plain, safe=False), pa.string())


def _digits_of_floats(numbers: pa.Array) -> pa.LargeBinaryArray:
    """Floats that are integers are written as integers; pandas makes floats of integers where one is missing."""
    with np.errstate(invalid="ignore"):  # a warning would tell of a NaN that signals
        values = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
        size = np.abs(values)
        whole = (size < _WHOLE) & (np.floor(size) == size)
    integers = pc.cast(pa.array(np.where(whole, values, 0).astype(np.int64)), pa.string())
    printed = (size >= _PLAIN[0]) & (size < _PLAIN[1])
    alone = ~whole & ~printed
    fractions = np.where(whole | alone, 0, values)
    written = pc.if_else(pa.array(whole), integers, pc.cast(pa.array(fractions), pa.string()))
    others, places = np.unique(values[alone], return_inverse=True)
    names = pa.array(map(id_of_object, others), pa.large_binary())
    return pc.replace_with_mask(pc.cast(written, pa.large_binary()), pa.array(alone), names.take(pa.array(places)))


def _plain(text: pa.Array) -> pa.Array:
    """Numbers as plain digits, 17 for 17.0 and 0.000004 for 4e-06, whoever wrote them so; other text as it is."""
    found = pc.cast(text, pa.large_binary())
    if pc.any(pc.match_substring(found, ".0")).as_py():
        found = pc.replace_substring_regex(found, r"\A(-?[0-9]+)\.0+\z", r"\1")
    written_out = pc.match_substring_regex(found, _WRITTEN_OUT)
    if not pc.any(written_out).as_py():
        return found
    return pc.replace_with_mask(found, written_out, _each(found.filter(written_out), _plainly))


def _plainly(text: bytes) -> bytes | None:
    """The digits of a number that has an exponent, and 0 for -0. The shortest text of a float means that float."""
    if text == b"-0":
        return b"0"
    written = text.decode()
    number = float(written)
    return id_of_object(number if repr(number) == written else decimal.Decimal(written))


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
