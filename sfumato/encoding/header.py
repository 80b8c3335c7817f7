"""The header of the private table: which columns it has, in which order and type. Public, and kept with a release.

It lets a sample come back as the table went in. Only declared types are kept. A type that names values of the rows (the
categories of a pandas column) keeps its kind alone; the values are the schema's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from sfumato.encoding.reading import family
from sfumato.errors import DataError
from sfumato.schema import Schema
from sfumato.schema_errors import did_you_mean

Frame = Literal["arrow", "pandas", "polars"]

_READABLE = {
    "integer": {"nothing", "number", "boolean", "text"},
    "number": {"nothing", "number", "boolean", "text"},
    "category": {"nothing", "number", "boolean", "text", "day"},
    "boolean": {"nothing", "number", "boolean", "text"},
    "date": {"nothing", "day", "moment", "text"},
    "datetime": {"nothing", "day", "moment", "text"},
}


@dataclass(frozen=True)
class Header:
    """The columns of a table that a schema names, in the table's order, each with its declared type as text."""

    frame: Frame
    types: Mapping[str, str]


def header_of_arrow(storage: pa.Schema, schema: Schema) -> Header:
    """The header of an Arrow schema: types only, none of its metadata."""
    return Header("arrow", {name: str(storage.field(name).type) for name in storage.names if name in schema.by_name})


def check_columns(names: Sequence[str], schema: Schema, where: str) -> None:
    """Refuse a table that lacks a column of the schema, or has one twice. The header is public, so it may be named."""
    for name in schema.by_name:
        if name not in names:
            raise DataError(
                f"{where} has no column {name!r}{did_you_mean(name, names)}; correct the schema or the table"
            )
        if list(names).count(name) > 1:
            raise DataError(f"{where} has more than one column {name!r}; name each once")


def check_storage(storage: Mapping[str, pa.DataType], schema: Schema, where: str) -> None:
    """Refuse a column whose declared type cannot hold what the schema says, such as a list or a duration."""
    for name, column in schema.by_name.items():
        if family(storage[name]) not in _READABLE[column.type]:
            raise DataError(
                f"{where} stores column {name!r} as {storage[name]}, which cannot be read as {column.type}; "
                "change its type in the schema or in the table"
            )
