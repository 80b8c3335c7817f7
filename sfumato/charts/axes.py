"""A drawing area with axes: ticks, grid and labels, and marks that are placed in units of the data."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from sfumato.charts import svg

_GRID = "#e9e2d8"
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)


def plain_number(value: float) -> str:
    """As a person writes it: 0.05, 12, 1,000, 2.5M."""
    if value == 0:
        return "0"
    for size, letter in ((1e9, "G"), (1e6, "M")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


@dataclass(frozen=True)
class Axis:
    """One direction: its ends, what it measures, and how a tick is written. `log`: equal factors, equal steps."""

    low: float
    high: float
    label: str = ""
    log: bool = False
    write: Callable[[float], str] = plain_number

    def share(self, value: float) -> float:
        """Where a value lies, from 0 at the low end to 1 at the high one; beyond them it is cut."""
        low, high, value = (
            (math.log(end) for end in (self.low, self.high, max(value, self.low)))
            if self.log
            else (self.low, self.high, value)
        )
        return min(1.0, max(0.0, (value - low) / ((high - low) or 1.0)))

    def ticks(self, most: int = 6) -> list[float]:
        """Round values between the ends, `most` at most."""
        return _log_ticks(self.low, self.high, most) if self.log else linear_ticks(self.low, self.high, most)


def linear_ticks(low: float, high: float, most: int) -> list[float]:
    """Round values between two ends, `most` at most."""
    if not high > low:
        return [low]
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(size * nice for nice in _NICE if (high - low) / (size * nice) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [d * 10.0**power for power in powers for d in digits]
        inside = [tick for tick in found if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(inside) <= most:
            break
    return inside[:: -(-len(inside) // most)] if inside else [low]


@dataclass
class Axes:
    """An area of `width` x `height`, axes included, to which marks are added; `picture` gives the drawing."""

    x: Axis
    y: Axis
    title: str
    width: float = 420.0
    height: float = 260.0
    left: float = 54.0
    bottom: float = 40.0
    marks: list[Markup] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The point of the drawing where two values of the data meet."""
        right, top = self.width - 20, 12.0
        return (
            self.left + self.x.share(x) * (right - self.left),
            self.height - self.bottom - self.y.share(y) * (self.height - self.bottom - top),
        )

    def line(
        self, points: Sequence[tuple[float, float]], stroke: str = svg.ATOM, width: float = 2.0, dashes: str = ""
    ) -> None:
        """A line through points."""
        self.marks.append(svg.path([self.at(*point) for point in points], stroke, width, dashes))

    def band(self, low: Sequence[tuple[float, float]], high: Sequence[tuple[float, float]], fill: str) -> None:
        """The area between two lines."""
        points = [self.at(*point) for point in (*low, *reversed(high))]
        self.marks.append(svg.outline(points, "none", 0, fill, 0.25))

    def dot(self, x: float, y: float, fill: str = svg.ATOM, hint: str = "", radius: float = 3.5) -> None:
        """A point."""
        self.marks.append(svg.dot(*self.at(x, y), radius, fill, hint))

    def words(
        self, x: float, y: float, words: str, anchor: str = "start", fill: str = svg.INK, rise: float = 6
    ) -> None:
        """Words beside a point."""
        across, down = self.at(x, y)
        self.marks.append(svg.text(across, down - rise, words, anchor, 11, fill))

    def picture(self) -> Markup:
        """Axes below, marks above."""
        return svg.picture(self.width, self.height, [*self._frame(), *self.marks], self.title)

    def _frame(self) -> list[Markup]:
        (x0, y0), (x1, y1) = self.at(self.x.low, self.y.low), self.at(self.x.high, self.y.high)
        marks = []
        for tick in self.x.ticks(max(3, int(self.width / 70))):
            across, _ = self.at(tick, self.y.low)
            marks.append(svg.line(across, y0, across, y1, _GRID))
            marks.append(svg.text(across, y0 + 15, self.x.write(tick), "middle", 11, svg.FAINT))
        for tick in self.y.ticks(max(3, int(self.height / 45))):
            _, down = self.at(self.x.low, tick)
            marks.append(svg.line(x0, down, x1, down, _GRID))
            marks.append(svg.text(x0 - 6, down + 4, self.y.write(tick), "end", 11, svg.FAINT))
        marks.append(svg.line(x0, y0, x1, y0))
        marks.append(svg.line(x0, y0, x0, y1))
        if self.x.label:
            marks.append(svg.text((x0 + x1) / 2, y0 + 32, self.x.label, "middle", 12))
        if self.y.label:
            marks.append(svg.text(13, (y0 + y1) / 2, self.y.label, "middle", 12, turn=-90))
        return marks
