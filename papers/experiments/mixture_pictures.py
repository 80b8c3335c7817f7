"""KL by epsilon and by the size of the task, drawn from the results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from experiments import mixture_study as study
from experiments.cells import Results
from experiments.mixture_accuracy import AXES, EPSILONS, NAIVE, PUBLISHED, scaling_case
from experiments.pictures import Axis, Panel, Point, Series, Stroke, decades, drawn_panel, sheet, write

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
OURS, SECOND, THIRD = Stroke("#7a3b2e"), Stroke("#cf8d2e"), Stroke("#3f7f68")
NAIVES, PUBLISHEDS, STUDYS = Stroke("#5b6b7f"), Stroke("#76569c"), Stroke("#bcb5aa", 1.2)


def draw(results: Results, folder: Path = FOLDER) -> list[Path]:
    """The pictures that the results are enough for."""
    written = []
    for name, picture in (("mixture_scaling.svg", _scaling(results)), ("mixture_epsilon.svg", _by_epsilon(results))):
        if picture is not None:
            write(picture, folder / name)
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
        panel = Panel(62 + 385 * column, 62 + 275 * row, 300, 200, Axis(ticks[0] / 1.25, ticks[-1] * 1.25), y)
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
    panel = Panel(
        62, 82, 620, 330, Axis(0.42, 9.5), decades([point for one in series + reference for point in one.points])
    )
    marks = drawn_panel(panel, "epsilon", EPSILONS, reference + series)
    title = "KL(released || fit) in nats, N 1,000, K 5, d 3, delta 1e-5"
    return sheet(720, 460, marks, title, colours | {"study, for reference": STUDYS}, rows=2)
