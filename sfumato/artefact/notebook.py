"""What a notebook shows of a release: the promise, the first columns as pictures, a table of all of them."""

from html import escape
from typing import TYPE_CHECKING

from sfumato.charts.columns import column_chart
from sfumato.trusted.encoding import Encoder
from sfumato.trusted.schema.display import BOX, list_some, shorten, table_of_columns

if TYPE_CHECKING:
    from sfumato.artefact.release import Release

_CHARTS = 6
_PROVEN, _SEEDED = "#3d6b45", "#a12a1f"


def html_of_release(release: "Release") -> str:
    """One block of HTML without scripts or outside resources; all words are escaped."""
    schema, statement = release.schema, release.statement
    label = (
        f'<span style="background:{_SEEDED if statement.seeded else _PROVEN};color:white;border-radius:3px;'
        f'padding:1px 7px;margin-left:6px">{escape(statement.label)}</span>'
    )
    given = f", given {list_some(one.column for one in release.given)}" if release.given else ""
    facts = (
        f"About {release.size:,} records{given}; {len(schema.by_name)} columns; "
        f"mechanism {shorten(statement.mechanism)}."
    )
    return (
        f'<div style="{BOX}"><b>Release of {escape(shorten(schema.name))}</b>{label}'
        f'<p style="margin:6px 0">{escape(statement.promise)}</p><div>{escape(facts)}</div>'
        f"{_charts(release)}<details><summary>Columns</summary>{table_of_columns(schema)}</details></div>"
    )


def _charts(release: "Release") -> str:
    """The target's distribution, then those of the first columns."""
    schema, codes = release.schema, Encoder(release.schema).columns
    names = [*([schema.target] if schema.target else []), *schema.features][:_CHARTS]
    told = {name: release.unconditioned.describe(name, codes[name], release.given, release.modelling) for name in names}
    drawn = [
        '<figure style="width:250px;margin:8px 14px 0 0">'
        f'<figcaption style="font-weight:bold">{escape(shorten(name))}</figcaption>'
        f"{column_chart(release.model, name, codes[name], told[name])}</figure>"
        for name in names
    ]
    shown = "" if len(names) == len(schema.by_name) else f"<div>{len(names)} of {len(schema.by_name)} columns:</div>"
    return f'{shown}<div style="display:flex;flex-wrap:wrap">{"".join(drawn)}</div>'
