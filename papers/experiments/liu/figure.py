"""What a figure is, and the kind that most of them are: a curve for each method over an axis."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from markupsafe import Markup
from sfumato_papers.liu import divergence

from experiments.cells import Cell, Figures, Results, shown, table
from experiments.liu.methods import NOTE, STROKES, mixtures
from experiments.mixture_data import Records
from experiments.pictures import Axis, Panel, Point, Series, decades, drawn_panel, sheet

FOLDER = Path(__file__).parents[2] / "docs" / "liu"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


class Figure(Protocol):
    """A figure of the paper, measured and drawn anew."""

    @property
    def name(self) -> str:
        """Of its files: `figure_1`."""

    @property
    def title(self) -> str:
        """What the paper calls it, in short."""

    def run(self, folder: Path | None, quick: bool) -> tuple[str, str]:
        """Its numbers as text, and its picture or table. In a folder what is measured is kept, not measured again."""

    def sentences(self, folder: Path) -> tuple[str, str]:
        """What it shows, and where it differs from the paper; from what is kept in the folder."""


def results(name: str, folder: Path | None) -> Results:
    return Results(folder / f"{name}.json" if folder else None)


def kl_of_all(
    records: Records, published: Records, epsilon: float, seed: int, *, whole: bool = True, label: bool = True
) -> Figures:
    """KL(released || fit) in nats of one release by each method."""
    every = mixtures(records, published, epsilon, seed, whole=whole, label=label)
    return {name: divergence(found, fitted).total for name, found, fitted in every}


@dataclass(frozen=True)
class CurveFigure:
    """A curve for each method over an axis: medians and quartiles of trials."""

    number: int
    title: str
    axis: str
    values: Sequence[float]
    measure: Callable[[float, int], Figures]  # of a value of the axis and a trial
    trials: int
    quick_trials: int
    says: Callable[["Medians"], tuple[str, str]]
    logarithmic: bool = True
    y: Axis | None = None  # otherwise powers of ten

    @property
    def name(self) -> str:
        return f"figure_{self.number}"

    def run(self, folder: Path | None, quick: bool) -> tuple[str, Markup]:
        found = results(self.name, folder)
        for cell in self._cells(quick):
            found.run(cell)
        return self._table(found), self._picture(found)

    def _cells(self, quick: bool) -> Iterator[Cell]:
        for value in self.values:
            seeds = range(self.quick_trials if quick else self.trials)
            yield Cell(self.name, self.case(value), seeds, partial(self.measure, value))

    def case(self, value: float) -> str:
        return f"{self.axis} {value:g}"

    def sentences(self, folder: Path) -> tuple[str, str]:
        return self.says(Medians(results(self.name, folder), self))

    def _table(self, found: Results) -> str:
        names = dict.fromkeys(name for value in self.values for name in self._figures(found, value))
        rows = [[name, *(shown(self._figures(found, value).get(name)) for value in self.values)] for name in names]
        return f"figure {self.number}: {self.title}\n" + table(["", *map(self.case, self.values)], rows)

    def _figures(self, found: Results, value: float) -> dict[str, Any]:
        cell = found.find(self.name, self.case(value))
        return dict(cell["figures"]) if cell else {}

    def _picture(self, found: Results) -> Markup:
        series = []
        for name, stroke in STROKES.items():
            figures = [(value, self._figures(found, value).get(name)) for value in self.values]
            points = [Point(value, one["median"], *one["quartiles"]) for value, one in figures if one]
            if points:
                series.append(Series(name, stroke, points))
        low, high = self.values[0], self.values[-1]
        x = Axis(low / 1.15, high * 1.15) if self.logarithmic else Axis(low - 0.4, high + 0.4, logarithmic=False)
        y = self.y or decades([point for one in series for point in one.points])
        panel = Panel(62, 92, 650, 380, x, y)
        marks = drawn_panel(panel, self.axis, self.values, series)
        key = {one.name: one.stroke for one in series}
        return sheet(740, 545, marks, f"Figure {self.number}. {self.title}", key, rows=3, note=NOTE)


def in_words(number: float) -> str:
    """Two digits, as people write them: 0.0031, 2.4, 130, 4,700."""
    return f"{float(f'{number:.2g}'):,.0f}" if number >= 10 else f"{number:.2g}"


@dataclass(frozen=True)
class Medians:
    """Medians of a figure by method, to be written into sentences."""

    found: Results
    figure: CurveFigure

    def __call__(self, method: str, value: float) -> float:
        return self.found.median(self.figure.name, self.figure.case(value), method)

    def text(self, method: str, value: float) -> str:
        return in_words(self(method, value))
