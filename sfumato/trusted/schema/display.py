"""A schema as people look at it: one line, or a table of its columns for a notebook. Public knowledge only."""

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from sfumato.trusted.schema.columns import Column, is_unknown
from sfumato.trusted.schema.constraints import describe

if TYPE_CHECKING:
    from sfumato.trusted.schema.family import FamilySchema
    from sfumato.trusted.schema.schema import Schema

MOST_NAMES = 6
_MOST_ROWS = 40
_MOST_VALUES = 8
_LONGEST_WORD = 40
_LONGEST_LINE = 160
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;white-space:normal"
_TABLE = "border-collapse:collapse;margin:6px 0;color:inherit;font-size:13px"
_ROW = "background:transparent"  # notebooks give tables the colours of their own page, stripes and text
BOX = (
    "background:#fffdf9;color:#2f2a26;border:1px solid #d9cfc0;border-radius:4px;padding:10px 14px;max-width:920px;"
    "font-family:sans-serif;font-size:13px;line-height:1.4;overflow-x:auto"
)
"""The frame around what a notebook shows: its own colours, so that it can be read on a dark page too."""


def shorten(words: str, most: int = _LONGEST_WORD) -> str:
    """At most so many characters, without those that a terminal would obey."""
    plain = "".join(character if character.isprintable() else "\ufffd" for character in words[: most + 1])
    return plain if len(words) <= most else plain[: most - 1] + "…"


def list_some(names: Iterable[str], most: int = MOST_NAMES) -> str:
    """The first names, and how many more there are."""
    names = list(names)
    shown = ", ".join(shorten(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def describe_schema(schema: "Schema") -> str:
    """A schema in one line."""
    names = [column.name for column in schema.columns]
    count = sum(column.length for column in schema.columns)
    target = f"; target {shorten(schema.target)}" if schema.target else ""
    return f"<Schema of {shorten(schema.name)}: {count} column{'s' * (count > 1)} ({list_some(names)}){target}>"


def describe_values(column: Column) -> str:
    """The bounds of a column, or the values that it may have."""
    if is_unknown(column):
        return "estimated by the release" if column.type != "category" else "discovered by the release"
    bounds = getattr(column, "bounds", None)
    if bounds is not None:
        low, high = (f"{bound:g}" if isinstance(bound, float) else str(bound) for bound in bounds)
        return f"{low} to {high}{', log scale' if getattr(column, 'scale', '') == 'log' else ''}"
    return list_some(map(str, getattr(column, "listed", ()) or (False, True)), _MOST_VALUES)


def table_of_columns(schema: "Schema") -> str:
    """The columns as an HTML table; a run of columns is one row."""
    rows: list[tuple[str, ...]] = [
        (
            shorten(column.name),
            column.type,
            describe_values(column),
            "may be missing" if column.missing else "",
            "target" if schema.target in column.names else "",
        )
        for column in schema.columns[:_MOST_ROWS]
    ]
    if (more := len(schema.columns) - _MOST_ROWS) > 0:
        rows.append((f"and {more} more", "", "", "", ""))
    return html_table(("column", "type", "values", "", ""), rows)


def html_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Plain words as an HTML table."""
    head = "".join(f'<th style="{_CELL};border-bottom:1px solid #d9cfc0">{escape(word)}</th>' for word in heads)
    body = "".join(
        f'<tr style="{_ROW}">' + "".join(f'<td style="{_CELL}">{escape(word)}</td>' for word in row) + "</tr>"
        for row in rows
    )
    return f'<table style="{_TABLE}"><tr style="{_ROW}">{head}</tr>{body}</table>'


def html_of_family_schema(family: "FamilySchema") -> str:
    """What a notebook shows: every table with its columns, and the constraints between them."""
    parts = []
    for name in family.in_order:
        parent = family.tables[name].parent
        fewest, most = family.rows_of(name)
        told = "one row for each person" if parent is None else f"{fewest} to {most} rows of each row of {parent}"
        head = f"<b>{escape(shorten(name))}</b>, {escape(shorten(told, _LONGEST_LINE))}"
        parts.append(f"<div>{head}{table_of_columns(family.schema_of(name))}</div>")
    title = f"<b>Schema of {escape(shorten(family.name))}</b>"
    return f'<div style="{BOX}">{title}{"".join(parts)}{_list_constraints(family)}</div>'


def _list_constraints(schema: "Schema | FamilySchema") -> str:
    rules = [shorten(describe(one), _LONGEST_LINE) for one in schema.constraints]
    shown = [f"<li>{escape(rule)}</li>" for rule in rules[:_MOST_ROWS]]
    if (more := len(rules) - _MOST_ROWS) > 0:
        shown.append(f"<li>and {more} more</li>")
    return f"<div>Constraints, which hold in every sample:</div><ul>{''.join(shown)}</ul>" if rules else ""


def html_of_schema(schema: "Schema") -> str:
    """What a notebook shows: name, table of columns, constraints."""
    person = ""
    if schema.unit:
        person = (
            f"<div>One person, told apart by <b>{escape(shorten(schema.unit.column))}</b>, may have "
            f"{schema.unit.records} records.</div>"
        )
    name = escape(shorten(schema.name))
    return (
        f'<div style="{BOX}"><b>Schema of {name}</b>{table_of_columns(schema)}{person}{_list_constraints(schema)}</div>'
    )
