"""A first draft of a schema, from the header of a file alone.

Its author completes it from what they know, not from the rows.
"""

import math
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import yaml

from sfumato.errors import RequestError
from sfumato.evaluate.checking import check_separator
from sfumato.trusted.encoding.reading import family
from sfumato.trusted.sources import databases
from sfumato.trusted.sources.array_files import RUN_JOINTS, header_shapes, is_array_file
from sfumato.trusted.sources.databases import Database
from sfumato.trusted.sources.files import header_types

_HEAD = """\
# A draft from the header of {name}: names and declared types, nothing of the rows.
# Replace every FILL from the code book or from what the column means. Reading it off the rows would leak.
# Where nobody knows, `bounds: estimate` and `values: discover` buy them with a part of the budget.
# `sfumato schema check` tells what is left to do.
sfumato: 1
name: {stem}
columns:
"""
_TAIL = """\
# target: FILL           # the column that users will predict, if there is one
"""
_KINDS = {
    "number": "type: number, bounds: [FILL, FILL]",
    "integer": "type: integer, bounds: [FILL, FILL]",
    "text": "type: category, values: [FILL]",
    "nothing": "type: FILL",
    "boolean": "type: boolean",
    "day": "type: date, bounds: [FILL, FILL]",
    "moment": "type: datetime, bounds: [FILL, FILL]",
}


def draft_schema(data: str | Path | Database) -> str:
    """The draft as YAML text. CSV headers declare no types; there even the type is to be filled in."""
    name, columns = _header(data)
    lines = [f"  - {{name: {_quoted(name)}, {kind}}}\n" for name, kind in columns]
    return _HEAD.format(name=name, stem=_quoted(name.split(".")[0])) + "".join(lines) + _TAIL


def _header(data: str | Path | Database) -> tuple[str, list[tuple[str, str]]]:
    """What the table is called, and its columns."""
    if isinstance(data, Database):
        return data.table or "query", _columns(databases.header_types(data))
    name = Path(data).name
    if hint := check_separator(data):
        raise RequestError(f"{data}: {hint}")
    return name, _columns_of_arrays(Path(data)) if is_array_file(data) else _columns(header_types(data))


def _columns(types: Mapping[str, pa.DataType]) -> list[tuple[str, str]]:
    return [(name, _kind(storage)) for name, storage in types.items()]


def _columns_of_arrays(path: Path) -> list[tuple[str, str]]:
    """An array of several columns is a run, one of numbers in rows and columns a picture; `.npy` has no name."""
    return [
        (_run(name or "column", math.prod(shape)), _kind(storage) + _image(storage, shape))
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
    kind = "integer" if pa.types.is_integer(storage) else family(storage)
    return _KINDS[kind or "nothing"]


def _quoted(name: str) -> str:
    """The name as YAML writes it inside braces."""
    return yaml.safe_dump([name], default_flow_style=True, allow_unicode=True, width=10**6).strip()[1:-1]
