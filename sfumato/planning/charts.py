"""The curves of a plan: every error against epsilon."""

from collections.abc import Sequence

from markupsafe import Markup

from sfumato.charts import svg
from sfumato.charts.axes import Axes, Axis, plain_number
from sfumato.planning.curve import Point

_FIGURES = {
    "column_error": "records in the wrong cell of a column",
    "pair_error": "records in the wrong cell of two columns",
    "prediction_gap": "loss of the predictor",
    "smallest_group": "smallest group that survives",
    "advantage": "what an attacker gains",
}
_SHARES = ("column_error", "pair_error", "advantage")


def curve_charts(curve: Sequence[Point], epsilon: float) -> list[tuple[str, Markup]]:
    """A drawing for each figure that the plan has, with its 80 % interval; the planned epsilon is marked."""
    found = []
    for name, words in _FIGURES.items():
        if all(_value(point, name) is not None for point in curve):
            found.append((words, _chart(curve, epsilon, name, words)))
    return found


def _chart(curve: Sequence[Point], epsilon: float, name: str, words: str) -> Markup:
    lines = [(point.epsilon, _value(point, name) or 0.0) for point in curve]
    ends = {point.epsilon: point.quality.intervals.get(name) for point in curve}
    lows = [(at, both[0]) for at, both in ends.items() if both]
    highs = [(at, both[1]) for at, both in ends.items() if both]
    values = [value for _, value in (*lines, *lows, *highs) if value > 0]
    axes = Axes(
        Axis(lines[0][0], max(lines[-1][0], lines[0][0] * 1.01), "epsilon", log=True),
        Axis(min(values) / 1.1, max(values) * 1.1, "", log=True, write=_percent if name in _SHARES else plain_number),
        f"{words}, against epsilon",
        width=340,
        height=220,
    )
    if lows:
        axes.band(lows, highs, svg.BAR)
    axes.line(lines)
    chosen = next(value for at, value in lines if at == epsilon)
    axes.dot(epsilon, chosen, hint=f"epsilon {epsilon:g}: {_write(name, chosen)}", radius=4.5)
    return axes.picture()


def _value(point: Point, name: str) -> float | None:
    value: float | None = point.advantage if name == "advantage" else getattr(point.quality, name)
    return value


def _percent(value: float) -> str:
    return f"{100 * value:.2g} %" if value < 0.995 else f"{100 * value:.0f} %"


def _write(name: str, value: float) -> str:
    return _percent(value) if name in _SHARES else f"{value:.3g}"
