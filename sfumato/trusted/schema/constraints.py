"""What is known of several columns at once: relations, functions, combinations that never occur, totals, places, keys.

Each is public knowledge, costs nothing, and holds in every record of a sample.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from sfumato.trusted.schema.columns import Part, Plain, text_of
from sfumato.trusted.schema.relations import parse_relation

_NUMBERED = re.compile(r"[^{}]*\{(0*1)\}[^{}]*")
_FORMS = (
    "a constraint is a relation such as `a >= b`, or begins with one of column, forbid, if, allow, total, "
    "null_together, place, key"
)


def _relation(text: str) -> str:
    parse_relation(text)
    return text


Relation = Annotated[str, AfterValidator(_relation)]


def _wanted(value: Any) -> Any:
    """Values of a column in a rule: one, a list, {from:, to:}, {missing:} or {not:}."""
    if isinstance(value, dict):
        ranged = value and set(value) <= {"from", "to"} and all(one is not None for one in value.values())
        missing = set(value) == {"missing"} and isinstance(value["missing"], bool)
        others = set(value) == {"not"} and isinstance(value["not"], list) and value["not"]
        if not (ranged or missing or others):
            raise ValueError("write a value, a list of values, {from: LOW, to: HIGH}, {missing: true} or {not: [...]}")
    elif isinstance(value, list) and not value:
        raise ValueError("an empty list allows nothing; name the values")
    return value


Combination = Annotated[Mapping[str, Annotated[Any, AfterValidator(_wanted)]], Field(min_length=1)]


def _pairs(table: Any) -> Any:
    """A table as pairs, where it is written as a mapping."""
    return [[one, other] for one, other in table.items()] if isinstance(table, dict) else table


def _function(table: tuple[tuple[Plain, Plain], ...]) -> tuple[tuple[Plain, Plain], ...]:
    seen: dict[str, str] = {}
    for value, image in table:
        known = seen.setdefault(text_of(value), text_of(image))
        if known != text_of(image):
            raise ValueError(
                f"{text_of(value)!r} stands for both {known!r} and {text_of(image)!r}; give each its own value, such "
                "as 'Paris, France' and 'Paris, Texas'"
            )
    return table


Table = Annotated[tuple[tuple[Plain, Plain], ...], BeforeValidator(_pairs), AfterValidator(_function)]


class Function(Part):
    """A listed column whose value follows from that of another, by a table or as the release learns it."""

    column: str
    of: str
    table: Table | None = Field(
        default=None, description="pairs of values, or {file: NAME.csv} with both columns; left out: it is learnt"
    )


class Forbidden(Part):
    """A combination of values that never occurs."""

    forbid: Combination


class Implication(Part):
    """Where the first combination occurs, the second does too."""

    when: Combination = Field(alias="if")
    then: Combination


class Allowed(Part):
    """The combinations of values of some columns that may occur; nulls may stand beside anything."""

    allow: tuple[str, ...] = Field(min_length=2)
    table: tuple[tuple[Plain | None, ...], ...] = Field(
        min_length=1, description="rows of values in the order of the columns, or {file: NAME.csv} with these columns"
    )


class Total(Part):
    """Columns from 0 on that add up to a constant, or to another column."""

    total: float | str
    of: tuple[str, ...] = Field(min_length=2)


class NullTogether(Part):
    """Columns that are missing in the same records."""

    null_together: tuple[str, ...] = Field(min_length=2)


class Place(Part):
    """Two numbers that are one place: latitude and longitude."""

    place: tuple[str, str]


def _numbered(text: str) -> str:
    if text != "uuid" and not _NUMBERED.fullmatch(text):
        raise ValueError(f"{text!r} has no number in it; write one like `P-{{000001}}`, or `uuid`")
    return text


class Key(Part):
    """A column of ids, which is never read: a sample gets fresh ones."""

    key: str
    format: Annotated[str, AfterValidator(_numbered)] = "{1}"


_BY_KEY = {
    "column": "function",
    "forbid": "forbidden",
    "if": "implication",
    "when": "implication",
    "allow": "allowed",
    "total": "parts",
    "null_together": "nulls",
    "place": "two numbers",
    "key": "ids",
}


def _form(content: Any) -> str:
    if isinstance(content, str):
        return "relation"
    if isinstance(content, dict):
        return next((form for key, form in _BY_KEY.items() if key in content), "")
    return next((form for key, form in _BY_KEY.items() if hasattr(content, key)), "")


Constraint = Annotated[
    Annotated[Relation, Tag("relation")]
    | Annotated[Function, Tag("function")]
    | Annotated[Forbidden, Tag("forbidden")]
    | Annotated[Implication, Tag("implication")]
    | Annotated[Allowed, Tag("allowed")]
    | Annotated[Total, Tag("parts")]
    | Annotated[NullTogether, Tag("nulls")]
    | Annotated[Place, Tag("two numbers")]
    | Annotated[Key, Tag("ids")],
    Discriminator(_form, custom_error_type="constraint_form", custom_error_message=_FORMS),
]
Rule = Forbidden | Implication | Allowed | NullTogether


def describe(constraint: Any) -> str:
    """A constraint in one line, as the schema has it."""
    if isinstance(constraint, str):
        return constraint
    content = constraint.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    if isinstance(constraint, Function | Allowed):
        content.pop("table", None)
    return ", ".join(f"{key}: {_plain(value)}" for key, value in content.items())


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_plain(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_plain, value)) + "]"
    if isinstance(value, bool | None):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
