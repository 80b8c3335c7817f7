"""A column of the real and of the synthetic rows, drawn over each other; the test rows show what chance does."""

import math
import textwrap
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.axes import Axes, Axis
from sfumato.evaluation.column_units import ColumnUnit
from sfumato.evaluation.overlays import Bar, Overlay, Shares

REAL, SYNTHETIC, TEST = "#7a6a58", "#b5651d", svg.INK
_GRID = "#e9e2d8"
_WIDTH, _HEIGHT = 420.0, 190.0
_LABELS = 150.0  # the width of the names of bars
_LINE = 13.0  # the height of a line
_TALLEST = 760.0  # of the bars of one drawing: it is never cut by the end of a sheet
_END = 366.0  # where the longest bar ends; its share stands behind it
_LAST_TICK = 0.95  # of an axis of times: beyond it a date is cut
_DAY = 86_400.0
_DAYS = ColumnUnit("day")
_WRITTEN = (
    (1_500, (0, 4)),
    (70, (0, 7)),
    (5, (0, 10)),
    (0, (5, 16)),
)  # letters of a tick, by the days between the ends
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600)  # between two ticks
_SPANS = (60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY)


def column_chart(name: str, overlay: Overlay, unit: ColumnUnit | None) -> Markup:
    """Bins as steps over an axis in units of the column, and below it a pair of bars for each value that has one."""
    drawn = []
    if overlay.bins:
        drawn.append(_steps_chart(name, overlay, unit or ColumnUnit("number")))
    if overlay.bars:
        drawn.append(_bars_chart(name, overlay.bars))
    return Markup("").join(drawn)


class _WholeAxis(Axis):
    """An axis of integers."""

    def ticks(self, most: int = 6) -> list[float]:
        """See `Axis`."""
        found = super().ticks(most)
        return [tick for tick in found if tick.is_integer()] or found


@dataclass(frozen=True)
class _TimeAxis(Axis):
    """An axis of days or seconds since 1970, with ticks where months, days or hours begin."""

    unit: ColumnUnit = _DAYS

    def ticks(self, most: int = 6) -> list[float]:
        """See `Axis`."""
        most, second = min(most, 5), self.unit.seconds
        low, high = self.low * second, self.high * second
        for span in _SPANS:
            if (high - low) / span <= most and (self.unit.kind == "moment" or span >= _DAY):
                first, last = math.ceil(low / span), math.floor(high / span)
                return self._inside([span * place / second for place in range(first, last + 1)])
        months = [int(np.datetime64(int(end), "s").astype("datetime64[M]").astype(int)) for end in (low, high)]
        between = next((step for step in _MONTHS if (months[1] - months[0]) / step <= most), _MONTHS[-1])
        starts = range(-(-months[0] // between) * between, months[1] + 1, between)
        found = [float(np.datetime64(start, "M").astype("datetime64[s]").astype(int)) for start in starts]
        return self._inside([start / second for start in found])

    def _inside(self, ticks: list[float]) -> list[float]:
        """Ticks whose words have room between the ends."""
        return [tick for tick in ticks if self.low <= tick and self.share(tick) <= _LAST_TICK]


def _axis(overlay: Overlay, unit: ColumnUnit) -> Axis:
    low, high = overlay.edges[0], overlay.edges[-1]
    if unit.kind == "number":
        return _WholeAxis(low, high) if overlay.whole else Axis(low, high, log=overlay.log)
    days = (high - low) * unit.seconds / _DAY
    first, last = next(letters for least, letters in _WRITTEN if days >= least)
    return _TimeAxis(low, high, write=lambda value: unit.write(value)[first:last], unit=unit)


def _steps_chart(name: str, overlay: Overlay, unit: ColumnUnit) -> Markup:
    top = max(max(shares) for shares in overlay.bins) or 1.0
    percent = "{:.3g}%".format
    axes = Axes(
        _axis(overlay, unit),
        Axis(0, 105 * top, "share of the rows", write=percent),
        f"Distribution of {name}",
        width=_WIDTH,
        height=_HEIGHT,
        bottom=24,
    )
    base = [(overlay.edges[-1], 0.0), (overlay.edges[0], 0.0)]
    real, synthetic, test = (_outline(overlay, place) for place in range(3))
    axes.marks.append(svg.outline([axes.at(*point) for point in (*real, *base)], "none", 0, REAL, 0.38))
    axes.line(test, TEST, 0.8, "2 3")
    axes.line(synthetic, SYNTHETIC, 1.8)
    axes.marks += _hints(overlay, axes, unit)
    return axes.picture()


def _outline(overlay: Overlay, table: int) -> list[tuple[float, float]]:
    """The upper ends of all bins of one table, in percent."""
    points = []
    for place, shares in enumerate(overlay.bins):
        height = 100 * shares[table]
        points += [(overlay.edges[place], height), (overlay.edges[place + 1], height)]
    return points


def _hints(overlay: Overlay, axes: Axes, unit: ColumnUnit) -> list[Markup]:
    """Areas without colour that tell the shares of a bin."""
    marks = []
    for place, shares in enumerate(overlay.bins):
        ends = overlay.edges[place], overlay.edges[place + 1]
        (left, top), (right, bottom) = axes.at(ends[0], axes.y.high), axes.at(ends[1], 0)
        hint = f"{unit.write(ends[0])} to {unit.write(ends[1])}: {_in_words(shares)}"
        marks.append(svg.box(left, top, right - left, bottom - top, "#fff", 0, hint))
    return marks


def _in_words(shares: Shares) -> str:
    return f"{shares.real:.2%} of the real, {shares.synthetic:.2%} of the synthetic, {shares.test:.2%} of the test rows"


def _bars_chart(name: str, bars: tuple[Bar, ...]) -> Markup:
    """Two bars for each value, as long as its share, and a tick where the test rows are. Long names wrap.

    Where they make the list very long it is cut into several drawings, each of which fits on a sheet of paper.
    """
    axis = Axis(0, 100 * (max(max(bar.shares) for bar in bars) or 1.0), write="{:.3g}%".format)
    title = f"Shares of the values of {name}"
    drawn, marks, y = [], list[Markup](), 4.0
    for bar in bars:
        lines = wrap_words(bar.label, _LABELS - 10, 11)
        height = max(26.0, _LINE * len(lines) + 6)
        if marks and y + height > _TALLEST:
            drawn.append(_with_axis(marks, y, axis, title))
            marks, y = [], 4.0
        marks += _bar_marks(bar, lines, y, height, axis)
        y += height
    return Markup("").join([*drawn, _with_axis(marks, y, axis, title)])


def _with_axis(marks: list[Markup], height: float, axis: Axis, title: str) -> Markup:
    """Rows of bars above an axis of shares."""
    grid = []
    for tick in axis.ticks(4):
        x = _LABELS + axis.share(tick) * (_END - _LABELS)
        grid += [
            svg.line(x, 2, x, height, _GRID),
            svg.text(x, height + 13, axis.write(tick), "middle", 10.5, svg.FAINT),
        ]
    grid.append(svg.line(_LABELS, 2, _LABELS, height))
    return svg.picture(_WIDTH, height + 18, [*grid, *marks], title)


def wrap_words(words: str, width: float, size: float) -> list[str]:
    """Lines that fit into a width at a size of letters; where a word is too long it is broken, and nothing is cut."""
    for letters in range(int(2.5 * width / size), 3, -1):
        lines = textwrap.wrap(words, letters) or [""]
        if max(_ems(line) for line in lines) * size <= width:
            break
    return lines


def _ems(line: str) -> float:
    """How wide a line is set at most, in sizes of its letters."""
    return sum(_em(letter) for letter in line)


def _em(letter: str) -> float:
    if letter in "MW@%" or ord(letter) > 0x2E80:
        return 1.0
    return 0.75 if letter.isupper() or letter in "mw" else 0.56


def _bar_marks(bar: Bar, lines: list[str], y: float, height: float, axis: Axis) -> list[Markup]:
    real, synthetic, test = (axis.share(100 * share) * (_END - _LABELS) for share in bar.shares)
    middle, hint = y + height / 2, f"{bar.label}: {_in_words(bar.shares)}"
    first = middle - _LINE * (len(lines) - 1) / 2 + 4
    names = [svg.text(_LABELS - 7, first + _LINE * place, line, "end", 11) for place, line in enumerate(lines)]
    return [
        *names,
        svg.box(_LABELS, middle - 9, real, 8.5, REAL, 0.75, hint),
        svg.box(_LABELS, middle + 0.5, synthetic, 8.5, SYNTHETIC, 0.85, hint),
        svg.line(_LABELS + test, middle - 10, _LABELS + test, middle + 10, TEST, 1.4),
        svg.text(_LABELS + max(real, test) + 5, middle - 1, _percent(bar.shares.real), size=10, fill=REAL),
        svg.text(
            _LABELS + max(synthetic, test) + 5, middle + 9.5, _percent(bar.shares.synthetic), size=10, fill=SYNTHETIC
        ),
    ]


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}" if share >= 0.0005 or share == 0 else "<0.1%"
