"""A first draft of a schema, from the header of a file and a code book, if there is one.

Its author completes it from what they know, not from the rows.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa
import yaml

from sfumato.drafting.codebook import NOTHING_SAID, Entry
from sfumato.drafting.identifying import is_free_text, is_id
from sfumato.evaluation.file_formats import format_of_header, keys_of
from sfumato.trusted.encoding.reading import family
from sfumato.trusted.schema import TextFormat
from sfumato.trusted.sources import databases, excel_files
from sfumato.trusted.sources.array_files import RUN_JOINTS, header_shapes, is_array_file
from sfumato.trusted.sources.databases import Database
from sfumato.trusted.sources.files import header_types

_HEAD = """\
# A draft from the header of {name}: names and declared types, nothing of the rows.
# Replace every FILL from the code book or from what the column means. Reading it off the rows would leak.
# Types are category (which needs values), boolean, and integer, number, date and datetime (which need bounds).
# Where nobody knows, `bounds: estimate` and `values: discover` buy them with a part of the budget.
# `sfumato schema check` tells what is left to do.
sfumato: 1
name: {stem}
columns:
"""
_TAIL = """\
# target: FILL           # the column that users will predict, if there is one
"""
_TYPES = {
    "number": "number",
    "integer": "integer",
    "text": "category",
    "nothing": None,
    "boolean": "boolean",
    "day": "date",
    "moment": "datetime",
}


class Draft(NamedTuple):
    """A draft as YAML text, and the columns that the code book describes and the table does not have."""

    text: str
    absent: tuple[str, ...]


def draft_schema(data: str | Path | Database, book: Mapping[str, Entry] = MappingProxyType({})) -> Draft:
    """The draft of a table's schema.

    What the code book describes is complete. Of the rest names and declared types are known: CSV headers declare no
    types, there even the type is to be filled in. Columns that are called like ids or free text are left out.
    """
    table, columns, text = read_header(data)
    left_out = [column for column in columns if column.name not in book and column.is_left_out]
    lines = [draft_line(column, book.get(column.name, NOTHING_SAID)) for column in columns if column not in left_out]
    head = _HEAD.format(name=table, stem=quoted(table.split(".")[0]))
    known = {column.name for column in columns}
    return Draft(
        "".join([head, *lines, *_left_out(left_out), _text(text), _TAIL]),
        tuple(name for name in book if name not in known),
    )


class Column(NamedTuple):
    """A column of the header: what its declared type holds, and the picture that it is, if it is one."""

    name: str
    kind: str
    image: str = ""

    @property
    def is_left_out(self) -> bool:
        """Whether it is called like an id or free text."""
        return is_id(self.name, self.kind) or is_free_text(self.name, self.kind)


def draft_line(column: Column, entry: Entry) -> str:
    """A column as a line of the draft."""
    content = entry.complete(column.name, _TYPES[column.kind])
    fields = ", ".join(f"{key}: {quoted(value)}" for key, value in content.items())
    return f"  - {{{fields}{column.image}}}{entry.label and f'  # {entry.label}'}\n"


def _left_out(columns: Sequence[Column]) -> Iterator[str]:
    if columns:
        names = ", ".join(quoted(column.name) for column in columns)
        yield f"leave_out: [{names}]  # called like ids or free text; describe above what is neither\n"
    for column in columns:
        if is_id(column.name, column.kind):
            yield f"# unit: {{column: {quoted(column.name)}, records: FILL}}  # or: whose record it is\n"


def columns_in(path: Path, text: TextFormat) -> list[Column]:
    """The columns of a file, by its header."""
    return _header(path, text)[1]


def read_header(data: str | Path | Database) -> tuple[str, list[Column], TextFormat]:
    """What the table is called, its columns, and how its text is written. No row is read."""
    text = TextFormat() if isinstance(data, Database) else format_of_header(data)
    return *_header(data, text), text


def _header(data: str | Path | Database, text: TextFormat) -> tuple[str, list[Column]]:
    if isinstance(data, Database):
        return data.table or "query", _columns(databases.header_types(data))
    name = Path(data).name
    if excel_files.is_workbook(data):
        return name, _columns(excel_files.header_types(data))
    return name, _columns_of_arrays(Path(data)) if is_array_file(data) else _columns(header_types(data, text))


def _text(text: TextFormat) -> str:
    """How the file is written, where that is not the usual."""
    keys = keys_of(text)
    return keys and f"text: {{{keys}}}  # and decimal, thousands, units, dates, datetimes, where they need it\n"


def _columns(types: Mapping[str, pa.DataType]) -> list[Column]:
    return [Column(name, _kind(storage)) for name, storage in types.items()]


def _columns_of_arrays(path: Path) -> list[Column]:
    """An array of several columns is a run, one of numbers in rows and columns a picture; `.npy` has no name."""
    return [
        Column(_run(name or "column", math.prod(shape)), _kind(storage), _image(storage, shape))
        for name, (storage, shape) in header_shapes(path).items()
    ]


def _run(name: str, columns: int) -> str:
    """The run that a release finds in the array of this name."""
    stem = name if name.endswith(RUN_JOINTS) else f"{name}_"
    return name if columns == 1 else f"{stem}{{0..{columns - 1}}}"


def _image(storage: pa.DataType, shape: tuple[int, ...]) -> str:
    drawn = len(shape) == 2 and family(storage) == "number" and math.prod(shape) > 1
    return f", image: [{shape[0]}, {shape[1]}]" if drawn else ""


def _kind(storage: pa.DataType) -> str:
    return "integer" if pa.types.is_integer(storage) else family(storage) or "nothing"


def quoted(value: object) -> str:
    """A name, number, date or list as YAML writes it inside braces."""
    return yaml.safe_dump([value], default_flow_style=True, allow_unicode=True, width=10**6).strip()[1:-1]
