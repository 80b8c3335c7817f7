"""`X` and `y` as the table that a schema describes.

Frames stay what they are. The columns of an array are the features of the schema, in its order, and each cell becomes
what the column's type asks for, by itself: no row has a say in how another is read.
"""
# ruff: noqa: N803 - X is scikit-learn's name for it

import math
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.trusted.encoding.frames import kind_of, names_of
from sfumato.trusted.schema import Column, Schema, text_of

_NULLS = ("NAType", "NaTType")  # of pandas, which need not be installed


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


def with_column(frame: Any, name: str, values: Any) -> Any:
    """A frame with a column more, row by row as it stands, whatever its index says."""
    if len(values) != len(frame):
        raise ValueError("X and y have different numbers of rows; give one value of y for each row of X")
    match kind_of(frame):
        case "arrow":
            return frame.append_column(name, pa.array(values, from_pandas=True))
        case "polars":
            return frame.with_columns(sys.modules["polars"].Series(name, values))
    return frame.assign(**{name: getattr(values, "array", values)})


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
    """The cells of an array for a column of this type; what cannot be read as a number is missing."""
    if values.dtype.kind in "biuf":
        if column.type in ("date", "datetime"):
            raise ValueError(f"column {column.name!r} is of type {column.type}, and X holds numbers; give a frame")
        return pa.array(values.astype(np.float64), from_pandas=True)
    if values.dtype.kind == "M":
        return pa.array(values.astype("datetime64[us]"))
    if column.type in ("integer", "number"):
        return pa.array(np.array([_number(cell) for cell in values], dtype=np.float64), from_pandas=True)
    return pa.array([_text(cell) for cell in values], pa.string())


def target_as_arrow(y: Any, column: Column) -> pa.Array:
    """The labels of an array for the target's column."""
    return column_of_array(np.asarray(y), column)


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _text(cell: Any) -> str | None:
    """A cell as text, the same for 3 and 3.0; None for what stands for nothing."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if cell is None or type(cell).__name__ in _NULLS or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)
    return text_of(cell)
