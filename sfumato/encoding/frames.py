"""Data frames of any kind as Arrow tables, by declared types alone: no mixture of values in a column can fail."""

import sys
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from sfumato.encoding.header import (
    Frame,
    Header,
    check_columns,
    chosen_in_pandas,
    chosen_in_polars,
    header_of_arrow,
)
from sfumato.encoding.objects import id_of_object, text_of_object
from sfumato.errors import DataError
from sfumato.schema import Schema

_NOT_PLAIN = ("complex", "period", "interval", "Sparse", "timedelta", "Object", "Duration")


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
    for name in schema.read:
        if str(declared[name]).startswith(_NOT_PLAIN):
            raise DataError(f"the table stores column {name!r} as {declared[name]}; cast it to a plain type")
    chosen = chosen_in_pandas if kind == "pandas" else chosen_in_polars
    return Header(kind or "arrow", {name: chosen(dtype) for name, dtype in declared.items() if name in schema.by_name})


def empty(data: Any) -> Any:
    """The frame without its rows."""
    return data.iloc[:0] if kind_of(data) == "pandas" else data[:0]


def to_arrow(data: Any, names: list[str], person: str | None = None) -> pa.Table:
    """The named columns of a frame; `person` is the one that says whose record it is, and loses no digit."""
    match kind_of(data):
        case "arrow":
            table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
            return table.select(names)
        case "polars":
            return _within_64_bits(data.select(names), person).to_arrow()
    places = {name: place for place, name in enumerate(names_of(data))}
    return pa.table({name: _arrow_of_series(data.iloc[:, places[name]], name == person) for name in names})


def _within_64_bits(frame: Any, person: str | None) -> Any:
    """Arrow has no integers of 128 bits; whatever needs them lies outside all bounds, where floats do as well."""
    polars = sys.modules["polars"]
    wide = [name for name, dtype in frame.schema.items() if str(dtype) in ("Int128", "UInt128")]
    return frame.with_columns(
        [polars.col(name).cast(polars.String if name == person else polars.Float64) for name in wide]
    )


def _arrow_of_series(series: Any, of_person: bool) -> pa.Array:
    if str(series.dtype) == "category":
        places = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(
            pa.array(places, mask=places < 0), _arrow_of_objects(series.cat.categories, of_person)
        )
    if series.dtype == object or getattr(series.dtype, "storage", "") == "python":
        return _arrow_of_objects(series, of_person)
    return pa.array(series, from_pandas=True)


def _arrow_of_objects(values: Iterable[object], of_person: bool) -> pa.Array:
    if of_person:
        return pa.array(map(id_of_object, values), pa.large_binary())
    return pa.array(map(text_of_object, values), pa.large_string())
