"""KL by epsilon and by the size of the task, drawn from the results."""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from experiments import mixture_study as study
from experiments.mixture_accuracy import AXES, EPSILONS, NAIVE, PUBLISHED, scaling_case
from experiments.mixture_cells import Results
from sfumato.report import svg

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
STYLE = Markup("<style>text{font-family:'Helvetica Neue',Arial,sans-serif}</style>")
OURS, SECOND, THIRD, NAIVES, PUBLISHEDS, STUDYS = "#7a3b2e", "#cf8d2e", "#3f7f68", "#5b6b7f", "#76569c", "#bcb5aa"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Point(NamedTuple):
    """A median at a place, with its quartiles."""

    x: float
    y: float
    low: float
    high: float


class Series(NamedTuple):
    name: str
    colour: str
    points: Sequence[Point]


class Panel(NamedTuple):
    """Two logarithmic axes in a frame."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        across, up = (
            (math.log(value) - math.log(ends[0])) / (math.log(ends[1]) - math.log(ends[0]))
            for value, ends in ((x, self.x), (y, self.y))
        )
        return self.left + self.width * across, self.top + self.height * (1 - up)


def draw(results: Results, folder: Path = FOLDER) -> list[Path]:
    """The pictures that the results are enough for."""
    written = []
    for name, picture in (("mixture_scaling.svg", _scaling(results)), ("mixture_epsilon.svg", _by_epsilon(results))):
        if picture is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(str(picture) + "\n", encoding="utf-8")
            written.append(folder / name)
    return written


def _points(results: Results, part: str, cases: Mapping[float, str], figure: str) -> list[Point]:
    found = []
    for x, case in cases.items():
        numbers = results.figure(part, case, figure)
        if numbers is not None and numbers["median"] is not None:
            found.append(Point(x, numbers["median"], *numbers["quartiles"]))
    return found


def _known(figures: Mapping[int, float]) -> list[Point]:
    return [Point(x, y, y, y) for x, y in figures.items()]


def _scaling(results: Results) -> Markup | None:
    """Four panels with a common height of the axis."""
    panels: list[tuple[str, Sequence[int], list[Series]]] = []
    titles = {
        "rows": "rows (K 5, d 3)",
        "classes": "classes (N 10,000, d 3)",
        "columns": "columns (N 10,000, K 5)",
        "bounds": "bounds too wide, times (N 1,000)",
    }
    references = {"rows": study.ROWS, "columns": study.COLUMNS, "bounds": study.BOUNDS[1.0]}
    for axis, title in titles.items():
        cases = {float(value): scaling_case(axis, value) for value in AXES[axis]}
        series = [
            Series("naive", NAIVES, _points(results, "scaling", cases, "naive")),
            Series("study", STUDYS, _known(references.get(axis, {}))),
            Series("sfumato", OURS, _points(results, "scaling", cases, "kl")),
        ]
        if axis == "bounds":
            more = {float(value): scaling_case(axis, value, 4.0) for value in AXES[axis]}
            series.append(Series("sfumato, epsilon 4", SECOND, _points(results, "scaling", more, "kl")))
        panels.append((title, AXES[axis], series))
    drawn = [point for _, _, series in panels for one in series for point in one.points]
    if not any(one.points for _, _, series in panels for one in series if one.name == "sfumato"):
        return None
    y = decades(drawn)
    marks: list[Markup] = []
    for place, (title, ticks, series) in enumerate(panels):
        column, row = place % 2, place // 2
        panel = Panel(62 + 385 * column, 62 + 275 * row, 300, 200, (ticks[0] / 1.25, ticks[-1] * 1.25), y)
        marks += drawn_panel(panel, title, ticks, series)
    colours = {"sfumato, epsilon 1": OURS, "sfumato, epsilon 4": SECOND, "study, for reference": STUDYS}
    return sheet(780, 590, marks, "KL(released || fit) in nats, add-remove", colours | {"naive box moments": NAIVES})


def _by_epsilon(results: Results) -> Markup | None:
    colours = {"add-remove": OURS, "replace": SECOND, "label": THIRD, NAIVE: NAIVES, PUBLISHED: PUBLISHEDS}
    series = [
        Series(
            name,
            colour,
            _points(results, "main", {epsilon: f"{name}, epsilon {epsilon:g}" for epsilon in EPSILONS}, "kl"),
        )
        for name, colour in colours.items()
    ]
    reference = [
        Series("study", STUDYS, [Point(x, y, y, y) for x, y in zip(EPSILONS, study.MAIN[name], strict=True)])
        for name in ("add-remove", "replace", "label")
    ]
    if not any(one.points for one in series):
        return None
    panel = Panel(62, 82, 620, 330, (0.42, 9.5), decades([point for one in series + reference for point in one.points]))
    marks = drawn_panel(panel, "epsilon", EPSILONS, reference + series)
    title = "KL(released || fit) in nats, N 1,000, K 5, d 3, delta 1e-5"
    return sheet(720, 460, marks, title, colours | {"study, for reference": STUDYS}, rows=2)


def sheet(
    width: float, height: float, marks: Sequence[Markup], title: str, colours: Mapping[str, str], rows: int = 1
) -> Markup:
    """Marks on paper under a title and a key."""
    head = [STYLE, svg.box(0, 0, width, height, "#fffdfa"), svg.text(14, 21, title, size=14)]
    each = math.ceil(len(colours) / rows)
    for place, (name, colour) in enumerate(colours.items()):
        x, y = 14 + (width - 20) / each * (place % each), 39 + 16 * (place // each)
        head += [svg.line(x, y - 4, x + 18, y - 4, colour, 2.4), svg.text(x + 23, y, name, size=11)]
    return svg.picture(width, height, [*head, *marks], title)


def decades(points: Sequence[Point]) -> tuple[float, float]:
    low, high = min(point.low for point in points), max(point.high for point in points)
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


def drawn_panel(panel: Panel, title: str, ticks: Sequence[float], series: Sequence[Series]) -> list[Markup]:
    marks: list[Markup] = []
    first, last = (round(math.log10(end)) for end in panel.y)
    for power in range(first, last + 1):
        x, y = panel.at(panel.x[0], 10.0**power)
        marks.append(svg.line(x, y, x + panel.width, y, "#e5ddd1"))
        if (power - first) % 2 == 0 or last - first < 6:
            marks.append(
                svg.text(
                    x - 6,
                    y + 4,
                    "10" + str(power).translate(_SUPERSCRIPT),
                    "end",
                    11,
                )
            )
    for tick in ticks:
        x, y = panel.at(tick, panel.y[0])
        marks += [svg.line(x, y, x, y + 4), svg.text(x, y + 17, f"{tick:,g}", "middle", 11)]
    marks.append(svg.text(panel.left + panel.width / 2, panel.top + panel.height + 34, title, "middle", 12))
    for one in series:
        marks += _curve(panel, one)
    return marks


def _curve(panel: Panel, series: Series) -> list[Markup]:
    """Medians joined, quartiles as bars."""
    places = [panel.at(point.x, point.y) for point in series.points]
    width = 1.2 if series.colour == STUDYS else 1.8
    marks = [svg.line(*here, *there, series.colour, width) for here, there in itertools.pairwise(places)]
    for point, (x, y) in zip(series.points, places, strict=True):
        ends = [panel.at(point.x, end)[1] for end in (point.low, point.high)]
        marks.append(svg.line(x, ends[0], x, ends[1], series.colour, 1.2))
        marks.append(svg.dot(x, y, 2.6, series.colour, f"{series.name} at {point.x:,g}: {point.y:.3g}"))
    return marks
