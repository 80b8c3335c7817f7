"""The picture of an audit: each lower bound as a share of the claim that it is held against."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.axes import Axes, Axis

HELD, BROKEN = svg.BAR, svg.ATOM
_MOST = 2.5  # times the claim; longer bars are cut, and their number says so
_ROW = 42.0


def audit_chart(rows: Sequence[tuple[str, float]], title: str) -> Markup:
    """A bar for each named share of the claim, with a dashed line where the claim is. Empty where there are no rows."""
    if not rows:
        return Markup("")
    count = len(rows)
    axes = Axes(
        Axis(0, _MOST, "lower bound, as a share of the claim", write="{:g}".format),
        Axis(0, count, write=lambda _: ""),
        title,
        width=460,
        height=_ROW * count + 56,
        left=12,
    )
    for place, (name, share) in enumerate(rows):
        down = count - place - 0.7
        axes.line([(0, down), (min(share, _MOST), down)], BROKEN if share > 1 else HELD, 11)
        axes.line([(1, down - 0.2), (1, down + 0.2)], svg.INK, 1.4, "4 2")
        axes.words(0.02, down, name, rise=11)
        axes.words(_MOST, down, _written(share), "end", rise=11)
    return axes.picture()


def _written(share: float) -> str:
    return "without limit" if math.isinf(share) else f"{share:.2f}"
