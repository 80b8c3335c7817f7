"""Frames in a grid, each the unit square with dots of two classes."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from experiments.pictures import GRID, Stroke, curve, sheet
from sfumato.charts import svg
from sfumato.trusted.arrays import FloatArray, IntArray

SIDE, GAP, TOP, LEFT = 190.0, 22.0, 62.0, 14.0
CLASSES = ("#cf8d2e", "#3f7f68")
PALE = ("#eed9b4", "#bcd6cb")
BOUNDARY = Stroke(svg.INK, 1.4, "5 3")
WRONG = "#b3261e"


class Frame(NamedTuple):
    """A square at a place of the sheet."""

    left: float
    top: float

    def at(self, point: Sequence[float]) -> tuple[float, float]:
        """Where a point of the unit square lies; what lies beyond stays at the edge."""
        x, y = (min(max(float(value), -0.02), 1.02) for value in point)
        return self.left + SIDE * x, self.top + SIDE * (1 - y)

    def titled(self, title: str) -> list[Markup]:
        """The square and what it shows."""
        corners = [self.at(corner) for corner in ((0, 0), (1, 0), (1, 1), (0, 1))]
        return [svg.outline(corners, GRID), svg.text(self.left, self.top - 6, title, size=10)]

    def noted(self, note: str) -> Markup:
        """A line below the square."""
        return svg.text(self.left, self.top + SIDE + 13, note, size=10, fill=svg.FAINT)

    def dots(self, points: FloatArray, label: IntArray, radius: float, faint: bool = False) -> list[Markup]:
        """A dot for each point, in the colour of its class."""
        colours = PALE if faint else CLASSES
        return [svg.dot(*self.at(point), radius, colours[one]) for point, one in zip(points, label, strict=True)]

    def circles(self, points: FloatArray, radius: float, colour: str) -> list[Markup]:
        """An open circle around each point."""
        mark = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="none" stroke="{}" stroke-width="1.2"/>')
        return [mark.format(*self.at(point), radius, colour) for point in points]

    def ellipse(self, centre: FloatArray, radius: float) -> Markup:
        """A circle of the plane."""
        angles = np.linspace(0, 2 * math.pi, 48, endpoint=False)
        around = [self.at((centre[0] + radius * math.cos(a), centre[1] + radius * math.sin(a))) for a in angles]
        return svg.outline(around, svg.FAINT, 0.8)

    def boundary(self, model: Any) -> Markup:
        """Where a linear model is undecided, within the square."""
        (a, b), c = model.coef_[0], model.intercept_[0]
        ends = [(x, -(a * x + c) / b) for x in np.linspace(0, 1, 400) if 0 <= -(a * x + c) / b <= 1]
        return curve([self.at(end) for end in (ends[0], ends[-1])], BOUNDARY) if ends else Markup("")


def frames(columns: int, rows: int) -> list[Frame]:
    """The squares of a sheet, row by row."""
    return [
        Frame(LEFT + column * (SIDE + GAP), TOP + row * (SIDE + GAP + 14))
        for row in range(rows)
        for column in range(columns)
    ]


def sheet_of_frames(columns: int, rows: int, marks: Sequence[Markup], title: str) -> Markup:
    """The sheet under its title."""
    width = 2 * LEFT + columns * SIDE + (columns - 1) * GAP
    height = TOP + rows * (SIDE + GAP + 14) + 10
    return sheet(width, height, marks, title, {})
