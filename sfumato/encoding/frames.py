"""Data frames of any kind as Arrow tables, by declared types alone: no mixture of values in a column can fail."""

import datetime as dt
import decimal
import sys
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.encoding.header import (
    Frame,
    Header,
    check_columns,
    chosen_in_pandas,
    chosen_in_polars,
    header_of_arrow,
)
from sfumato.errors import DataError
from sfumato.schema import Schema

_OUT_OF_REACH = 10**19  # every whole number beyond is clamped like this one; Python refuses to print the longest


def kind_of(data: object) -> Frame | None:
    """Whether it is an Arrow table, a pandas or a polars frame; the libraries need not be installed."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return "arrow"
    if _is("pandas", data):
        return "pandas"
    return "polars" if _is("polars", data) else None


def _is(library: str, data: object) -> bool:
    module = sys.modules.get(library)
    return module is not None and isinstance(data, module.DataFrame)


def names_of(data: Any) -> list[str]:
    """The column names of a frame."""
    return data.schema.names if kind_of(data) == "arrow" else [str(name) for name in data.columns]


def header_of(data: Any, schema: Schema) -> Header:
    """The header of a frame that has every column of the schema."""
    check_columns(names_of(data), schema, "the table")
    kind = kind_of(data)
    if kind == "arrow":
        return header_of_arrow(data.schema, schema)
    declared = dict(zip(names_of(data), data.dtypes, strict=True))
    named = {name: dtype for name, dtype in declared.items() if name in schema.by_name}
    for name, dtype in named.items():
        if str(dtype).startswith(("complex", "period", "interval", "Sparse", "timedelta", "Object", "Duration")):
            raise DataError(f"the table stores column {name!r} as {dtype}; cast it to a plain type")
    chosen = chosen_in_pandas if kind == "pandas" else chosen_in_polars
    return Header(kind or "arrow", {name: chosen(dtype) for name, dtype in named.items()})


def empty(data: Any) -> Any:
    """The frame without its rows."""
    return data.iloc[:0] if kind_of(data) == "pandas" else data[:0]


def to_arrow(data: Any, names: list[str]) -> pa.Table:
    """The named columns of a frame."""
    match kind_of(data):
        case "arrow":
            table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
            return table.select(names)
        case "polars":
            return _within_64_bits(data.select(names)).to_arrow()
    places = {name: place for place, name in enumerate(names_of(data))}
    return pa.table({name: _arrow_of_series(data.iloc[:, places[name]]) for name in names})


def _within_64_bits(frame: Any) -> Any:
    """Arrow has no integers of 128 bits; whatever needs them lies outside all bounds, where floats do as well."""
    polars = sys.modules["polars"]
    wide = [name for name, dtype in frame.schema.items() if str(dtype) in ("Int128", "UInt128")]
    return frame.with_columns([polars.col(name).cast(polars.Float64) for name in wide])


def _arrow_of_series(series: Any) -> pa.Array:
    if str(series.dtype) == "category":
        places = series.cat.codes.to_numpy()
        values = pa.array([text_of_object(value) for value in series.cat.categories], pa.large_string())
        return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), values)
    if series.dtype == object or getattr(series.dtype, "storage", "") == "python":
        return pa.array([text_of_object(value) for value in series], pa.large_string())
    return pa.array(series, from_pandas=True)


def text_of_object(value: object) -> str | None:
    """A Python object as text that encoding can read; None for a null.

    An object of another kind says nothing: it is not even asked for its `str`.
    """
    if value is None or _is_missing(value):
        return None
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case bytes():
            return value.decode(errors="replace")
        case bool() | np.bool_():
            return "true" if value else "false"
        case int() | np.integer():
            return str(min(max(int(value), -_OUT_OF_REACH), _OUT_OF_REACH))
        case float() | np.floating() | decimal.Decimal():
            number = float(value)
            return str(int(number)) if number.is_integer() and abs(number) < _OUT_OF_REACH else str(number)
        case dt.date() | dt.time():
            return _iso(value)
    return ""


def _is_missing(value: object) -> bool:
    """NaN, NaT and the missing value of pandas."""
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")


def _iso(value: dt.date | dt.time) -> str:
    try:
        return value.isoformat()
    except Exception:  # noqa: BLE001 - a time zone may be any code; what it raises is no business of ours
        return ""
