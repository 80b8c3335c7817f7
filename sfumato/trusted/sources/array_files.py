"""Numpy files as streams: `.npz` holds an array for each column or run of columns, `.npy` all columns in one array.

An array of a run has a row for each record, of any shape whose numbers, in order, are the columns of the run. In `.npz`
it has the name of the run up to its braces, `pixel` or `pixel_` for `pixel_{0..783}`; any other column has its own.
"""

import math
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.trusted.encoding.header import check_storage, header_of_arrow
from sfumato.trusted.schema import Column, Schema
from sfumato.trusted.sources.batches import Parts, StreamSource, rows_at_once
from sfumato.trusted.sources.sums import alone

SUFFIXES = (".npy", ".npz")
RUN_JOINTS = ("_", "-", ".", " ")  # between the name of a run and its numbers
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_KINDS = "biufU"  # truth, numbers, text; never objects, which could run code
_POINT = 4  # bytes of a character
_SURROGATES, _AFTER_SURROGATES = 0xD800, 0xE000
_UNREADABLE = (OSError, ValueError, LookupError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile)


@dataclass(frozen=True)
class _Stored:
    """An array in a file: its header, and how to read it."""

    path: Path
    member: str | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def width(self) -> int:
        return math.prod(self.shape[1:])

    def read(self) -> NDArray[Any]:
        """Records x columns; a `.npy` file is not held in memory."""
        if self.member is None:
            found: NDArray[Any] = npy.open_memmap(self.path, mode="r")
        else:
            with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
                found = npy.read_array(file, allow_pickle=False)
        return found.reshape(len(found), self.width)


def is_array_file(path: str | Path) -> bool:
    """Whether a path leads to one."""
    return Path(path).suffix.lower() in SUFFIXES and Path(path).is_file()


def header_shapes(path: Path) -> dict[str, tuple[pa.DataType, tuple[int, ...]]]:
    """The declared type of each array, and the shape of one record in it; how many there are is not told.

    Edge cases
        A type that no release takes counts as none. What holds no column is left out. The array of `.npy` has no name.
    """
    stored = {name: array for name, array in _headers(path).items() if array.shape and array.width}
    return {
        name: (pa.null() if _fault(array) else _arrow_type(array.dtype), array.shape[1:])
        for name, array in stored.items()
    }


def of_arrays(path: Path, schema: Schema) -> StreamSource:
    """The source of a `.npy` or `.npz` file. Only headers are read before a sum is asked for.

    Edge cases
        An array that is not there, has another width than its columns, another number of records than the others, or
        objects in it: `DataError`, before anything is spent.
    """
    stored = _headers(path)
    places = _places_in_one(stored, schema, path) if path.suffix.lower() == ".npy" else _places(stored, schema, path)
    if len({place[0].shape[0] for place in places.values()}) > 1:
        raise DataError(f"the arrays of {path} have different numbers of records; each needs a row for every record")
    types = {name: _arrow_type(place[0].dtype) for name, place in places.items()}
    check_storage(types, schema, str(path))
    return StreamSource(header_of_arrow(pa.schema(list(types.items())), schema), schema, partial(_read, places))


def _arrow_type(dtype: np.dtype[Any]) -> pa.DataType:
    return pa.string() if dtype.kind == "U" else pa.from_numpy_dtype(dtype)


def _headers(path: Path) -> dict[str, _Stored]:
    try:
        if path.suffix.lower() == ".npy":
            with path.open("rb") as file:
                return {"": _header(path, None, file)}
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if name.endswith(".npy")]
            found = {}
            for member in members:
                with archive.open(member) as file:
                    found[member.removesuffix(".npy")] = _header(path, member, file)
            return found
    except _UNREADABLE as error:
        raise DataError(f"{path} cannot be read as a numpy file ({type(error).__name__}); check the file") from None


def _header(path: Path, member: str | None, file: Any) -> _Stored:
    shape, _, dtype = _HEADERS[npy.read_magic(file)](file)
    return _Stored(path, member, shape, dtype)


def _places(stored: dict[str, _Stored], schema: Schema, path: Path) -> dict[str, tuple[_Stored, int]]:
    """The array of each column, and which of its columns it is."""
    places: dict[str, tuple[_Stored, int]] = {}
    for column in schema.columns:
        array = next((stored[name] for name in _names_of(column) if name in stored), None)
        if array is None:
            raise DataError(f"{path} has no array {_names_of(column)[-1]!r}; name one so, or correct the schema")
        _check(array, len(column.names), column.name, path)
        places |= {name: (array, j) for j, name in enumerate(column.names)}
    if schema.unit:
        places[schema.unit.column] = _of_persons(stored, schema.unit.column, path), 0
    return places


def _of_persons(stored: dict[str, _Stored], name: str, path: Path) -> _Stored:
    if name not in stored:
        raise DataError(f"{path} has no array {name!r}, which says whose record it is; save one, or correct the schema")
    _check(stored[name], 1, name, path)
    return stored[name]


def _places_in_one(stored: dict[str, _Stored], schema: Schema, path: Path) -> dict[str, tuple[_Stored, int]]:
    if schema.unit:
        raise DataError(f"{path} holds one array and cannot say whose record it is; save the arrays as .npz")
    _check(stored[""], len(schema.by_name), "the schema", path)
    return {name: (stored[""], j) for j, name in enumerate(schema.by_name)}


def _fault(array: _Stored) -> str | None:
    """Why no release takes the array, and the cure."""
    if array.dtype.kind not in _KINDS or not array.shape:
        return "other things than numbers, truth or text; save plain arrays"
    if not array.dtype.isnative or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        return "numbers of another byte order or of more than 64 bits; save them as float64"
    return None


def _check(array: _Stored, columns: int, of: str, path: Path) -> None:
    if fault := _fault(array):
        raise DataError(f"{path} holds {fault}")
    if array.width != columns:
        raise DataError(
            f"an array of {path} has {array.width} columns, and {of!r} has {columns}; correct the schema or the array"
        )


def _names_of(column: Column) -> list[str]:
    """What the array of a column or of a run may be called."""
    stem, brace, _ = column.name.partition("{")
    return [column.name, stem, stem.rstrip("".join(RUN_JOINTS))] if brace else [column.name]


def _read(places: dict[str, tuple[_Stored, int]], names: tuple[str, ...]) -> Parts:
    return alone(_batches(places, names))


def _batches(places: dict[str, tuple[_Stored, int]], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    arrays = {id(array): array.read() for array, _ in (places[name] for name in names)}
    records = len(next(iter(arrays.values()))) if arrays else 0
    rows = rows_at_once(len(names))
    for start in range(0, records, rows):
        parts = {key: np.ascontiguousarray(array[start : start + rows].T) for key, array in arrays.items()}
        columns = [_column(parts[id(places[name][0])][places[name][1]]) for name in names]
        yield pa.RecordBatch.from_arrays(columns, list(names))


def _column(values: NDArray[Any]) -> pa.Array:
    return _texts(values) if values.dtype.kind == "U" else pa.array(values)


def _texts(values: NDArray[np.str_]) -> pa.LargeBinaryArray:
    """Each text in UTF-8 up to the nulls at its end. Arrow would stop at its first, and fail where it is no text."""
    points = np.ndarray((len(values), values.dtype.itemsize // _POINT), np.uint32, values.tobytes())
    beyond = (points >= _SURROGATES) & ((points < _AFTER_SURROGATES) | (points > sys.maxunicode))
    strange = beyond.any(axis=1)
    texts = [text.encode() for text in np.where(strange, "", values).tolist()]
    for place in np.flatnonzero(strange):
        texts[place] = _encoded(points[place])
    return pa.array(texts, pa.large_binary())


def _encoded(points: NDArray[np.uint32]) -> bytes:
    """The code points of one text. Those that no text can hold stay apart, and are no text in UTF-8 either."""
    return b"".join(map(_encoded_point, np.trim_zeros(points, "b").tolist()))


def _encoded_point(point: int) -> bytes:
    if point > sys.maxunicode:
        return b"\xff" + point.to_bytes(_POINT)
    return chr(point).encode("utf-8", "surrogatepass")
