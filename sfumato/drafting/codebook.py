"""A code book as a CSV file: one line for each column, from which its definition in the schema follows.

Its author wrote down what the columns mean, so a code book is public: nothing in it may be read off the rows.
"""

import csv
import datetime as dt
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import SchemaError
from sfumato.trusted.schema import Schema

_SPELLINGS = {
    "name": ("name", "variable", "column", "field"),
    "type": ("type",),
    "values": ("values", "categories", "levels", "codes"),
    "bounds": ("bounds", "range"),
    "label": ("label", "description"),
    "missing": ("missing", "nullable"),
    "decimals": ("decimals",),
    "step": ("step",),
}
_TYPES = {
    "integer": ("integer", "int"),
    "number": ("number", "float", "double", "decimal", "numeric", "real"),
    "category": ("category", "categorical", "factor", "text", "string"),
    "boolean": ("boolean", "bool", "logical"),
    "date": ("date",),
    "datetime": ("datetime", "timestamp"),
}
_TRUTH = {
    "": False,
    **dict.fromkeys(("no", "n", "false", "0"), False),
    **dict.fromkeys(("yes", "y", "true", "1"), True),
}
_BOUNDED = ("integer", "number", "date", "datetime")
FILL = "FILL"


class Entry(NamedTuple):
    """What a code book says of one column.

    definition   its keys in the schema, without the name; the type is absent where the book says none
    label        what people call it
    where        file and line, for errors
    """

    definition: Mapping[str, Any]
    label: str
    where: str

    def complete(self, name: str, kind: str | None) -> dict[str, Any]:
        """The column's definition, with FILL for what neither the book nor `kind`, its type in the table, tells."""
        listed = {"type": "category"} if "values" in self.definition else {}
        content = {"name": name, "type": kind or FILL, **listed, **self.definition}
        if kind == "category" and "values" in content:
            content["values"] = [str(value) for value in content["values"]]  # the table stores text
        if content["type"] == "boolean" and "values" in content:
            content["words"] = content.pop("values")
        if content["type"] == "category" and "values" not in content:
            return {**content, "values": [FILL]}
        if content["type"] in _BOUNDED and "bounds" not in content:
            return {**content, "bounds": [FILL, FILL]}
        return content if content["type"] == FILL else self._checked(content)

    def _checked(self, content: dict[str, Any]) -> dict[str, Any]:
        """Refused by the schema's own rules now, while the line is known."""
        schema = Schema.from_dict({"sfumato": 1, "name": "book", "columns": [content]}, self.where)
        read = schema.columns[0].model_dump()
        return {key: _shown(read[key]) for key in content}


NOTHING_SAID = Entry({}, "", "")


def _shown(value: Any) -> Any:
    """A value as people write it into YAML."""
    if isinstance(value, tuple):
        return list(map(_shown, value))
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def read_codebook(path: Path) -> dict[str, Entry]:
    """The entries of a code book by the names of their columns.

    Raises `SchemaError`, with file, line and cure, where it is none.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path}: cannot be read as a text file ({type(error).__name__}); check the path") from None
    header = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=header.count))
    keys = _keys(next(rows, []), path)
    entries: dict[str, Entry] = {}
    for fields in rows:
        where = f"{path}, line {rows.line_num}"
        if not any(map(str.strip, fields)):
            continue
        if len(fields) > len(keys):
            raise SchemaError(f'{where}: has more fields than the header; put "0,99" in quotes, or write 0..99')
        found = {key: field.strip() for key, field in zip(keys, fields, strict=False) if key and field.strip()}
        name = found.pop("name", "")
        if not name or name in entries:
            raise SchemaError(f"{where}: {f'column {name!r} stands twice' if name else 'has no name'}; correct it")
        entries[name] = _entry(found, where)
    return entries


def _keys(header: list[str], path: Path) -> list[str]:
    """What each column of the book is to us, "" for those that are something else."""
    known = {spelling: key for key, spellings in _SPELLINGS.items() for spelling in spellings}
    keys = [known.get(word.strip().lower(), "") for word in header]
    if "name" not in keys:
        raise SchemaError(
            f"{path}, line 1: no column of the code book is called name; begin with name,type,values,bounds"
        )
    for key in _SPELLINGS:
        if keys.count(key) > 1:
            raise SchemaError(f"{path}, line 1: more than one column holds the {key}; keep one")
    return keys


def _entry(found: Mapping[str, str], where: str) -> Entry:
    content: dict[str, Any] = {}
    if "type" in found:
        content["type"] = _type(found["type"], where)
    if "bounds" in found:
        content["bounds"] = _bounds(found["bounds"], where)
    if "values" in found:
        content["values"] = _values(found["values"], where)
    for key, number in (("decimals", int), ("step", float)):
        if key in found:
            content[key] = _number(found[key], number, key, where)
    if _truth(found.get("missing", ""), where):
        content["missing"] = True
    return Entry(content, " ".join(found.get("label", "").split()), where)


def _type(word: str, where: str) -> str:
    for name, spellings in _TYPES.items():
        if word.lower() in spellings:
            return name
    raise SchemaError(f"{where}: type {word!r} is not known; use {', '.join(_TYPES)}")


def _bounds(text: str, where: str) -> list[str]:
    low, dots, high = text.strip("[]").partition("..")
    ends = [low, high] if dots else low.split(",")
    if len(ends) != 2 or not all(map(str.strip, ends)):
        raise SchemaError(f"{where}: bounds {text!r} are not two values; write lowest..highest")
    return [end.strip() for end in ends]


def _values(text: str, where: str) -> list[str] | list[int]:
    """Numbers where all are written as plain ones, else text: 007 is no number."""
    values = [value.strip() for value in text.split("|" if "|" in text else ";")]
    if not all(values):
        raise SchemaError(f"{where}: values {text!r} hold an empty one; write one | between two values")
    return [int(value) for value in values] if all(map(_is_plain_number, values)) else values


def _is_plain_number(value: str) -> bool:
    digits = value.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(value)) == value


def _number(text: str, number: type, key: str, where: str) -> float:
    try:
        return number(text)  # type: ignore[no-any-return]
    except ValueError:
        raise SchemaError(f"{where}: {key} {text!r} is not a number; write one, such as 2") from None


def _truth(text: str, where: str) -> bool:
    if text.lower() not in _TRUTH:
        raise SchemaError(f"{where}: missing {text!r} is neither yes nor no; write one of them, or leave it empty")
    return _TRUTH[text.lower()]
