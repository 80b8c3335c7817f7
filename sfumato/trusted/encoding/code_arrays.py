"""Arrays of codes: what all columns have in common when values in an Arrow array become codes."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.trusted.arrays import CodeArray
from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.scratch import scratch_array

Limits = tuple[float | None, float | None]


def encode_array(array: pa.Array, of_values: Callable[[pa.Array], CodeArray], absent: int) -> CodeArray:
    """The codes of an array: those of its values, and `absent` for nulls.

    Values that stand in a dictionary, or are true and false, are encoded once each. Where a value is null, anything
    may lie in memory; it gets a code as well, which is then replaced.
    """
    if not len(array) or pa.types.is_null(array.type):
        return np.full(len(array), absent, dtype=np.int32)
    codes: CodeArray
    if pa.types.is_dictionary(array.type):
        known = encode_array(array.dictionary, of_values, absent)
        places, table = as_they_lie(array.indices).to_numpy(), np.append(known, np.int32(absent))
        codes = table.take(places, out=scratch_array(len(places), np.int32), mode="clip")
    elif pa.types.is_boolean(array.type):
        false, true = of_values(pa.array([False, True]))
        codes = _bits(array, 1)
        codes *= true - false
        codes += false
    else:
        codes = of_values(as_they_lie(array) if pa.types.is_primitive(array.type) else array)
    if array.null_count:
        stored = array.storage if isinstance(array, pa.ExtensionArray) else array
        put(absent, codes, _bits(stored, 0) == 0)
    return codes


def put(value: int, codes: CodeArray, where: NDArray[np.bool_]) -> None:
    """Set some codes. Without branches, which cost much where a processor cannot foretell them."""
    off = np.subtract(np.int32(value), codes, out=scratch_array(len(codes), np.int32))
    off *= where
    codes += off


def one(value: object) -> pa.Array:
    """One value as an array."""
    return cells_of([value])


def as_they_lie(array: pa.Array) -> pa.Array:
    """Values of fixed width without their nulls: whatever lies in memory at such a place is a value."""
    if not array.null_count:
        return array
    return pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)


def _bits(array: pa.Array, buffer: int) -> NDArray[np.int32]:
    """One of an array's buffers of bits: 0, which values are there, or 1, those of booleans."""
    skipped, first = divmod(array.offset, 8)
    packed = np.frombuffer(array.buffers()[buffer], dtype=np.uint8)[skipped:]
    bits = scratch_array(len(array), np.int32)
    np.copyto(bits, np.unpackbits(packed, count=first + len(array), bitorder="little")[first:])
    return bits
