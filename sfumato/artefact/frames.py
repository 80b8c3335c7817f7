"""From codes to a table as it went in: values, then the kind of frame, the column order and the chosen types."""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import RequestError
from sfumato.trusted.arrays import CodeArray
from sfumato.trusted.encoding import Batch, CategoricalCodec, Codes
from sfumato.trusted.encoding.code_arrays import Limits
from sfumato.trusted.encoding.codes import listed_values
from sfumato.trusted.encoding.header import POLARS_NAMES, FrameKind, Header
from sfumato.trusted.schema import BooleanColumn, Column, Schema
from sfumato.trusted.schema.constraints import Key


def decode(
    batch: Batch,
    columns: Mapping[str, Codes],
    rng: np.random.Generator,
    limits: Mapping[str, Limits] = MappingProxyType({}),
    dictionaries: bool = False,
) -> pa.Table:
    """Records as a table in the plain type of each column; listed texts as Arrow dictionaries where these are asked.

    A code of several integers, days or seconds gives one of them at random, that of a number its roundest; within the
    limits of the column if it has any.
    """

    nothing = np.zeros(0)  # is at random inside of a listed value

    def written(name: str, codes: CodeArray) -> pa.Array:
        own = columns[name]
        if isinstance(own, CategoricalCodec):
            return own.refer(codes) if dictionaries and isinstance(own.plain[0], str) else own.decode(codes, nothing)
        return own.decode(codes, rng.random(batch.rows), limits.get(name, (None, None)))

    return pa.table({name: written(name, codes) for name, codes in batch.codes.items()})


def to_frame(table: pa.Table, header: Header, schema: Schema, frame: FrameKind | None = None) -> Any:
    """The table in the header's column order; in its chosen types, too, unless another kind of frame is asked for.

    Edge cases
        A column that the header does not know (probabilities, say) stands last, as it is; one of fresh ids first. A
        type that cannot hold every value that the schema allows is not used: the column keeps the schema's plain type.
    """
    frame = frame or header.frame
    there = set(table.column_names)
    known = [name for name in header.types if name in there and name in schema.by_name]
    keys = [one.key for one in schema.constraints if isinstance(one, Key) and one.key in there]
    named = [*keys, *known]
    table = table.select(named + [name for name in table.column_names if name not in set(named)])
    chosen = {name: header.types[name] if frame == header.frame else "" for name in known}
    match frame:
        case "arrow":
            return _dress_arrow(table, schema, chosen)
        case "pandas":
            return _dress_pandas(table, schema, chosen)
        case "polars":
            return _dress_polars(table, schema, chosen)
    raise RequestError(f"output is {frame!r}; use arrow, pandas or polars")


def number_type(column: Column, chosen: str) -> str:
    """The numpy type for a column of numbers: the chosen one if it holds all that the schema allows; "" for others."""
    values: tuple[Any, ...] = getattr(column, "listed", None) or getattr(column, "bounds", None) or ("no number",)
    if not all(isinstance(value, int | float) for value in values):
        return ""
    if chosen.startswith(("int", "uint", "float")) and _holds(chosen, values):
        return chosen
    return "float64" if any(isinstance(value, float) for value in values) else "int64"


def _holds(name: str, values: tuple[float, ...]) -> bool:
    limits = np.finfo(name) if name.startswith("float") else np.iinfo(name)
    return all(float(limits.min) <= value <= float(limits.max) for value in values)


def is_category(column: Column, chosen: str) -> bool:
    """Whether this chosen type makes a column one of categories."""
    return bool(getattr(column, "listed", ())) and ("category" in chosen or chosen == "enum")


def _zone(column: Column, chosen: str) -> str | None:
    return chosen.removeprefix("zone ") if column.type == "datetime" and chosen.startswith("zone ") else None


def _dress_arrow(table: pa.Table, schema: Schema, chosen: Mapping[str, str]) -> pa.Table:
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, text in chosen.items():
        columns[name] = _as_arrow(columns[name], schema[name], text)
    return pa.table(columns)


def _as_arrow(array: pa.ChunkedArray, column: Column, chosen: str) -> pa.ChunkedArray:
    if is_category(column, chosen):
        values, ordered = pa.array(listed_values(column)), chosen.startswith("ordered")
        referred = pa.types.is_dictionary(array.type)
        places = [part.indices for part in array.chunks] if referred else pc.index_in(array, values).chunks
        parts = [pa.DictionaryArray.from_arrays(part, values, ordered=ordered) for part in places]
        return pa.chunked_array(parts, type=pa.dictionary(pa.int32(), values.type, ordered))
    if column.type == "datetime":
        return pc.cast(array, pa.timestamp("us", _zone(column, chosen)))
    if number := number_type(column, chosen):
        rounded = pc.round(array) if "int" in number and pa.types.is_floating(array.type) else array
        return pc.cast(rounded, pa.from_numpy_dtype(number), safe=False)
    return array


def _dress_pandas(table: pa.Table, schema: Schema, chosen: Mapping[str, str]) -> Any:
    pandas = _library("pandas")
    columns = {
        name: _as_pandas(pandas, series, schema[name], chosen[name]) if name in chosen else series
        for name, series in table.to_pandas().items()
    }
    return pandas.DataFrame(columns)


def _as_pandas(pandas: Any, series: Any, column: Column, chosen: str) -> Any:
    if is_category(column, chosen):
        values, ordered = list(listed_values(column)), chosen.startswith("ordered")
        return pandas.Series(pandas.Categorical(series, categories=values, ordered=ordered))
    if column.type in ("date", "datetime"):
        moments, zone = pandas.to_datetime(series).astype("datetime64[us]"), _zone(column, chosen)
        return moments.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else moments
    if isinstance(column, BooleanColumn) and column.words is None:
        return series.astype("boolean" if column.missing else "bool")
    if number := number_type(column, chosen):
        rounded = series.round() if "int" in number and column.type == "number" else series
        return rounded.astype(_nullable(number) if column.missing and "int" in number else number)
    return series


def _nullable(number: str) -> str:
    """The pandas type of the same size that can hold a null: Int8 for int8, UInt8 for uint8."""
    return number.title().replace("Uint", "UInt")


def _dress_polars(table: pa.Table, schema: Schema, chosen: Mapping[str, str]) -> Any:
    polars = _library("polars")
    casts = [_as_polars(polars, polars.col(name), schema[name], text) for name, text in chosen.items()]
    return polars.from_arrow(table).with_columns(casts)


def _as_polars(polars: Any, source: Any, column: Column, chosen: str) -> Any:
    if is_category(column, chosen):
        texts = [str(value) for value in listed_values(column)]
        return source.cast(polars.String).cast(polars.Enum(texts) if chosen == "enum" else polars.Categorical)
    if column.type == "datetime":
        moments, zone = source.cast(polars.Datetime("us")), _zone(column, chosen)
        return moments.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else moments
    if number := number_type(column, chosen):
        rounded = source.round() if "int" in number and column.type == "number" else source
        return rounded.cast(getattr(polars, POLARS_NAMES.get(number, number.title())))
    return source


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise RequestError(f"{name} is not installed; install it, or ask for output='arrow'") from None
