"""The distribution of a column of numbers or dates, on the part of its scale where the records are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.axes import linear_ticks, plain_number
from sfumato.charts.listed import percent
from sfumato.charts.scale_ticks import Window, ticks_of, value_at
from sfumato.errors import RequestError
from sfumato.fitting.models.model import Model
from sfumato.trusted.encoding import NumericCodec

_HEIGHT, _TOP = 184.0, 14.0
_BASE = 146.0
_LEFT = 34.0  # room for the shares, where bars are equally wide
_MISSING = 30.0
_SIZE = 11.0
_SHARES = (0.995, 0.99, 0.975, 0.95)  # of the records that an axis may show
_WORTH = 0.6  # of the scale: a window that is not smaller than this is not worth hiding records
_LONG = 4.0  # times the middle four fifths of the records: a tail this long hides them
_SEEN_PIN = 0.003
_FEWEST_BARS = 3
_MOST_HIDDEN = 0.06


@dataclass(frozen=True)
class _Bar:
    """An interval of the scale, from 0 to 1, with its probability and the band of its noise."""

    left: float
    right: float
    probability: float
    low: float
    high: float
    hint: str

    @property
    def is_atom(self) -> bool:
        """Whether it is one value among many."""
        return self.right - self.left < 1e-5

    @property
    def width(self) -> float:
        return self.right - self.left


def ordered_chart(
    model: Model, name: str, codes: NumericCodec, rows: Sequence[Mapping[str, Any]], width: float
) -> tuple[float, list[Markup]]:
    """Bars whose area is probability; single values that stand out as pins, by height; missing as a bar of its own.

    The axis shows where nearly all records are. What lies beyond it is said below it.
    """
    missing = [row for row in rows if row["first"] is None]
    bars = [_bar(row, codes) for row in rows if row["first"] is not None]
    window = _fitting(choose_window(model, name, codes), bars)
    seen = [bar for bar in bars if bar.right >= window.low and bar.left <= window.high]
    wide = [bar for bar in seen if not bar.is_atom]
    even = _even_width(wide)
    frame = _Frame(_LEFT if even else 4.0, width - (_MISSING + 16 if missing else 6), window, _tallest(wide))
    likeliest = max([bar.high for bar in seen if bar.is_atom] + [row["high"] for row in missing] + [0.3])
    marks = frame.shares(even) if even else []
    marks += [mark for bar in wide for mark in frame.bar(bar)]
    pins = [bar for bar in seen if bar.is_atom and bar.probability > _SEEN_PIN]
    marks += [mark for bar in pins for mark in frame.pin(bar, likeliest)]
    marks += [mark for row in missing for mark in _missing_marks(row, frame.right + 14, likeliest)]
    marks += frame.axis(codes)
    beyond = _beyond(bars, window, codes)
    marks += [svg.text(frame.left, _HEIGHT - 3, beyond, size=_SIZE, fill=svg.FAINT)] if beyond else []
    return _HEIGHT if beyond else _HEIGHT - 16, marks


def choose_window(model: Model, name: str, codes: NumericCodec) -> Window:
    """The part of the scale that holds nearly all records, or all of it where that is not much larger.

    Up to one record of twenty may lie outside where a long tail would leave no room for the others.
    """
    tails = [(1 - share) / 2 for share in _SHARES]
    shares = np.array([*tails, 0.1, 0.9, *(1 - tail for tail in reversed(tails))])
    try:
        steps = codes.steps_of(model.quantile(name, shares, codes)) / codes.steps
    except RequestError:  # no record has a value
        return Window(0.0, 1.0)
    middle = steps[len(tails) + 1] - steps[len(tails)]
    for place in range(len(tails)):
        low, high = _with_room(float(steps[place]), float(steps[-1 - place]), codes)
        if high - low <= _LONG * middle:
            break
    return Window(low, high) if high - low < _WORTH else Window(0.0, 1.0)


def _fitting(window: Window, bars: Sequence[_Bar]) -> Window:
    """The window, unless it looks into a single bar, of which nothing more is known."""
    inside = [bar for bar in bars if bar.right > window.low and bar.left < window.high and not bar.is_atom]
    return window if len(inside) >= _FEWEST_BARS and _hidden(bars, window) <= _MOST_HIDDEN else Window(0.0, 1.0)


def _with_room(low: float, high: float, codes: NumericCodec) -> tuple[float, float]:
    """A little more on either side, up to the bound where it is near."""
    room = 0.06 * (high - low) + 1.5 / codes.steps
    return (0.0 if low < 2 * room else low - room), (1.0 if high > 1 - 2 * room else min(1.0, high + room))


@dataclass(frozen=True)
class _Frame:
    """From places of the scale to points of the drawing."""

    left: float
    right: float
    window: Window
    tallest: float

    def x(self, place: float) -> float:
        return self.left + self.window.share(place) * (self.right - self.left)

    def bar(self, bar: _Bar) -> list[Markup]:
        x, width = self.x(bar.left), self.x(bar.right) - self.x(bar.left)
        gap = min(0.5, width / 4)
        height, low, high = (self._height(share / bar.width) for share in (bar.probability, bar.low, bar.high))
        return [
            svg.box(x + gap / 2, _BASE - height, width - gap, height, svg.BAR, 0.85, bar.hint),
            svg.box(x + gap / 2, _BASE - high, width - gap, high - low, svg.BAND, 0.25, bar.hint),
        ]

    def _height(self, density: float) -> float:
        return min(1.0, density / self.tallest) * (_BASE - _TOP)

    def pin(self, bar: _Bar, likeliest: float) -> list[Markup]:
        x, top = self.x(bar.left), _BASE - bar.probability / likeliest * (_BASE - _TOP - 16)
        inward = self.window.share(bar.left) < 0.8
        words = percent(bar.probability)
        return [
            svg.line(x, _BASE, x, top, svg.ATOM, 2),
            svg.dot(x, top, 3.5, svg.ATOM, bar.hint),
            svg.text(x + (7 if inward else -7), top - 3, words, "start" if inward else "end", _SIZE, svg.ATOM),
        ]

    def shares(self, even: float) -> list[Markup]:
        """Lines at round shares of the records, where all bars are equally wide."""
        marks = []
        for share in linear_ticks(0.0, self.tallest * even, 3)[1:]:
            y = _BASE - self._height(share / even)
            words = f"{plain_number(100 * share)}%"
            marks += [
                svg.line(self.left, y, self.right, y, "#e9e2d8"),
                svg.text(self.left - 5, y + 4, words, "end", _SIZE, svg.FAINT),
            ]
        return marks

    def axis(self, codes: NumericCodec) -> list[Markup]:
        marks = [svg.line(self.left, _BASE, self.right, _BASE)]
        for tick in ticks_of(codes, self.window):
            x = self.left + tick.share * (self.right - self.left)
            half = 3.0 * len(tick.words)
            anchor = "start" if x - half < 0 else "end" if x + half > self.right + 8 else "middle"
            marks += [
                svg.line(x, _BASE, x, _BASE + 4),
                svg.text(x, _BASE + 16, tick.words, anchor, _SIZE, svg.FAINT),
            ]
        return marks


def _bar(row: Mapping[str, Any], codes: NumericCodec) -> _Bar:
    first, last = (int(codes.steps_of(np.array([codes.number_of(row[end])]))[0]) for end in ("first", "last"))
    atom = row["first"] == row["last"] and not codes.exact
    left, right = first / codes.steps, (first if atom else last + 1) / codes.steps
    span = write(row["first"]) if row["first"] == row["last"] else f"{write(row['first'])} to {write(row['last'])}"
    probability, low, high = (float(row[key]) for key in ("probability", "low", "high"))
    return _Bar(left, right, probability, low, high, f"{span}: {probability:.2%}, noise band {low:.2%} to {high:.2%}")


def _tallest(bars: Sequence[_Bar]) -> float:
    """A fifth above the densest bar: bands of noise that reach higher are cut there."""
    return max([1.2 * bar.probability / bar.width for bar in bars] + [1e-9])


def _even_width(bars: Sequence[_Bar]) -> float:
    """The width of all bars, where they are equally wide; else 0."""
    widths = [bar.width for bar in bars]
    return widths[0] if len(widths) > 1 and max(widths) < 1.01 * min(widths) else 0.0


def _missing_marks(row: Mapping[str, float], x: float, likeliest: float) -> list[Markup]:
    unit = (_BASE - _TOP - 16) / likeliest
    hint = f"missing: {row['probability']:.2%}, noise band {row['low']:.2%} to {row['high']:.2%}"
    top = _BASE - row["high"] * unit
    return [
        svg.box(x, _BASE - row["probability"] * unit, _MISSING, row["probability"] * unit, "#cfc5b8", hint=hint),
        svg.box(x, top, _MISSING, (row["high"] - row["low"]) * unit, svg.BAND, 0.3, hint),
        svg.text(x + _MISSING / 2, top - 4, percent(row["probability"]), "middle", _SIZE, svg.FAINT),
        svg.text(x + _MISSING, _BASE + 16, "missing", "end", _SIZE, svg.FAINT),
        svg.line(x, _BASE, x + _MISSING, _BASE),
    ]


def _beyond(bars: Sequence[_Bar], window: Window, codes: NumericCodec) -> str:
    """What the axis does not show."""
    if window == Window(0.0, 1.0):
        return ""
    hidden = _hidden(bars, window)
    low, high = (write(value_at(codes, end, upper=end > 0)) for end in (0.0, 1.0))
    share = "under 0.1%" if hidden < 0.001 else percent(hidden)
    return f"{share} lies outside, between the bounds {low} and {high}"


def _hidden(bars: Sequence[_Bar], window: Window) -> float:
    """The share of the records that a window leaves out."""
    return sum(bar.probability * (1 - _part(bar, window)) for bar in bars)


def _part(bar: _Bar, window: Window) -> float:
    """Which part of a bar lies in a window."""
    if bar.is_atom:
        return float(window.low <= bar.left <= window.high)
    return max(0.0, min(bar.right, window.high) - max(bar.left, window.low)) / bar.width


def write(value: object) -> str:
    """A value as a person writes it."""
    if isinstance(value, float):
        return plain_number(value) if abs(value) >= 1_000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
