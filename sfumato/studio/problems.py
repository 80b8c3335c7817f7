"""What is wrong with a draft, by the real schema's own rules, at the field of the form that it is about."""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from sfumato.errors import SchemaError, SfumatoError
from sfumato.planning.feasibility import refuse_what_cannot_be_planned
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.schema import FamilySchema, Schema
from sfumato.trusted.schema.file import AnySchema, parse_schema, with_lists
from sfumato.trusted.schema.messages import find_problems
from sfumato.trusted.schema.yaml_text import load_yaml

_KEY = re.compile(r"(bounds|atoms|otherwise|step|decimals|values|words|image): ")
_WHOLE = re.compile(r"(target|unit|leave_out|text): ")
_OPEN = re.compile(r"'?FILL'?|type must be one of")


class Trouble(NamedTuple):
    """One thing to change: the form's field, and how."""

    field: str
    words: str


@dataclass(frozen=True)
class Findings:
    """What became of a draft: the schema if all is well, else what to change.

    text   the message as `sfumato schema check` says it, with lines of the YAML text
    """

    schema: AnySchema | None
    troubles: tuple[Trouble, ...] = ()
    text: str = ""

    def of(self, field: str) -> list[str]:
        """What to change at one field."""
        return list(dict.fromkeys(one.words for one in self.troubles if one.field == field))

    def of_column(self, place: int) -> list[Trouble]:
        """What to change at all fields of one column."""
        return [one for one in self.troubles if one.field == f"c{place}" or one.field.startswith(f"c{place}.")]

    @property
    def general(self) -> list[str]:
        """What belongs to no field that the form has."""
        return [one.words for one in self.troubles if one.field == "schema"]


OPEN_WORDS = ("choose a type", "still open: fill it in from what you know of the field, not from the rows")
"""What is said of a place that nobody has filled in yet: it is no error."""


def parse_content(text: str) -> dict[str, Any]:
    """The content of a draft; `SchemaError` where it is no YAML, or no mapping."""
    _, content = load_yaml(text, "schema")
    if not isinstance(content, dict):
        raise SchemaError("schema: is empty or not a mapping; begin with `sfumato: 1`, `name:` and `columns:`")
    return content


def check_draft(text: str, lists: Path) -> Findings:
    """Hold a draft against the schema's rules, and against what a release of it could measure.

    lists   the folder of the uploaded lists; a draft can name no other file, so that none can bring rows into it
    """
    try:
        content = parse_content(text)
        _refuse_other_files(content, [path.name for path in lists.iterdir()])
        resolved = with_lists(content, "schema", lists)
    except SfumatoError as error:
        return Findings(None, (Trouble("schema", str(error)),), str(error))
    try:
        schema = parse_schema(text, "schema", lists)
        if isinstance(schema, FamilySchema):
            family_layout_of(schema)
        else:
            refuse_what_cannot_be_planned(schema, "schema")
    except SfumatoError as error:
        return Findings(None, tuple(_troubles(resolved, str(error))), str(error))
    return Findings(schema)


def _refuse_other_files(content: Any, known: Container[str]) -> None:
    if isinstance(content, dict):
        for key in ("values", "table"):
            named = content.get(key)
            if isinstance(named, dict) and "file" in named:
                name = str(named["file"])
                if name not in known:
                    raise SchemaError(
                        f"{key}: the list {name!r} was not uploaded here; upload it, and name it without a folder"
                    )
        for value in content.values():
            _refuse_other_files(value, known)
    elif isinstance(content, list):
        for value in content:
            _refuse_other_files(value, known)


def _troubles(content: dict[str, Any], words: str) -> Iterator[Trouble]:
    """By field where a field is at fault; else the message as it is."""
    try:
        (FamilySchema if "tables" in content else Schema).model_validate(content)
    except ValidationError as error:
        for location, cure in find_problems(error, content):
            nth = f"line {int(location[1]) + 1}: " if location[:1] == ("constraints",) and len(location) > 1 else ""
            yield Trouble(_field_of(location, cure), nth + _softened(cure))
    else:
        yield Trouble("schema", words.removeprefix("schema: "))


def _field_of(location: tuple[str | int, ...], cure: str) -> str:
    match location:
        case ("columns", int(place), str(key), *_):
            return f"c{place}.{key}"
        case ("columns", int(place)):
            if cure.startswith("type must"):
                return f"c{place}.type"
            named = _KEY.match(cure)
            return f"c{place}.{named[1]}" if named else f"c{place}"
        case (("target" | "unit" | "constraints" | "leave_out" | "name" | "text") as key, *_):
            return str(key)
        case ():
            named = _WHOLE.match(cure)
            return named[1] if named else "schema"
    return "schema"


def _softened(cure: str) -> str:
    """A place that is still open needs no error: it says what is wanted."""
    if cure.startswith("type must"):
        return OPEN_WORDS[0]
    return OPEN_WORDS[1] if _OPEN.match(cure) else cure
