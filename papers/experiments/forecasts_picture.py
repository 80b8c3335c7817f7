"""Forecast against truth, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from experiments.forecasts_data import TABLES
from experiments.forecasts_fit import Forecast, Measure
from experiments.forecasts_small import SMALL
from experiments.pictures import PAPER, STYLE
from sfumato.charts import svg
from sfumato.charts.axes import Axes, Axis

_TITLES = {
    "COLUMN_LAW": "one column, total variation",
    "PAIR_LAW": "two columns, total variation",
    "MEAN_LAW": "means, share of the range",
    "AREA_LAW": "predictor, loss of area under the curve",
    "NUMBER_LAW": "predictor, loss of R squared",
}
_COLOURS = {
    "fresh, made": svg.ATOM,
    "fresh, small": "#3f7d7a",
    "building, real": "#d9c9b2",
    "building, made": "#c9d3d9",
}
_WIDTH, _HEIGHT, _HEAD = 380.0, 300.0, 26.0


def draw_forecasts(found: Mapping[str, tuple[Measure, Sequence[Forecast]]], file: Path) -> None:
    """A panel for each measure: fresh releases dark, those of building tables faint, the interval as a band."""
    panels = [_panel(name, measure, points) for name, (measure, points) in found.items()]
    marks = [Markup(f'<rect width="100%" height="100%" fill="{PAPER}"/>'), STYLE]
    for number, panel in enumerate(panels):
        across, down = _WIDTH * (number % 3), _HEAD + _HEIGHT * (number // 3)
        place = f'<svg x="{across}" y="{down}" width="{_WIDTH}" height="{_HEIGHT}" '
        marks.append(Markup(str(panel).replace("<svg ", place, 1)))
    across, down = 2 * _WIDTH + 60, _HEAD + _HEIGHT + 60
    for line, (words, fill) in enumerate(_COLOURS.items()):
        marks.append(svg.dot(across, down + 22 * line, 4, fill))
        marks.append(svg.text(across + 12, down + 4 + 22 * line, words, "start", 13))
    marks.append(
        svg.text(across - 4, down + 22 * len(_COLOURS) + 10, "band: the 80 % interval of the plan", "start", 13)
    )
    marks.append(svg.text(16, 18, "What a plan forecasts, and what a release then was", "start", 15))
    whole = svg.picture(3 * _WIDTH, _HEAD + 2 * _HEIGHT, marks, "Forecast against truth")
    file.write_text(str(whole) + "\n", encoding="utf-8")


def _panel(name: str, measure: Measure, points: Sequence[Forecast]) -> Markup:
    low, high, most = measure.law.low, measure.law.high, measure.most
    forecast, truth = [one.middle for one in points], [one.truth for one in points]
    ends = (min(forecast) / 1.3, max(forecast) * 1.3)
    axes = Axes(
        Axis(*ends, "forecast", log=True),
        Axis(min(min(truth) / 1.3, ends[0] * low), min(most, max(max(truth), ends[1] * high)) * 1.1, "truth", log=True),
        _TITLES[name],
        width=_WIDTH,
        height=_HEIGHT,
    )
    steps = [ends[0] * (ends[1] / ends[0]) ** (k / 40) for k in range(41)]
    axes.band([(x, low * x) for x in steps], [(x, min(most, high * x)) for x in steps], svg.BAR)
    axes.line([(x, x) for x in steps], svg.FAINT, 1.0, "4 3")
    for one in sorted(points, key=lambda one: one.item["task"] not in measure.building):
        hint = f"{one.item['task']}, {one.item['rows']} rows, epsilon {one.item['epsilon']:g}"
        axes.dot(one.middle, one.truth, _COLOURS[_kind(one.item["task"], measure)], hint, 3.2)
    axes.words(ends[0] * 1.15, axes.y.high / 1.5, _TITLES[name])
    return axes.picture()


def _kind(task: str, measure: Measure) -> str:
    use = "building" if task in measure.building else "fresh"
    return f"{use}, {'small' if task in SMALL else 'real' if task in TABLES else 'made'}"
