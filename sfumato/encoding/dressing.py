"""A table of plain Arrow types as the table that went in: its kind of frame, its column order, its types."""

import importlib
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.encoding.header import Frame, Header
from sfumato.errors import RequestError
from sfumato.schema import CategoryColumn, Schema


def dress(table: pa.Table, header: Header, schema: Schema, frame: Frame | None = None) -> Any:
    """The table in the header's column order; in its types, too, unless another kind of frame is asked for.

    Edge cases
        A column that the header does not know (probabilities, say) stands last, as it is. A value that the wanted type
        cannot hold leaves the column in its plain type.
    """
    frame = frame or header.frame
    known = [name for name in header.types if name in table.column_names]
    table = table.select(known + [name for name in table.column_names if name not in known])
    wanted = {name: header.types[name] for name in known} if frame == header.frame else {}
    match frame:
        case "arrow":
            return _dress_arrow(table, schema, wanted)
        case "pandas":
            return _dress_pandas(table, schema, wanted)
        case "polars":
            return _dress_polars(table, schema, wanted)
    raise RequestError(f"frame is {frame!r}; use arrow, pandas or polars")


def _dress_arrow(table: pa.Table, schema: Schema, types: Mapping[str, str]) -> pa.Table:
    for name, text in types.items():
        try:
            column = _cast_arrow(table.column(name), _arrow_type(text), schema, name)
        except (pa.ArrowException, ValueError):
            continue
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _cast_arrow(column: pa.ChunkedArray, wanted: pa.DataType, schema: Schema, name: str) -> pa.ChunkedArray:
    if pa.types.is_null(wanted):
        return column
    if not pa.types.is_dictionary(wanted):
        return pc.cast(column, wanted, safe=False)
    listed = schema[name]
    values = (
        pa.array(listed.values, column.type) if isinstance(listed, CategoryColumn) else pc.unique(column).drop_null()
    )
    places = pc.index_in(column, values).cast(wanted.index_type)
    parts = [
        pa.DictionaryArray.from_arrays(part, values.cast(wanted.value_type), ordered=wanted.ordered)
        for part in places.chunks
    ]
    return pa.chunked_array(parts, type=wanted)


def _arrow_type(text: str) -> pa.DataType:
    """The Arrow type that `str` wrote."""
    if stamp := re.fullmatch(r"timestamp\[(s|ms|us|ns)(?:, tz=(.+))?\]", text):
        return pa.timestamp(stamp[1], stamp[2])
    if number := re.fullmatch(r"decimal(128|256)\((\d+), (\d+)\)", text):
        return getattr(pa, f"decimal{number[1]}")(int(number[2]), int(number[3]))
    if listed := re.fullmatch(r"dictionary<values=(.+), indices=(\w+), ordered=([01])>", text):
        return pa.dictionary(_arrow_type(listed[2]), _arrow_type(listed[1]), listed[3] == "1")
    return pa.type_for_alias(text)


def _dress_pandas(table: pa.Table, schema: Schema, types: Mapping[str, str]) -> Any:
    pandas = _library("pandas")
    frame = table.to_pandas(date_as_object=True)
    for name, text in types.items():
        column = schema[name]
        if text.startswith("category") and isinstance(column, CategoryColumn):
            values = list(column.values)
            frame[name] = pandas.Categorical(frame[name], categories=values, ordered=text.endswith("ordered"))
        else:
            try:
                frame[name] = _as_dtype(frame[name], _nullable(text) if column.missing else text)
            except (ValueError, TypeError):
                continue
    return frame


def _as_dtype(series: Any, dtype: str) -> Any:
    """Moments are kept in universal time; a zone is a way to show them."""
    if dtype.startswith("datetime64") and "," in dtype:
        series = series.dt.tz_localize("UTC")
    return series.astype(dtype)


def _nullable(dtype: str) -> str:
    """int64 and bool cannot hold a null; pandas has Int64 and boolean for that."""
    return {"bool": "boolean"}.get(dtype, re.sub(r"^(u?)int", lambda kind: kind[1].upper() + "Int", dtype))


def _dress_polars(table: pa.Table, schema: Schema, types: Mapping[str, str]) -> Any:
    polars = _library("polars")
    frame = polars.from_arrow(table)
    for name, text in types.items():
        column, source = schema[name], polars.col(name)
        if text == "Enum" and isinstance(column, CategoryColumn):
            source, wanted = source.cast(polars.String), polars.Enum([str(value) for value in column.values])
        elif text == "Categorical":
            source, wanted = source.cast(polars.String), polars.Categorical
        else:
            wanted = _polars_type(polars, text)
        try:
            frame = frame.with_columns(source.cast(wanted))
        except polars.exceptions.PolarsError:
            continue
    return frame


def _polars_type(polars: Any, text: str) -> Any:
    """The polars type that `str` wrote; an unknown one stays text."""
    if stamp := re.fullmatch(r"Datetime\(time_unit='(\w+)', time_zone=(?:None|'(.+)')\)", text):
        return polars.Datetime(stamp[1], stamp[2])
    if number := re.fullmatch(r"Decimal\(precision=(\d+), scale=(\d+)\)", text):
        return polars.Decimal(int(number[1]), int(number[2]))
    named = getattr(polars, text, None)
    return named if isinstance(named, type) and issubclass(named, polars.DataType) else polars.String


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise RequestError(f"{name} is not installed; install it, or ask for frame='arrow'") from None
