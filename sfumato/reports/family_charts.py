"""Pictures of linked tables: numbers of rows, columns of drawn rows, and what follows what."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.axes import Axes, Axis
from sfumato.charts.ordered import write
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec

WIDTH = 340.0
_BINS = 32
_INNER = (0.005, 0.995)  # shares of the rows between which numbers are drawn
_LETTERS, _LETTER = 16, 6.2


def numbers_chart(shares: Mapping[str, FloatArray], inks: Mapping[str, str]) -> Markup:
    """How many rows each parent row has, as bars side by side; beyond the last that holds something, nothing."""
    seen = max((int(np.flatnonzero(one > 0.0005).max(initial=0)) for one in shares.values()), default=0)
    most = max(float(one.max()) for one in shares.values())
    axes = Axes(
        Axis(-0.6, seen + 0.6, "rows", write=lambda value: f"{value:g}" if float(value).is_integer() else ""),
        Axis(0, most * 1.05, "share", write="{:.0%}".format),
        "Numbers of rows",
        width=420,
        height=220,
    )
    wide = 0.8 / len(shares)
    for place, (name, one) in enumerate(shares.items()):
        for number, share in enumerate(one[: seen + 1]):
            left, top = axes.at(number - 0.4 + place * wide, float(share))
            right, bottom = axes.at(number - 0.4 + (place + 1) * wide, 0)
            hint = f"{number} rows, {name}: {share:.2%}"
            axes.marks.append(svg.box(left, top, right - left, bottom - top, inks[name], 0.9, hint))
    return axes.picture()


def histogram_chart(numbers: FloatArray, codes: NumericCodec) -> Markup:
    """Numbers of drawn rows, on equal intervals of the range that holds nearly all."""
    known = numbers[~np.isnan(numbers)]
    if not len(known):
        return svg.picture(WIDTH, 20, [svg.text(4, 14, "no row has a value")], "Distribution")
    low, high = np.quantile(known, _INNER)
    if codes.whole and high - low < _BINS:
        edges = np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
    else:
        edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    held = np.histogram(known, edges)[0] / len(known)
    base, top = 96.0, 8.0
    scale = (WIDTH - 24) / (edges[-1] - edges[0])
    marks = [svg.line(12, base, WIDTH - 12, base)]
    for left, right, share in zip(edges, edges[1:], held, strict=False):
        height = (base - top) * share / max(float(held.max()), 1e-12)
        hint = f"{_written(codes, left)} to {_written(codes, right)}: {share:.2%}"
        x = 12 + (left - edges[0]) * scale
        marks.append(svg.box(x, base - height, max((right - left) * scale - 0.6, 0.5), height, svg.BAR, 0.9, hint))
    ends = (
        (12.0, edges[0], "start"),
        (WIDTH / 2, (edges[0] + edges[-1]) / 2, "middle"),
        (WIDTH - 12, edges[-1], "end"),
    )
    marks += [svg.text(x, base + 15, _written(codes, value), anchor, 11, svg.FAINT) for x, value, anchor in ends]
    missing = 1 - len(known) / len(numbers)
    if missing > 0:
        marks.append(svg.text(12, base + 31, f"missing: {missing:.1%}", size=11, fill=svg.FAINT))
    return svg.picture(WIDTH, base + (36 if missing > 0 else 20), marks, "Distribution")


def _written(codes: NumericCodec, number: float) -> str:
    number = min(max(number, codes.low), codes.high) if codes.unit is None else number
    if codes.dated:
        return str(codes.write(np.array([np.rint(number)]), np.array([False]))[0].as_py())
    return write(round(number) if codes.whole and codes.unit is None else number)


def following_chart(counts: IntArray, labels: Sequence[str]) -> Markup:
    """A square for every two values (before x now): of the rows with one before, the share with the other now."""
    size = len(labels)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cell = max(30.0, min(44.0, 300 / size))
    edge = 16 + _LETTER * min(_LETTERS, max(map(len, labels)))
    top = 26.0
    marks = [svg.text(edge + size * cell / 2, 11, "then", "middle", 11, svg.FAINT)]
    for row, name in enumerate(labels):
        y = top + row * cell
        marks.append(svg.label(edge - 6, y + cell / 2, f"{svg.shorten(name, _LETTERS - 3)} {row + 1}", _LETTERS, "end"))
        marks.append(svg.text(edge + (row + 0.5) * cell, top - 3, row + 1, "middle", 11, svg.FAINT, hint=name))
        for column, other in enumerate(labels):
            share = float(shares[row, column])
            hint = f"{name}, then {other}: {share:.1%}"
            marks.append(
                svg.box(edge + column * cell + 0.5, y + 0.5, cell - 1, cell - 1, svg.ATOM, 0.04 + 0.9 * share, hint)
            )
            ink = "#fff" if share > 0.5 else svg.INK
            marks.append(svg.text(edge + (column + 0.5) * cell, y + cell / 2 + 4, f"{share:.0%}", "middle", 11, ink))
    return svg.picture(edge + size * cell + 4, top + size * cell + 4, marks, "What follows what", 1.2)
