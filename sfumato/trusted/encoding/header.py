"""The header of the private table: its columns, their order, and the types that a sample comes back in. Public.

Types are chosen, never observed: they come from the schema (`types:`), from storage whose types somebody declared
(Parquet, SQL, Arrow, Spark, numpy files), or from a frame whose owner says that its types are declared. A library that
infers types looks at rows (a null turns int64 into float64, a word turns it into text), so an inferred type would tell
of them. Of a declared type only what the schema leaves open is kept: the size of numbers, categories, time zones.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.trusted.encoding.persons import person_type_fits
from sfumato.trusted.encoding.reading import family
from sfumato.trusted.schema import STORED_TYPE, Schema

FrameKind = Literal["arrow", "pandas", "polars"]

TEXT = "text"
"""Of a key that ties tables: fresh keys are then numbers written as text. Of other columns it says nothing."""
POLARS_NAMES = {
    **{f"int{bits}": f"Int{bits}" for bits in (8, 16, 32)},
    **{f"uint{bits}": f"UInt{bits}" for bits in (8, 16, 32, 64)},
    "float32": "Float32",
    "enum": "Enum",
    "category": "Categorical",
}
_READABLE = {
    "integer": {"nothing", "number", "boolean", "text"},
    "number": {"nothing", "number", "boolean", "text"},
    "category": {"nothing", "number", "boolean", "text", "day", "cell"},
    "boolean": {"nothing", "number", "boolean", "text"},
    "date": {"nothing", "day", "moment", "text"},
    "datetime": {"nothing", "day", "moment", "text"},
}


@dataclass(frozen=True)
class Header:
    """The columns of a table that a schema names, in the table's order, each with its chosen type, or "" for none."""

    frame: FrameKind
    types: Mapping[str, str]

    def __post_init__(self) -> None:
        if self.frame not in get_args(FrameKind) or not all(map(_is_known, self.types.values())):
            raise ValueError("a header names a frame or a type that is not known")

    def __repr__(self) -> str:
        return f"<Header of {len(self.types)} columns; samples are {self.frame}>"

    @classmethod
    def of(cls, frame: FrameKind, declared: Mapping[str, str], schema: Schema) -> "Header":
        """The header of a table whose columns have these declared types; what the schema says of a type goes before."""
        of_columns = {name: "" if kind == TEXT else kind for name, kind in declared.items()}
        of_keys = {name: TEXT if declared.get(name) == TEXT else "" for name in schema.linking}
        chosen = {**of_columns, **schema.stored_types, **of_keys}
        kept = {*schema.by_name, *schema.linking}
        return cls(frame, {name: chosen[name] for name in declared if name in kept})


def chosen_in_arrow(storage: pa.DataType) -> str:
    """What was chosen about an Arrow type."""
    if pa.types.is_dictionary(storage):
        return "ordered category" if storage.ordered else "category"
    if pa.types.is_string(storage) or pa.types.is_large_string(storage) or pa.types.is_string_view(storage):
        return TEXT
    if pa.types.is_timestamp(storage) and storage.tz:
        return _if_known(f"zone {storage.tz}")
    return _if_known({"float": "float32", "halffloat": "float16"}.get(str(storage), str(storage)))


def chosen_in_pandas(dtype: Any) -> str:
    """What was chosen about a pandas type; of a list of categories only the kind, the list may come from the rows."""
    if str(dtype) == "category":
        return "ordered category" if dtype.ordered else "category"
    if getattr(dtype, "tz", None) is not None:
        return _if_known(f"zone {dtype.tz}")
    return TEXT if str(dtype) in ("string", "str") else _if_known(str(dtype).lower())


def chosen_in_polars(dtype: Any) -> str:
    """What was chosen about a polars type."""
    if getattr(dtype, "time_zone", None):
        return _if_known(f"zone {dtype.time_zone}")
    name = str(dtype).split("(")[0]
    if name in ("String", "Utf8"):
        return TEXT
    return next((ours for ours, theirs in POLARS_NAMES.items() if theirs == name), "")


def _if_known(text: str) -> str:
    return text if _is_known(text) else ""


def _is_known(text: object) -> bool:
    return isinstance(text, str) and (text in ("", TEXT) or STORED_TYPE.fullmatch(text) is not None)


def header_of_arrow(storage: pa.Schema, schema: Schema) -> Header:
    """The header of an Arrow schema, without its metadata."""
    return Header.of("arrow", {name: chosen_in_arrow(storage.field(name).type) for name in storage.names}, schema)


def check_columns(names: Sequence[str], schema: Schema, where: str) -> None:
    """Refuse a table that lacks a column of the schema, its ids among them, or has one twice.

    The table's own names are not quoted: if it has no header line, they are a record.
    """
    counts = Counter(names)
    for name in schema.read:
        if counts[name] == 0:
            raise DataError(f"{where} has no column {name!r}; correct the schema or the table's header")
        if counts[name] > 1:
            raise DataError(f"{where} has more than one column {name!r}; name each once")


def check_storage(storage: Mapping[str, pa.DataType], schema: Schema, where: str) -> None:
    """Refuse a column whose declared type cannot hold what the schema says, such as a list or a duration.

    `storage` has every column that the schema reads; others do no harm.
    """
    wanted = {name: column.type for name, column in schema.by_name.items()}
    for name, kind in (*wanted.items(), *([schema.order] if schema.order else [])):
        only_nulls = storage[name] == pa.float64()  # what pandas makes of a column without any value
        if family(storage[name]) not in _READABLE[kind] and not only_nulls:
            raise DataError(
                f"{where} stores column {name!r} as {_in_words(storage[name])}, which cannot be read as {kind}; "
                "change its type in the schema or in the table"
            )
    for name in schema.ids:
        if not person_type_fits(storage[name]):
            apart = "persons" if schema.unit else "rows"
            raise DataError(
                f"{where} stores column {name!r} as {storage[name]}, which cannot tell {apart} apart; store integers "
                "or text"
            )


def _in_words(storage: pa.DataType) -> str:
    """A type, and of Python objects the cure."""
    if family(storage) != "cell":
        return str(storage)
    return "Python objects of any kind (set one, such as float64, string, or datetime64[us] for dates)"
