"""What a notebook shows of the release of a family: the promise, and the tables with their columns."""

from html import escape
from typing import TYPE_CHECKING

from sfumato.trusted.schema.display import BOX, shorten, table_of_columns

if TYPE_CHECKING:
    from sfumato.artefact.families.release import FamilyRelease

_PROVEN, _SEEDED = "#3d6b45", "#a12a1f"


def html_of_family(release: "FamilyRelease") -> str:
    """One block of HTML without scripts or outside resources; all words are escaped."""
    schema, statement = release.schema, release.statement
    label = (
        f'<span style="background:{_SEEDED if statement.seeded else _PROVEN};color:white;border-radius:3px;'
        f'padding:1px 7px;margin-left:6px">{escape(statement.label)}</span>'
    )
    tables = "".join(
        f"<details><summary>{escape(shorten(name))}{_under(release, name)}</summary>"
        f"{table_of_columns(schema.schema_of(name))}</details>"
        for name in schema.in_order
    )
    return (
        f'<div style="{BOX}"><b>Release of {escape(shorten(schema.name))}</b>{label}'
        f'<p style="margin:6px 0">{escape(statement.promise)}</p>'
        f"<div>About {release.size:,} persons; {len(schema.tables)} tables.</div>{tables}</div>"
    )


def _under(release: "FamilyRelease", name: str) -> str:
    parent, (least, most) = release.schema.tables[name].parent, release.schema.rows_of(name)
    return "" if parent is None else f": {least} to {most} rows of each row of {escape(shorten(parent))}"
