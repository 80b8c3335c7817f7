"""The pictures of the experiment: points made of the toys, and accuracy against epsilon."""

import math
import statistics

import numpy as np
from markupsafe import Markup

from experiments.clustmix.runs import Kept
from experiments.clustmix.scatter import Frame, frames, sheet_of_frames
from experiments.pictures import Axis, Panel, Point, Series, Stroke, drawn_panel, sheet
from experiments.slicing import adaptation, toys

INFINITE = 25.0  # where an infinite epsilon is drawn
COLOURS = {
    adaptation.SOURCE_ONLY: Stroke("#8a8178", 1.6, "4 3"),
    adaptation.SLICE_WASS: Stroke("#b3261e"),
    adaptation.EXACT: Stroke("#cf8d2e"),
    adaptation.PUBLISHED: Stroke("#7a5c99"),
    adaptation.OURS: Stroke("#3f7f68"),
}


def toy(panels: toys.Panels, name: str) -> Markup:
    """A row for each epsilon: the records, and what each method makes of them."""
    marks: list[Markup] = []
    places = iter(frames(1 + len(toys.METHODS), len(toys.EPSILONS)))
    for epsilon in toys.EPSILONS:
        marks += _panel(next(places), panels.of(name, "records"), f"{toys.RECORDS:,} records")
        for method in toys.METHODS:
            marks += _panel(next(places), panels.of(name, method, epsilon), f"{method}, epsilon {epsilon:g}")
    title = f"{name[0].upper()}{name[1:]}: points made up by each method"
    return sheet_of_frames(1 + len(toys.METHODS), len(toys.EPSILONS), marks, title)


def _panel(frame: Frame, found: dict[str, object], title: str) -> list[Markup]:
    marks = frame.titled(title)
    if "points" not in found:
        return [*marks, frame.noted(f"not run: {found['why']}"[:40])]
    points = (np.array(found["points"]) + 1) / 2
    note = f"distance {found['distance']:.3f}"
    note += f", {found['clouds']} of {toys.CLOUDS} clouds" if "clouds" in found else ""
    return [*marks, *frame.dots(points, np.ones(len(points), dtype=np.int64), 1.3), frame.noted(note)]


def accuracy(kept: Kept) -> Markup:
    """Accuracy on the private set's test images against epsilon: mean, least and largest of the seeds."""
    marks: list[Markup] = []
    for place, (source, target) in enumerate(adaptation.PAIRS):
        panel = Panel(52 + 350 * place, 70, 290, 230, Axis(0.15, 1.3 * INFINITE), Axis(0.0, 1.0, logarithmic=False))
        series = [
            Series(method, COLOURS[method], points)
            for method in adaptation.METHODS
            if (points := _points(kept, source, target, method))
        ]
        title = f"{source} to {target}: epsilon ({INFINITE:g} stands for infinite)"
        marks += drawn_panel(panel, title, [*adaptation.EPSILONS[:-1], INFINITE], series)
    return sheet(720, 350, marks, "Accuracy on the unlabelled, private digits", COLOURS)


def _points(kept: Kept, source: str, target: str, method: str) -> list[Point]:
    points = []
    for epsilon in adaptation.EPSILONS:
        alone = method == adaptation.SOURCE_ONLY
        found = kept.of(adaptation.task_of(source, target, None if alone else epsilon), method)
        if found:
            x = INFINITE if math.isinf(epsilon) else epsilon
            points.append(Point(x, statistics.mean(found), min(found), max(found)))
    return points
