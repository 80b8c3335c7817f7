"""Columns of Python objects as Arrow arrays: each cell keeps its value and the kind of it, and no cell can fail.

A cell is one byte for its kind and then its content as text. Columns of objects come from pandas, polars and SQLite;
everything else has an Arrow type of its own.
"""

from collections.abc import Iterable

import pyarrow as pa

from sfumato.trusted.encoding.values import NULL, OTHER, Kind, Value, value_of

_DIGITS = (Kind.DAY, Kind.MOMENT)


class CellType(pa.ExtensionType):  # type: ignore[misc]
    """The Arrow type of a column of cells."""

    def __init__(self) -> None:
        super().__init__(pa.large_binary(), "sfumato.cell")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: pa.DataType, _serialized: bytes) -> "CellType":
        return cls()


def cells_of(objects: Iterable[object]) -> pa.ExtensionArray:
    """A column of any Python objects."""
    return pa.ExtensionArray.from_storage(CellType(), pa.array(map(_pack, objects), pa.large_binary()))


def _pack(cell: object) -> bytes | None:
    kind, content = value_of(cell)
    if kind == Kind.NULL:
        return None
    if kind == Kind.TEXT:
        return b"%c%b" % (kind, content)
    return b"%c%b" % (kind, b"" if content is None else repr(content).encode())


def unpack(cell: bytes | None) -> Value:
    """The value of one cell."""
    if cell is None:
        return NULL
    kind, content = Kind(cell[0]), cell[1:]
    if kind == Kind.TEXT:
        return Value(kind, content)
    if kind == Kind.NUMBER:
        digits = content.decode()
        return Value(kind, int(digits) if digits.lstrip("-").isdigit() else float(digits))
    return Value(kind, int(content)) if kind in _DIGITS else OTHER
