"""`X` and `y` as the table that a schema describes.

Frames stay what they are. The columns of an array are the features of the schema, in its order, and each cell becomes
what the column's type asks for, by itself: no row has a say in how another is read.
"""
# ruff: noqa: N803 - X is scikit-learn's name for it

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.trusted.encoding import CategoricalCodec, codes_of
from sfumato.trusted.encoding.frames import kind_of, names_of
from sfumato.trusted.schema import Column, Schema

_NULLS = ("NAType", "NaTType")  # of pandas, which need not be installed
_UNLISTED = -1


def is_frame(X: object) -> bool:
    """Whether it is an Arrow table, a pandas or a polars frame."""
    return kind_of(X) is not None


def select(frame: Any, names: list[str]) -> Any:
    """Some columns of a frame, as the same kind of frame."""
    if kind_of(frame) in ("arrow", "polars"):
        return frame.select(names)
    wanted = set(names)
    return frame.iloc[:, [place for place, name in enumerate(names_of(frame)) if name in wanted]]


def features_of(frame: Any, schema: Schema) -> Any:
    """A frame without the target and without the column that tells persons apart."""
    apart = {schema.target, schema.unit.column if schema.unit else None}
    return select(frame, [name for name in names_of(frame) if name not in apart])


def with_column(frame: Any, name: str, values: Any, column: Column) -> Any:
    """A frame with a column more, row by row as it stands, whatever its index says.

    A column of the frame's own library stays what it is; anything else is read cell by cell, as an array is.
    """
    if len(values) != len(frame):
        raise ValueError("X and y have different numbers of rows; give one value of y for each row of X")
    kind, library = kind_of(frame), type(values).__module__.partition(".")[0]
    own = library == {"arrow": "pyarrow"}.get(str(kind), str(kind))
    read = values if own else column_of_array(np.asarray(values), column)
    match kind:
        case "arrow":
            return frame.append_column(name, read)
        case "polars":
            return frame.with_columns(sys.modules["polars"].Series(name, read))
    return frame.assign(**{name: read.array if own else read.to_pandas().array})


def table_of_array(X: NDArray[Any], schema: Schema) -> pa.Table:
    """An array with one column for each feature of the schema.

    Raises `ValueError` where it has more or fewer, or cannot hold a column's type.
    """
    names = schema.features
    if X.shape[1] != len(names):
        raise ValueError(
            f"X has {X.shape[1]} features, but the schema of {schema.name!r} has {len(names)} columns besides the "
            "target; give an array with these columns in the schema's order, or a frame"
        )
    if schema.unit:
        raise ValueError(
            f"an array cannot hold column {schema.unit.column!r}, which tells persons apart; give a frame with it"
        )
    return pa.table({name: column_of_array(X[:, place], schema[name]) for place, name in enumerate(names)})


def column_of_array(values: NDArray[Any], column: Column) -> pa.Array:
    """The cells of an array for a column of this type, each read by itself; what cannot be read is missing.

    Numbers and truth values come as float64, listed values as their text: the type depends on the column alone.
    Raises `ValueError` for a column of dates, whatever the cells hold.
    """
    if column.type in ("date", "datetime"):
        raise ValueError(f"column {column.name!r} is of type {column.type}, which an array cannot hold; give a frame")
    if column.type in ("integer", "number"):
        numbers = values.astype(np.float64) if values.dtype.kind in "biuf" else _each(values, _number)
        return pa.array(numbers, pa.float64(), from_pandas=True)
    codes = codes_of(column)
    assert isinstance(codes, CategoricalCodec)  # noqa: S101 - for the type checker: the other types are above
    written = (0.0, 1.0) if codes.truth else codes.texts
    unlisted = written[codes.otherwise] if codes.otherwise < len(written) else None

    def read(cell: Any) -> Any:
        found = _code(plain_cell(cell), codes)
        return None if found is None else unlisted if found == _UNLISTED else written[found]

    return pa.array(_each(values, read), pa.float64() if codes.truth else pa.string())


def plain_cell(cell: Any) -> float | str | None:
    """What a cell says, whatever its neighbours made of it.

    An array has one type for all of its cells: beside a text, numpy writes True as 'True' and 1.0 as '1.0', and beside
    a float 1 is 1.0. So truth values are 1 and 0, integers are floats, and text that numpy would write for one of
    these is that number. Other text, such as '01', is itself.
    """
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return str(cell)
    cell = cell.item() if isinstance(cell, np.generic) else cell
    cell = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
    if isinstance(cell, str):
        number = _as_numpy_writes(cell)
        return cell if number is None else _unless_nan(number)
    if isinstance(cell, complex) and cell.imag == 0:
        cell = cell.real
    if isinstance(cell, bool | int | float):
        return _unless_nan(_float(cell))
    return cell.isoformat() if hasattr(cell, "isoformat") and type(cell).__name__ not in _NULLS else None


def _each(values: NDArray[Any], read: Callable[[Any], Any]) -> list[Any]:
    """Every cell read; those that are alike once."""
    if values.dtype.kind in "biuf":
        distinct, where = np.unique(values.astype(np.float64), return_inverse=True)
        return np.array([read(cell) for cell in distinct], dtype=object)[where].tolist() if len(distinct) else []
    return [read(cell) for cell in values]


def _number(cell: Any) -> float | None:
    found = plain_cell(cell)
    return found if isinstance(found, float) else None


def _code(cell: float | str | None, codes: CategoricalCodec) -> int | None:
    """The place of a cell in the list, `_UNLISTED`, or None for null.

    A number may be listed as text, 1 or 1.0, and so may a truth value.
    """
    if cell is None:
        return None
    ways = [cell, repr(cell), *(["True"] if cell == 1 else ["False"] if cell == 0 else [])]
    found = (codes.code_of(way) for way in (ways if isinstance(cell, float) else [cell]))
    return next((code for code in found if code is not None), _UNLISTED)


def _unless_nan(number: float) -> float | None:
    return None if math.isnan(number) else number


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _as_numpy_writes(text: str) -> float | None:
    """The number or truth value that numpy writes in this way; None where there is none."""
    if text in ("True", "False"):
        return float(text == "True")
    try:
        number = float(text)
        return number if text == repr(number) or text == str(int(text)) else None
    except (ValueError, OverflowError):
        return None
