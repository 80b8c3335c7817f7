"""A column of three tables side by side: the shares of the same bins and values, to be drawn over each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sfumato.charts.natural_order import natural_order
from sfumato.evaluation.column_units import ColumnUnit
from sfumato.evaluation.raw_values import RawColumn
from sfumato.trusted.arrays import AnyIntArray, BoolArray, FloatArray
from sfumato.trusted.encoding import CategoricalCodec, NumericCodec

MOST_NAMED = 24
"""Values of a list that are drawn by name; where there are more, the least frequent share one bar."""
_MIDDLE = (0.01, 0.99)  # the quantiles of each table between which numbers are drawn
_BINS = 40
_SINGLE = 60  # integers, or multiples of a step, that have a bin each
_HEAP = 0.05  # a number held by this share of the rows of either table is drawn apart,
_ABOVE = 3.0  # where it is so many times as frequent as those beside it
_MOST_HEAPS = 8
_LOG_FROM = 30.0  # the factor between the ends from which a logarithmic column is drawn so


class Shares(NamedTuple):
    """Of all rows of each table, between 0 and 1."""

    real: float
    synthetic: float
    test: float


_NOTHING = Shares(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Bar:
    """The share of the rows that hold one value, or one kind of value."""

    label: str
    shares: Shares


@dataclass(frozen=True)
class Overlay:
    """The distribution of a column in the real, the synthetic and the test rows.

    bars     values that have a bar each: those of a list, heaps of equal numbers, missing, unreadable
    edges    the ends of the bins of all other numbers, in units of the column; none for a list
    bins     their shares, one fewer than edges
    beyond   the share of the rows whose number lies outside of the bins
    log      whether bins have equal ratios
    whole    whether the numbers are integers
    """

    bars: tuple[Bar, ...]
    edges: tuple[float, ...] = ()
    bins: tuple[Shares, ...] = ()
    beyond: Shares = _NOTHING
    log: bool = False
    whole: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        return {
            "bars": [{"label": bar.label, **bar.shares._asdict()} for bar in self.bars],
            "edges": list(self.edges),
            "bins": [shares._asdict() for shares in self.bins],
            "beyond": self.beyond._asdict(),
        }


def overlay_lists(columns: Sequence[RawColumn], codes: CategoricalCodec) -> Overlay:
    """A bar for each value of a list, in its natural order or the most frequent first; then what is not listed.

    columns   the real, the synthetic and the test rows
    """
    size = len(codes.values)
    labels = list(codes.texts)
    counts = np.stack([np.bincount(_listed(column, size), minlength=size + 2)[: size + 2] for column in columns])
    shares = counts / np.maximum([[len(column.values)] for column in columns], 1)
    order = natural_order(labels)
    frequent = np.argsort(-shares[:2, :size].max(axis=0), kind="stable")
    named = frequent if size <= MOST_NAMED else frequent[: MOST_NAMED - 1]
    shown = [place for place in order if place in named] if order else list(named)
    bars = [Bar(labels[place], _shares(shares[:, place])) for place in shown]
    if len(named) < size:
        rest = np.setdiff1d(np.arange(size), named)
        bars.append(Bar(f"{len(rest)} others", _shares(shares[:, rest].sum(axis=1))))
    return Overlay((*bars, *_extra_bars(["missing", "not in the schema's list"], shares[:, size:].T)))


def overlay_numbers(columns: Sequence[RawColumn], codes: NumericCodec, unit: ColumnUnit) -> Overlay:
    """Bins between the ends of the middle 98 % of the real and of the synthetic rows, and heaps beside them.

    columns   the real, the synthetic and the test rows
    """
    rows = [max(len(column.values), 1) for column in columns]
    numbers = [codes.in_units(column.values[~np.isnan(column.values)]) for column in columns]
    step = codes.unit.size if codes.unit is not None else float(codes.whole)
    heaps = np.empty(0) if _is_short(numbers, step) else _heaps(numbers[:2], rows)
    held = [[float(_equal(part, heap).sum()) for part in numbers] for heap in heaps]
    rest = [part[~np.any([_equal(part, heap) for heap in heaps], axis=0)] if len(heaps) else part for part in numbers]
    edges, log = _edges(rest, step, log=codes.log)
    counts = np.array([np.histogram(part, edges)[0] if len(edges) else [] for part in rest])
    beyond = [len(part) - found.sum() for part, found in zip(rest, counts, strict=True)]
    kinds = [[_nulls(column), column.unread.sum()] for column in columns]
    return Overlay(
        (
            *(Bar(f"= {unit.write(heap)}", _shares(np.divide(of, rows))) for heap, of in zip(heaps, held, strict=True)),
            *_extra_bars(["missing", "cannot be read"], (np.array(kinds) / np.array(rows)[:, None]).T),
        ),
        tuple(edges.tolist()),
        tuple(_shares(found / rows) for found in counts.T),
        _shares(np.divide(beyond, rows)),
        log,
        step == 1,
    )


def _listed(column: RawColumn, size: int) -> Any:
    """The number of each record's value; after those of the list missing, then all that are not listed."""
    values = column.values
    return np.where(np.isnan(values), size, np.where(values >= size, size + 1, values)).astype(np.int64)


def _nulls(column: RawColumn) -> int:
    return int((np.isnan(column.values) & ~column.unread).sum())


def _shares(three: Any) -> Shares:
    return Shares(*(float(share) for share in three))


def _extra_bars(labels: Sequence[str], shares: Any) -> list[Bar]:
    """Kinds of values that occur in some table."""
    return [Bar(label, _shares(of)) for label, of in zip(labels, shares, strict=True) if of.max() > 0]


def _is_short(numbers: Sequence[FloatArray], step: float) -> bool:
    """Whether every multiple of the step has a bin of its own."""
    window = _window(numbers)
    return bool(step) and window is not None and (window[1] - window[0]) / step < _SINGLE


def _window(numbers: Sequence[FloatArray]) -> tuple[float, float] | None:
    """Where the middle of the real and of the synthetic numbers lies; None: there is none."""
    finite = [part[np.isfinite(part)] for part in numbers[:2]]
    ends = np.array([np.quantile(part, _MIDDLE) for part in finite if len(part)])
    return (float(ends[:, 0].min()), float(ends[:, 1].max())) if len(ends) else None


def _heaps(numbers: Sequence[FloatArray], rows: Sequence[int]) -> FloatArray:
    """Numbers that many rows hold, in rising order."""
    found: dict[float, float] = {}
    for part, size in zip(numbers, rows, strict=False):
        values, counts = np.unique(part[np.isfinite(part)], return_counts=True)
        for place in np.flatnonzero(counts >= _HEAP * size).tolist():
            if counts[place] >= _ABOVE * _beside(counts, place):
                same = next((heap for heap in found if _equal(values[[place]], heap)[0]), float(values[place]))
                found[same] = max(found.get(same, 0.0), counts[place] / size)
    return np.sort(np.array(sorted(found, key=lambda heap: -found[heap])[:_MOST_HEAPS]))


def _beside(counts: AnyIntArray, place: int) -> float:
    """The median count of the three values before and the three after one; 0 where there are none."""
    near = np.concatenate((counts[max(0, place - 3) : place], counts[place + 1 : place + 4]))
    return float(np.median(near)) if len(near) else 0.0


def _equal(values: FloatArray, heap: float) -> BoolArray:
    """Which numbers are the heap; stored digits may differ."""
    same: BoolArray = np.abs(values - heap) <= 1e-6 * abs(heap)
    return same


def _edges(numbers: Sequence[FloatArray], step: float, *, log: bool) -> tuple[FloatArray, bool]:
    """The ends of the bins, and whether they have equal ratios."""
    window = _window(numbers)
    if window is None:
        return np.empty(0), False
    low, high = window
    if step:
        first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
        count = int(last - first) + 1
        together = 1 if count <= _SINGLE + 1 else -(-count // _BINS)
        return step * (first - 0.5 + together * np.arange(-(-count // together) + 1)), False
    if not high > low:
        return np.array([low - 0.5, low + 0.5]), False
    if log and low > 0 and high / low > _LOG_FROM:
        return np.geomspace(low, high, _BINS + 1), True
    return np.linspace(low, high, _BINS + 1), False
