"""Data frames of any kind as Arrow tables: no mixture of values in a column can fail."""

import sys
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.header import (
    FrameKind,
    Header,
    check_columns,
    chosen_in_pandas,
    chosen_in_polars,
    header_of_arrow,
)
from sfumato.trusted.encoding.objects import id_of_object
from sfumato.trusted.schema import Schema

_NUMPY_KINDS = "biuf"  # truth and numbers
_LARGEST_FLOAT = 8  # bytes
_PLAIN_IN_PANDAS = (  # extension types whose values are Arrow's own
    "BooleanDtype",
    *(f"{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    *(f"Float{bits}Dtype" for bits in (32, 64)),
    "ArrowDtype",
)
_PLAIN_IN_POLARS = (  # types whose columns Arrow takes as they are
    *("Null", "Boolean", "Decimal", "String", "Binary", "Categorical", "Enum", "Date", "Datetime", "Duration", "Time"),
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    *(f"Float{bits}" for bits in (16, 32, 64)),
)


def kind_of(data: object) -> FrameKind | None:
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


def header_of(data: Any, schema: Schema, declared: bool) -> Header:
    """The header of a frame that has every column of the schema.

    Its types are in it only if they are `declared`: else the rows may have decided them.
    """
    check_columns(names_of(data), schema, "the table")
    kind = kind_of(data) or "arrow"
    if not declared:
        return Header.of(kind, dict.fromkeys(names_of(data), ""), schema)
    if kind == "arrow":
        return header_of_arrow(data.schema, schema)
    chosen = {"pandas": chosen_in_pandas, "polars": chosen_in_polars}[kind]
    types = {name: chosen(dtype) for name, dtype in zip(names_of(data), data.dtypes, strict=True)}
    return Header.of(kind, types, schema)


def empty(data: Any) -> Any:
    """The frame without its rows."""
    return data.iloc[:0] if kind_of(data) == "pandas" else data[:0]


def to_arrow(data: Any, names: list[str], ids: Collection[str] = ()) -> pa.Table:
    """The named columns of a frame; those that are `ids` lose no digit."""
    match kind_of(data):
        case "arrow":
            table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
            return table.select(names)
        case "polars":
            return pa.table({name: _arrow_of_polars(data[name], name in ids) for name in names})
    places = {name: place for place, name in enumerate(names_of(data))}
    return pa.table({name: _arrow_of_pandas(data.iloc[:, places[name]], name in ids) for name in names})


def _arrow_of_polars(series: Any, is_id: bool) -> pa.Array:
    """Arrow has no integers of 128 bits, and no objects; it does not take every struct or list that holds some."""
    name = type(series.dtype).__name__
    if name == "Object":
        return _arrow_of_objects(series.to_list(), is_id)
    if name in ("Int128", "UInt128"):
        return series.cast(sys.modules["polars"].String).to_arrow()
    return series.to_arrow() if name in _PLAIN_IN_POLARS else _others(series.is_null().to_arrow())


def _others(null: pa.BooleanArray) -> pa.StructArray:
    """Values that are none of any column's, but for nulls."""
    return pa.StructArray.from_arrays([pa.nulls(len(null))], ["nested"], mask=null)


def _arrow_of_pandas(series: Any, is_id: bool) -> pa.Array:
    dtype = series.dtype
    if type(dtype).__name__ == "CategoricalDtype":
        index = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(
            pa.array(index, mask=index < 0), _arrow_of_objects(series.cat.categories, is_id)
        )
    if getattr(dtype, "tz", None) is not None:  # Arrow does not know every zone; the instant does not need it
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    return pa.array(series, from_pandas=True) if _is_plain(series.dtype) else _arrow_of_objects(series, is_id)


def _is_plain(dtype: Any) -> bool:
    """Whether Arrow takes every column of this pandas type as it is."""
    if isinstance(dtype, np.dtype):
        numeric = dtype.kind in _NUMPY_KINDS and dtype.itemsize <= _LARGEST_FLOAT
        return dtype.isnative and (numeric or dtype.kind == "M")
    name = type(dtype).__name__
    return name in _PLAIN_IN_PANDAS or (name == "StringDtype" and dtype.storage != "python")


def _arrow_of_objects(values: Any, is_id: bool) -> pa.Array:
    return pa.array(map(id_of_object, values), pa.large_binary()) if is_id else cells_of(values)
