"""What a figure is, and the kind that most of them are: a curve for each method over an axis."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from markupsafe import Markup
from sfumato_papers.liu import Reading, divergence

from experiments.cells import Cell, Figures, Results, shown, table
from experiments.liu.methods import EXPECTED, EXPECTED_GUARDED, NOTE, PARTS, STROKES, Case, expected_kl, mixtures
from experiments.pictures import Axis, Panel, Point, Series, decades, drawn_panel, sheet
from sfumato.charts import svg

FOLDER = Path(__file__).parents[2] / "docs" / "liu"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
TABLES = 200  # of which the expectation (8) is taken, here and on the page of claims

Measure = Callable[[str, float, int], Figures]  # of a part, a value of the axis and a trial


class Request(NamedTuple):
    """Where results are kept, if anywhere; few trials; the parts that may be measured, and whether they must be."""

    folder: Path | None
    quick: bool = False
    parts: Sequence[str] = PARTS
    fresh: bool = False


class Figure(Protocol):
    """A figure of the paper, measured and drawn anew."""

    @property
    def name(self) -> str:
        """Of its files: `figure_1`."""

    @property
    def title(self) -> str:
        """What the paper calls it, in short."""

    def run(self, request: Request) -> tuple[str, str]:
        """Its numbers as text, and its picture or table. In a folder what is measured is kept, not measured again."""

    def sentences(self, folder: Path) -> tuple[str, str]:
        """What it shows, and where it differs from the paper; from what is kept in the folder."""


def results(name: str, folder: Path | None) -> Results:
    return Results(folder / f"{name}.json" if folder else None)


def kl_of(case: Callable[[float, int], Case]) -> Measure:
    """KL(released || fit) in nats of one release by each method, of what is released at a value in a trial."""

    def measure(part: str, value: float, seed: int) -> Figures:
        now = case(value, seed)
        if part == "expected":
            readings: dict[str, Reading] = {EXPECTED: "leave", EXPECTED_GUARDED: "both"}
            return {name: expected_kl(now.scaled, now.epsilon, way, seed) for name, way in readings.items()}
        return {name: divergence(found, fitted).total for name, found, fitted in mixtures(part, now, seed)}

    return measure


@dataclass(frozen=True)
class CurveFigure:
    """A curve for each method over an axis: means with their intervals, and beside them medians with quartiles."""

    name: str
    title: str
    axis: str
    values: Sequence[float]
    measure: Measure
    trials: Mapping[str, int]  # by part
    quick_trials: int
    says: Callable[["Told"], tuple[str, str]]
    logarithmic: bool = True
    y: Axis | None = None  # otherwise powers of ten

    def run(self, request: Request) -> tuple[str, Markup]:
        found = results(self.name, request.folder)
        if request.fresh:
            found.forget(request.parts)
        for cell in self._cells(request):
            found.run(cell)
        return self._table(found), self._picture(found)

    def _cells(self, request: Request) -> Iterator[Cell]:
        for part, trials in self.trials.items():
            if part in request.parts:
                for value in self.values:
                    seeds = range(min(self.quick_trials, trials) if request.quick else trials)
                    yield Cell(part, self.case(value), seeds, partial(self.measure, part, value))

    def case(self, value: float) -> str:
        return f"{self.axis} {value:g}"

    def sentences(self, folder: Path) -> tuple[str, str]:
        return self.says(Told(results(self.name, folder), self))

    def figures(self, found: Results, value: float) -> dict[str, Any]:
        """Of all methods at a value."""
        cells = (found.find(part, self.case(value)) for part in self.trials)
        return {name: one for cell in cells if cell for name, one in cell["figures"].items()}

    def _table(self, found: Results) -> str:
        head = ["", *map(self.case, self.values)]
        names = dict.fromkeys(name for value in self.values for name in self.figures(found, value))
        at = [self.figures(found, value) for value in self.values]
        means = [[name, *(_mean(figures.get(name)) for figures in at)] for name in names]
        medians = [[name, *(shown(figures.get(name)) for figures in at)] for name in names]
        return (
            f"{heading(self.name)}: {self.title}\n{table(['mean (95 %)', *head[1:]], means)}\n\n"
            f"{table(['median (quartiles)', *head[1:]], medians)}"
        )

    def _picture(self, found: Results) -> Markup:
        ways = {"means, with 95 % intervals": _mean_point, "medians, with quartiles": _median_point}
        drawn = {way: self._series(found, point) for way, point in ways.items()}
        points = [point for series in drawn.values() for one in series for point in one.points]
        low, high = self.values[0], self.values[-1]
        x = Axis(low / 1.15, high * 1.15) if self.logarithmic else Axis(low - 0.4, high + 0.4, logarithmic=False)
        y = self.y or decades(points)
        marks: list[Markup] = []
        for place, (way, series) in enumerate(drawn.items()):
            panel = Panel(52 + 540 * place, 102, 480, 380, x, y)
            marks.append(svg.text(panel.left, panel.top - 10, way, size=12))
            marks += drawn_panel(panel, self.axis, self.values, series)
        key = {one.name: one.stroke for one in next(iter(drawn.values()))}
        return sheet(1090, 555, marks, f"{heading(self.name)}. {self.title}", key, rows=3, note=NOTE)

    def _series(self, found: Results, point: Callable[[float, Any], Point]) -> list[Series]:
        at = {value: self.figures(found, value) for value in self.values}
        series = []
        for name, stroke in STROKES.items():
            points = [point(value, figures[name]) for value, figures in at.items() if name in figures]
            if points:
                series.append(Series(name, stroke, points))
        return series


def _mean_point(value: float, one: Any) -> Point:
    return Point(value, one["mean"], *one["interval"])


def _median_point(value: float, one: Any) -> Point:
    return Point(value, one["median"], *one["quartiles"])


def _mean(one: Any) -> str:
    """0.0253 (0.018-0.04)."""
    return f"{one['mean']:.3g} ({one['interval'][0]:.3g}-{one['interval'][1]:.3g})" if one else "-"


def heading(name: str) -> str:
    """Figure 1."""
    return name.replace("_", " ").capitalize()


def in_words(number: float) -> str:
    """Two digits, as people write them: 0.0031, 2.4, 130, 4,700."""
    return f"{float(f'{number:.2g}'):,.0f}" if number >= 10 else f"{number:.2g}"


@dataclass(frozen=True)
class Told:
    """Means and medians of a figure by method, to be written into sentences. NaN where there is none."""

    found: Results
    figure: CurveFigure

    def mean(self, method: str, value: float) -> float:
        one = self.figure.figures(self.found, value).get(method)
        return float(one["mean"]) if one else math.nan

    def median(self, method: str, value: float) -> float:
        one = self.figure.figures(self.found, value).get(method)
        return float(one["median"]) if one else math.nan

    def text(self, method: str, value: float) -> str:
        """The mean, and the median in brackets: 1.8 (1.4)."""
        return f"{in_words(self.mean(method, value))} ({in_words(self.median(method, value))})"
