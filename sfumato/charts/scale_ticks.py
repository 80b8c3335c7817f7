"""Round values on the scale of a column, and where they lie on a part of it: numbers, powers of ten, dates."""

import datetime as dt
import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sfumato.charts.axes import linear_ticks, plain_number
from sfumato.trusted.encoding import NumericCodec

_CLOSEST = 0.17  # of the axis, between two ticks
_FINE = 1e-6


class Window(NamedTuple):
    """A part of a scale, both ends as shares of it from 0 to 1."""

    low: float
    high: float

    def share(self, place: float) -> float:
        """Where a place of the scale lies in the window, from 0 to 1; beyond its ends it is cut."""
        return min(1.0, max(0.0, (place - self.low) / max(self.high - self.low, 1e-12)))


class Tick(NamedTuple):
    """Where it stands in the window, from 0 to 1, and what is written there."""

    share: float
    words: str


def place_of(codes: NumericCodec, value: object) -> float:
    """Where a value lies on the scale, from 0 to 1: a value that is a step of its own in the middle of it."""
    step = int(codes.steps_of(np.array([codes.number_of(value)]))[0])
    return (step + 0.5 * codes.exact) / codes.steps


def value_at(codes: NumericCodec, place: float, *, upper: bool = False) -> Any:
    """The value at a place of the scale."""
    step = min(int(place * codes.steps - (_FINE if upper else 0)), codes.steps - 1)
    return codes.edges(np.array([max(step, 0)], dtype=np.int32), upper=upper)[0].as_py()


def ticks_of(codes: NumericCodec, window: Window) -> list[Tick]:
    """Round values within a window, far enough apart to be read.

    Example
        >>> codes = Encoder(release.schema).columns["age"]
        >>> [tick.words for tick in ticks_of(codes, Window(0.0, 1.0))]
        ['0', '20', '40', '60', '80']
    """
    low, high = value_at(codes, window.low), value_at(codes, window.high, upper=True)
    if codes.dated:
        return _kept(codes, window, _dates(low, high))
    if codes.log:
        return _kept(codes, window, _powers(float(low), float(high)))
    numbers = linear_ticks(float(low), float(high), 5)
    whole = isinstance(low, int)
    return _kept(codes, window, [(number, plain_number(number)) for number in numbers if not whole or number % 1 == 0])


def _kept(codes: NumericCodec, window: Window, wanted: Iterable[tuple[Any, str]]) -> list[Tick]:
    """Those that lie within the window and leave room for one another; the first ones go first."""
    kept: list[Tick] = []
    for value, words in wanted:
        place = place_of(codes, int(value) if isinstance(value, float) and codes.whole and value % 1 == 0 else value)
        share = window.share(place)
        inside = window.low - _FINE <= place <= window.high + _FINE
        if inside and all(abs(share - other.share) >= _CLOSEST for other in kept):
            kept.append(Tick(share, words))
    return sorted(kept)


def _powers(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten first, then twice and five times them."""
    least = max(abs(low), high * 1e-9, 1e-12) if low > 0 else max(high * 1e-5, 1e-12)
    powers = [10.0**k for k in range(math.floor(math.log10(least)), math.ceil(math.log10(max(high, least))) + 1)]
    wanted = [*([low] if low <= 0 else []), *powers, *(2 * one for one in powers), *(5 * one for one in powers)]
    return [(round(one, 12), plain_number(one)) for one in wanted if low - _FINE * high <= one <= high * (1 + _FINE)]


def _dates(low: dt.date, high: dt.date) -> Iterator[tuple[dt.date, str]]:
    """The first days of years, quarters and months, then single days: as many as there are until some fit."""
    days = (high - low).days
    kind = type(low)
    years = range(low.year, high.year + 2)
    every = next((step for step in (1, 2, 5, 10, 20, 50) if len(years) / step <= 6), 100)
    if days > 1_000:
        yield from ((kind(year, 1, 1), str(year)) for year in years if year % every == 0)
    elif days > 45:
        for months in ((1, 7), (4, 10), range(1, 13)):
            for year, month in itertools.product(years, months):
                yield kind(year, month, 1), dt.date(year, month, 1).strftime("%b %Y")
    else:
        step = max(1, days // 4)
        for day in range(0, days + 1, step):
            moment = low + dt.timedelta(days=day)
            yield moment, f"{moment.day} {moment.strftime('%b %Y')}"
