"""Whether the estimate of the smoothed-sliced divergence comes to the truth as points get more.

    python -m experiments.slicing.consistency

p is a mixture of two Gaussians in five dimensions and q one Gaussian, both known. A frame of directions is drawn once,
and the noise is fixed. So each slice of each is a mixture of Gaussians on a line, and the true divergence is an
integral. The same frame is used for truth and estimate: how many directions stand for all of them is another question.

Twelve atoms, as wide as the slices are, stay the same and the ridge falls as 1/n. Of six such settings this one had the
evenest lines; with narrower atoms the reverse KL, which feels small ratios most, comes down more slowly.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from sfumato_papers.slicing import DIVERGENCES, Divergence, LeastSquares
from sfumato_papers.slicing.divergence import estimate
from sfumato_papers.slicing.mechanism import orthonormal

from experiments.pictures import Axis, Panel, Point, Series, Stroke, curve, decades, drawn_panel, sheet, write
from sfumato.trusted.arrays import FloatArray

HERE = Path(__file__).parent
DIMENSION, SLICES, SIGMA = 5, 3, 0.7
SIZES = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
REPEATS = 25
WIDTH, ATOMS, RIDGE = 1.0, 12, 1.0  # the ridge is divided by the number of points
COLOURS = ("#7a3b2e", "#b08d63", "#3f5d7d", "#5f7a3b", "#8a6fa0")
GUIDE = Stroke("#8a8178", 1.2, "5 4")


class Mixture(NamedTuple):
    """Gaussians with these weights and means (a row each), all with deviation `spread` in every direction."""

    weights: FloatArray
    means: FloatArray
    spread: float

    def draw(self, rng: np.random.Generator, points: int) -> FloatArray:
        centres = self.means[rng.choice(len(self.weights), points, p=self.weights)]
        return centres + self.spread * rng.standard_normal(centres.shape)

    def sliced_density(self, direction: FloatArray, sigma: float, places: FloatArray) -> FloatArray:
        """Of its slice along a direction of length 1, with noise."""
        deviation = np.hypot(self.spread, sigma)
        away = (places[:, None] - self.means @ direction) / deviation
        density: FloatArray = np.exp(-(away**2) / 2) @ self.weights / (deviation * np.sqrt(2 * np.pi))
        return density


REAL = Mixture(np.array([0.6, 0.4]), np.array([[0.8, 0.5, 0.0, -0.4, 0.3], [-1.0, 0.2, 0.6, 0.4, -0.5]]), 0.5)
MADE = Mixture(np.array([1.0]), np.zeros((1, DIMENSION)), 0.9)


def truth(divergence: Divergence, directions: FloatArray) -> float:
    """The mean over slices of the integral of q f(p / q), on a grid that is finer than needed."""
    import torch

    places = np.linspace(-7, 7, 20_001)
    total = 0.0
    for direction in directions.T:
        p, q = (one.sliced_density(direction, SIGMA, places) for one in (REAL, MADE))
        total += float(q @ divergence.f(torch.from_numpy(p / q)).numpy() * (places[1] - places[0]))
    return total / len(directions.T)


def estimates(rng: np.random.Generator, directions: FloatArray, points: int) -> dict[str, float]:
    """From so many noisy points of each, all divergences."""
    import torch

    def noisy(one: Mixture) -> object:
        slices = one.draw(rng, points) @ directions
        return torch.from_numpy(np.ascontiguousarray((slices + SIGMA * rng.standard_normal(slices.shape)).T))

    real, made = noisy(REAL), noisy(MADE)
    estimator = LeastSquares(widths=(WIDTH,), atoms=ATOMS, ridge=RIDGE / points)
    return {name: float(estimate(one, estimator, made, real, 1.0)) for name, one in DIVERGENCES.items()}


def errors(sizes: Sequence[int] = SIZES, repeats: int = REPEATS) -> dict[str, list[Point]]:
    """For each divergence and number of points, median and quartiles of the absolute error."""
    directions = orthonormal(np.random.default_rng(0), DIMENSION, SLICES)
    true = {name: truth(one, directions) for name, one in DIVERGENCES.items()}
    found: dict[str, list[Point]] = {name: [] for name in DIVERGENCES}
    for points in sizes:
        runs = [estimates(np.random.default_rng((seed, points)), directions, points) for seed in range(repeats)]
        for name, value in true.items():
            low, median, high = np.quantile([abs(run[name] - value) for run in runs], (0.25, 0.5, 0.75))
            found[name].append(Point(points, float(median), float(low), float(high)))
    return found


def slope(points: Sequence[Point]) -> float:
    """Of the logarithm of the error over that of the number of points."""
    return float(np.polyfit(np.log([point.x for point in points]), np.log([point.y for point in points]), 1)[0])


def picture(found: Mapping[str, Sequence[Point]]) -> Markup:
    series = [
        Series(f"{name}, slope {slope(points):.2f}", Stroke(colour), points)
        for (name, points), colour in zip(found.items(), COLOURS, strict=True)
    ]
    every = [point for points in found.values() for point in points]
    panel = Panel(60, 84, 640, 330, Axis(SIZES[0] * 0.9, SIZES[-1] * 1.1), decades(every))
    marks = drawn_panel(panel, "points of each distribution", (100, 1_000, 10_000, 100_000), series)
    middle = float(np.median([points[0].y for points in found.values()]))
    root = [panel.at(x, middle * (x / SIZES[0]) ** -0.5) for x in (SIZES[0], SIZES[-1])]
    key = {one.name: one.stroke for one in series} | {"slope -1/2": GUIDE}
    note = f"Medians and quartiles of {REPEATS} runs; {SLICES} slices of {DIMENSION} dimensions, noise {SIGMA:g}."
    marks.append(curve(root, GUIDE))
    return sheet(720, 480, marks, "Error of the estimated smoothed-sliced divergence", key, 2, note)


def main() -> None:
    found = errors()
    kept = {
        name: {"slope": round(slope(points), 3), "x, median, quartiles": [_rounded(point) for point in points]}
        for name, points in found.items()
    }
    (HERE / "consistency.json").write_text(json.dumps(kept, indent=1) + "\n")
    write(picture(found), HERE / "consistency.svg")
    for name, points in found.items():
        first, last = points[0], points[-1]
        print(f"{name:16} slope {slope(points):+.2f}   error {first.y:.2g} at {first.x:g}, {last.y:.2g} at {last.x:g}")


def _rounded(point: Point) -> list[float]:
    return [float(f"{value:.6g}") for value in point]


if __name__ == "__main__":
    main()
