"""The distribution of a listed column: a bar for each value, by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.natural_order import natural_order

MOST_VALUES = 24
_LETTERS = 18  # of a label's line
_LEFT, _RIGHT, _SIZE = 116.0, 40.0, 11.0
_ROOM, _GAP = 15.0, 5.0  # for a value: its bar, or more where its label needs it

Row = Mapping[str, Any]


def listed_chart(rows: Sequence[Row], width: float) -> tuple[float, list[Markup]]:
    """A bar to the right for each value, with the band of its noise; and the height of all.

    rows   `value`, `probability`, `low`, `high`, as `Model.describe` has them, in the order of the schema

    Values with an order that people expect come in that order, others by frequency. Of more than `MOST_VALUES` the
    rarest are summed up.
    """
    shown, others = choose_values(rows)
    widest = max([row["high"] for row in shown] + [sum(row["probability"] for row in others), 1e-9])
    scale = (width - _LEFT - _RIGHT) / widest
    marks, y = [], 2.0
    for row in shown:
        name = "missing" if row["value"] is None else str(row["value"])
        room = max(_ROOM, len(svg.lines_of(name, _LETTERS)) * svg.LINE * _SIZE)
        marks += _marks(row, name, y + room / 2, scale)
        y += room + _GAP
    if others:
        share = sum(row["probability"] for row in others)
        middle = y + _ROOM / 2
        marks += [
            svg.label(_LEFT - 6, middle, f"{len(others)} others", _LETTERS, "end", _SIZE, svg.FAINT),
            svg.box(_LEFT, y + 1, share * scale, _ROOM - 2, svg.BAR, 0.4, f"{len(others)} others: {share:.2%}"),
            svg.text(_LEFT + share * scale + 6, middle + 4, percent(share), size=_SIZE, fill=svg.FAINT),
        ]
        y += _ROOM + _GAP
    return y, marks


def choose_values(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that are shown, in their order, and those that are summed up."""
    values = [row for row in rows if row["value"] is not None]
    missing = [row for row in rows if row["value"] is None]
    by_frequency = sorted(range(len(values)), key=lambda place: -values[place]["probability"])
    room = MOST_VALUES - len(missing)
    kept = by_frequency if len(values) <= room else by_frequency[:room]
    order = natural_order([row["value"] for row in values])
    places = by_frequency if order is None else order
    shown = [values[place] for place in places if place in set(kept)]
    return [*shown, *missing], [values[place] for place in by_frequency[len(kept) :]]


def _marks(row: Row, name: str, middle: float, scale: float) -> list[Markup]:
    hint = f"{name}: {row['probability']:.2%}, noise band {row['low']:.2%} to {row['high']:.2%}"
    return [
        svg.label(_LEFT - 6, middle, name, _LETTERS, "end", _SIZE),
        svg.box(_LEFT, middle - _ROOM / 2 + 1, row["probability"] * scale, _ROOM - 2, svg.BAR, 0.85, hint),
        svg.box(_LEFT + row["low"] * scale, middle - 2.5, (row["high"] - row["low"]) * scale, 5, svg.BAND, 0.45, hint),
        svg.text(_LEFT + row["high"] * scale + 5, middle + 4, percent(row["probability"]), size=_SIZE, fill=svg.FAINT),
    ]


def percent(share: float) -> str:
    """Two figures: 12%, 3.4%, 0.3%."""
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"
