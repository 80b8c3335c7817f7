"""Data frames of any kind as Arrow tables, by declared types alone: no mixture of values in a column can fail."""

import datetime as dt
import decimal
import re
import sys
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.encoding.header import Frame, Header, check_columns, header_of_arrow
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
    match kind_of(data):
        case "arrow":
            return header_of_arrow(data.schema, schema)
        case "pandas":
            dtypes = dict(zip(names_of(data), data.dtypes, strict=True))
        case _:
            dtypes = dict(data.schema)
    types = {name: _declared(dtype) for name, dtype in dtypes.items() if name in schema.by_name}
    for name, text in types.items():
        if text.startswith(("complex", "period", "interval", "Sparse", "timedelta", "Object")):
            raise DataError(f"the table stores column {name!r} as {text}; cast it to a plain type")
    return Header("pandas" if kind_of(data) == "pandas" else "polars", types)


def _declared(dtype: Any) -> str:
    """The type's name; of a list of categories only the kind, because the list may have been read off the rows."""
    if str(dtype) == "category":
        return "category, ordered" if dtype.ordered else "category"
    return re.sub(r"\((categories|ordering).*", "", str(dtype))


def to_arrow(data: Any, names: list[str]) -> pa.Table:
    """The named columns of a frame."""
    match kind_of(data):
        case "arrow":
            table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
            return table.select(names)
        case "polars":
            return data.select(names).to_arrow()
    places = {name: place for place, name in enumerate(names_of(data))}
    return pa.table({name: _arrow_of_series(data.iloc[:, places[name]]) for name in names})


def _arrow_of_series(series: Any) -> pa.Array:
    if str(series.dtype) == "category":
        places = series.cat.codes.to_numpy()
        values = pa.array([_text(value) for value in series.cat.categories], pa.large_string())
        return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), values)
    if series.dtype == object or getattr(series.dtype, "storage", "") == "python":
        return pa.array([_text(value) for value in series], pa.large_string())
    return pa.array(series, from_pandas=True)


def _text(value: object) -> str | None:
    """A Python object as text that encoding can read; None for a null.

    An object of another kind is not even asked for `str`.
    """
    match value:
        case None:
            return None
        case str():
            return value.encode(errors="replace").decode()
        case bytes():
            return value.decode(errors="replace")
        case bool() | np.bool_():
            return "true" if value else "false"
        case int() | np.integer():
            return str(min(max(int(value), -_OUT_OF_REACH), _OUT_OF_REACH))
        case decimal.Decimal():
            return None if value.is_nan() else _text_of_float(float(value))
        case float() | np.floating():
            return _text_of_float(float(value))
        case dt.date() | dt.time():
            return None if value != value else value.isoformat()
    return ""


def _text_of_float(value: float) -> str | None:
    if np.isnan(value):
        return None
    return str(int(value)) if value.is_integer() and abs(value) < _OUT_OF_REACH else str(value)
