"""Curves over an axis, drawn by hand: medians joined, quartiles as bars."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from sfumato.charts import svg

STYLE = Markup("<style>text{font-family:'Helvetica Neue',Arial,sans-serif}</style>")
PAPER, GRID = "#fffdfa", "#e5ddd1"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Point(NamedTuple):
    """A median at a place, with its quartiles."""

    x: float
    y: float
    low: float
    high: float


class Stroke(NamedTuple):
    colour: str
    width: float = 1.8
    dashes: str = ""


class Series(NamedTuple):
    name: str
    stroke: Stroke
    points: Sequence[Point]


class Axis(NamedTuple):
    low: float
    high: float
    logarithmic: bool = True

    def share(self, value: float) -> float:
        """How far along a value lies, 0 to 1 between the ends."""
        low, high, at = map(math.log, (self.low, self.high, value)) if self.logarithmic else (*self[:2], value)
        return (at - low) / (high - low)


class Panel(NamedTuple):
    """Two axes in a frame."""

    left: float
    top: float
    width: float
    height: float
    x: Axis
    y: Axis

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.left + self.width * self.x.share(x), self.top + self.height * (1 - self.y.share(y))


def decades(points: Sequence[Point]) -> Axis:
    """An axis of whole powers of ten that holds all points and their quartiles."""
    low, high = min(point.low for point in points), max(point.high for point in points)
    return Axis(10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high)))


def write(picture: Markup, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(picture) + "\n", encoding="utf-8")


def sheet(
    width: float,
    height: float,
    marks: Sequence[Markup],
    title: str,
    key: Mapping[str, Stroke],
    rows: int = 1,
    note: str = "",
) -> Markup:
    """Marks on paper under a title and a key, with a note at the foot."""
    head = [STYLE, svg.box(0, 0, width, height, PAPER), svg.text(14, 21, title, size=14)]
    if note:
        head.append(svg.text(14, height - 9, note, size=11, fill=svg.FAINT))
    each = math.ceil(len(key) / rows)
    for place, (name, stroke) in enumerate(key.items()):
        x, y = 14 + (width - 20) / each * (place % each), 39 + 16 * (place // each)
        head += [curve([(x, y - 4), (x + 22, y - 4)], stroke), svg.text(x + 27, y, name, size=11)]
    return svg.picture(width, height, [*head, *marks], title)


def curve(points: Sequence[tuple[float, float]], stroke: Stroke, opacity: float = 1.0) -> Markup:
    """A line through points."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    mark = Markup('<path d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-dasharray="{}" stroke-opacity="{}"/>')
    return mark.format(path, stroke.colour, stroke.width, stroke.dashes or "none", opacity)


def drawn_panel(panel: Panel, title: str, ticks: Sequence[float], series: Sequence[Series]) -> list[Markup]:
    """A frame with its curves."""
    marks = _levels(panel)
    for tick in ticks:
        x, y = panel.at(tick, panel.y.low)
        marks += [svg.line(x, y, x, y + 4), svg.text(x, y + 17, f"{tick:,g}", "middle", 11)]
    marks.append(svg.text(panel.left + panel.width / 2, panel.top + panel.height + 34, title, "middle", 12))
    for one in series:
        marks += _drawn(panel, one)
    return marks


def _levels(panel: Panel) -> list[Markup]:
    """Lines across the panel: at the powers of ten, or at tenths of a linear axis."""
    if panel.y.logarithmic:
        first, last = (round(math.log10(end)) for end in panel.y[:2])
        step = 1 if last - first < 6 else 2
        levels = {10.0**n: "10" + str(n).translate(_SUPERSCRIPT) for n in range(first, last + 1)}
        named = {10.0**n for n in range(first, last + 1, step)}
    else:
        levels = {n / 10: f"{n / 10:g}" for n in range(round(10 * panel.y.low), round(10 * panel.y.high) + 1)}
        named = set(levels)
    marks = []
    for level, name in levels.items():
        x, y = panel.at(panel.x.low, level)
        marks.append(svg.line(x, y, x + panel.width, y, GRID))
        if level in named:
            marks.append(svg.text(x - 6, y + 4, name, "end", 11))
    return marks


def _drawn(panel: Panel, series: Series) -> list[Markup]:
    places = [panel.at(point.x, point.y) for point in series.points]
    marks = [curve(places, series.stroke)] if len(places) > 1 else []
    for point, (x, y) in zip(series.points, places, strict=True):
        ends = [panel.at(point.x, end)[1] for end in (point.low, point.high)]
        marks.append(svg.line(x, ends[0], x, ends[1], series.stroke.colour, 1.2))
        marks.append(svg.dot(x, y, 2.6, series.stroke.colour, f"{series.name} at {point.x:,g}: {point.y:.3g}"))
    return marks
