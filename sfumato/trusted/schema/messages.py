"""Errors of a schema file in words: file, line, key, cure."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

Location = Sequence[str | int]
LineOf = Callable[[Location], int | None]

KEYS = (
    *("sfumato", "name", "columns", "target", "unit", "column", "records"),
    *("type", "types", "bounds", "values", "missing", "atoms", "scale", "otherwise"),
    *("decimals", "step", "words", "leave_out"),
    *(
        "constraints",
        "of",
        "table",
        "forbid",
        "if",
        "then",
        "allow",
        "total",
        "null_together",
        "place",
        "key",
        "format",
    ),
    *("text", "separator", "encoding", "decimal", "thousands", "units", "dates", "datetimes"),
    *("tables", "parent", "foreign_key", "person", "rows", "order", "gap", "share"),
)


class Problem(NamedTuple):
    """One thing to change: where it stands in the content, as keys and places in lists, and how."""

    location: tuple[str | int, ...]
    cure: str


def explain(error: ValidationError, where: str, content: object, line_of: LineOf) -> str:
    """One line for each thing to change; `line_of` finds the line of a place in the file, if there is a file."""
    return "\n".join(f"{where}{_place(location, content, line_of)}: {cure}" for location, cure in _problems(error))


def find_problems(error: ValidationError, content: object) -> list[Problem]:
    """The same for a form: each thing to change with the keys that lead to it in the content."""
    return [Problem(tuple(part for part, _ in _walk(one.location, content)), one.cure) for one in _problems(error)]


def _problems(error: ValidationError) -> list[Problem]:
    items = [_placed(item) for item in error.errors()]
    places = [item["loc"] for item in items]
    inner = [place for place in places if any(place != other and other[: len(place)] == place for other in places)]
    told = [
        item for item in items if item["loc"] not in inner
    ]  # a list whose entries are wrong is not also "too short"
    return [Problem(item["loc"], _cure(item)) for item in told]


def _placed(item: Any) -> Any:
    """An error that is found when all is known, of a constraint or of a table of a family, at its place in the file."""
    if item["type"] == "constraint":
        return {**item, "loc": ("constraints", item["ctx"]["place"])}
    return {**item, "loc": tuple(item["ctx"]["place"])} if item["type"] == "place" else item


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the nearest known word, if one is near."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _place(location: Location, content: object, line_of: LineOf) -> str:
    """`, line 7, columns[2] (age), bounds`: where an error of pydantic lies in the file."""
    steps, path = [], ""
    for part, below in _walk(location, content):
        steps.append(part)
        path += f"[{part}]" if isinstance(part, int) else f", {part}"
        if isinstance(part, int) and isinstance(below, dict) and "name" in below:
            path += f" ({below['name']})"
    line = line_of(steps)
    return (f", line {line}" if line else "") + path


def _walk(location: Location, content: Any) -> Iterator[tuple[str | int, Any]]:
    """The steps of a pydantic location that exist in the file; it adds some of its own, such as the column's type."""
    for depth, part in enumerate(location):
        there = (isinstance(content, dict) and part in content) or (
            isinstance(content, list) and isinstance(part, int) and part < len(content)
        )
        absent_key = depth == len(location) - 1 and isinstance(content, dict) and part != content.get("type")
        if there or absent_key:
            content = content[part] if there else None
            yield part, content


def _cure(item: Any) -> str:
    """What to change, in our words."""
    last = item["loc"][-1] if item["loc"] else ""
    match item["type"]:
        case "extra_forbidden" if last in KEYS:
            return "this key does not belong here; remove it, or change the type of the column"
        case "extra_forbidden":
            return f"unknown key{did_you_mean(str(last), KEYS)}; correct its spelling or remove it"
        case "missing":
            return (
                "needs two values, [lowest, highest]" if isinstance(last, int) else "is required and not there; add it"
            )
        case "union_tag_invalid" | "union_tag_not_found":
            return "type must be one of integer, number, category, boolean, date, datetime"
        case "constraint" | "constraint_form" | "place":
            return str(item["msg"])
        case "too_short":
            return "is empty; list at least one"
        case "value_error":
            return str(item["ctx"]["error"])
        case "literal_error":
            return f"{item['input']!r} is not allowed here; use {item['ctx']['expected']}"
    return f"{item['msg']}, got {item['input']!r}"
