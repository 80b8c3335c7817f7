"""The distribution of a column as a picture, with the band of its noise."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from markupsafe import Markup

from sfumato.charts import svg
from sfumato.fitting.models.model import Model
from sfumato.trusted.encoding import Codes, NumericCodec

_WIDTH, _HEIGHT, _BASE = 320.0, 150.0, 128.0
_MISSING_WIDTH = 26.0
_LISTED_AT_MOST = 10


def column_chart(model: Model, name: str, codes: Codes) -> Markup:
    """The distribution of a column with the band of its noise."""
    table = model.describe(name, codes)
    marks = _ordered_marks(table, codes) if isinstance(codes, NumericCodec) else _listed_marks(table)
    return svg.picture(_WIDTH, _HEIGHT, marks, f"Distribution of {name}")


def _listed_marks(table: pa.Table) -> list[Markup]:
    """A bar to the right for each value, most frequent first; the long tail in one."""
    rows = sorted(table.to_pylist(), key=lambda row: -row["probability"])
    shown, tail = (
        (rows, []) if len(rows) <= _LISTED_AT_MOST else (rows[: _LISTED_AT_MOST - 1], rows[_LISTED_AT_MOST - 1 :])
    )
    step = min(26.0, _HEIGHT / (len(shown) + bool(tail)))
    top = max(row["high"] for row in shown)
    scale = 175 / max(top, sum(row["probability"] for row in tail), 1e-9)
    marks = []
    for place, row in enumerate(shown):
        y = place * step
        label = "missing" if row["value"] is None else str(row["value"])
        hint = f"{label}: {row['probability']:.2%}, noise band {row['low']:.2%} to {row['high']:.2%}"
        marks += [
            svg.text(100, y + step / 2 + 3.5, svg.shorten(label, 18), "end"),
            svg.box(106, y + 2, row["probability"] * scale, step - 4, svg.BAR, 0.85, hint),
            svg.box(
                106 + row["low"] * scale,
                y + step / 2 - 2.5,
                (row["high"] - row["low"]) * scale,
                5,
                svg.BAND,
                0.45,
                hint,
            ),
            svg.text(
                112 + row["high"] * scale, y + step / 2 + 3.5, _percent(row["probability"]), size=9, fill=svg.FAINT
            ),
        ]
    if tail:
        y, share = len(shown) * step, sum(row["probability"] for row in tail)
        marks += [
            svg.text(100, y + step / 2 + 3.5, f"{len(tail)} others", "end", fill=svg.FAINT),
            svg.box(106, y + 2, share * scale, step - 4, svg.BAR, 0.4),
            svg.text(112 + share * scale, y + step / 2 + 3.5, _percent(share), size=9, fill=svg.FAINT),
        ]
    return marks


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
    def single(self) -> bool:
        """Whether it is one value among many: an atom."""
        return self.right - self.left < 1e-5


def _ordered_marks(table: pa.Table, codes: NumericCodec) -> list[Markup]:
    """Bars whose area is probability; atoms as pins whose height is probability; missing as a bar of its own."""
    rows = table.to_pylist()
    present = [row for row in rows if row["first"] is not None]
    missing = [row for row in rows if row["first"] is None]
    right = _WIDTH - (_MISSING_WIDTH + 14) * bool(missing)
    bars = [_bar(row, codes) for row in present]
    wide = [bar for bar in bars if not bar.single]
    tallest = max((bar.high / (bar.right - bar.left) for bar in wide), default=1.0)
    likeliest = max([bar.high for bar in bars if bar.single] + [row["high"] for row in missing] + [0.3])
    marks = [mark for bar in wide for mark in _bar_marks(bar, right, tallest)]
    marks += [
        mark for bar in bars if bar.single and bar.probability > 0.003 for mark in _pin_marks(bar, right, likeliest)
    ]
    marks += [mark for row in missing for mark in _missing_marks(row, right + 14, likeliest)]
    marks.append(svg.line(0, _BASE, right, _BASE))
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        marks.append(svg.text(share * right, _BASE + 13, _tick(codes, share), anchor, 9, svg.FAINT))
    return marks


def _bar(row: Mapping[str, object], codes: NumericCodec) -> _Bar:
    first, last = (codes.steps_of(np.array([codes.number_of(row[end])]))[0] for end in ("first", "last"))
    atom = row["first"] == row["last"] and not codes.exact
    left, right = first / codes.steps, (first if atom else last + 1) / codes.steps
    span = _show(row["first"]) if row["first"] == row["last"] else f"{_show(row['first'])} to {_show(row['last'])}"
    probability, low, high = (float(row[key]) for key in ("probability", "low", "high"))  # type: ignore[arg-type]
    return _Bar(left, right, probability, low, high, f"{span}: {probability:.2%}, noise band {low:.2%} to {high:.2%}")


def _bar_marks(bar: _Bar, right: float, tallest: float) -> list[Markup]:
    unit = (_BASE - 8) / tallest / (bar.right - bar.left)
    x, width = bar.left * right, (bar.right - bar.left) * right
    gap = min(0.4, width / 4)
    height, low, high = bar.probability * unit, bar.low * unit, bar.high * unit
    return [
        svg.box(x + gap / 2, _BASE - height, width - gap, height, svg.BAR, 0.85, bar.hint),
        svg.box(x + gap / 2, _BASE - high, width - gap, high - low, svg.BAND, 0.25, bar.hint),
    ]


def _pin_marks(bar: _Bar, right: float, likeliest: float) -> list[Markup]:
    x, height = bar.left * right, bar.probability / likeliest * (_BASE - 24)
    inward = "start" if bar.left < 0.8 else "end"
    return [
        svg.line(x, _BASE, x, _BASE - height, svg.ATOM, 2),
        svg.dot(x, _BASE - height, 3, svg.ATOM, bar.hint),
        svg.text(
            x + (6 if inward == "start" else -6), _BASE - height - 3, _percent(bar.probability), inward, 9, svg.ATOM
        ),
    ]


def _missing_marks(row: Mapping[str, float], x: float, likeliest: float) -> list[Markup]:
    unit = (_BASE - 24) / likeliest
    hint = f"missing: {row['probability']:.2%}, noise band {row['low']:.2%} to {row['high']:.2%}"
    top = _BASE - row["high"] * unit
    return [
        svg.box(x, _BASE - row["probability"] * unit, _MISSING_WIDTH, row["probability"] * unit, "#cfc5b8", hint=hint),
        svg.box(x, top, _MISSING_WIDTH, (row["high"] - row["low"]) * unit, svg.BAND, 0.3, hint),
        svg.text(x + _MISSING_WIDTH / 2, top - 4, _percent(row["probability"]), "middle", 9, svg.FAINT),
        svg.text(x + _MISSING_WIDTH, _BASE + 13, "missing", "end", 9, svg.FAINT),
        svg.line(x, _BASE, x + _MISSING_WIDTH, _BASE),
    ]


def _tick(codes: NumericCodec, share: float) -> str:
    step = min(int(share * codes.steps), codes.steps - 1)
    return _show(codes.edges(np.array([step], dtype=np.int32), upper=share >= 1)[0].as_py())


def _show(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"
