"""The optimal design of (23) beside Clarabel on the same shifts: `python -m benchmarks.design [--quick]`.

The N shifts are those of one class of a synthetic table: of its N records (`leave`), or of all N where a fifth are the
class (`both`). Clarabel gets the whitened problem, which suits it best, and one thread; its answer is scaled to exact
feasibility before the objectives are compared. As printed, (23) is in the units of the table; the last column is how
far Clarabel then breaks the worst constraint, which is the privacy claim. CPU seconds, medians over some tables.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from sfumato.trusted.arrays import FloatArray

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")  # Clarabel's

import numpy as np
from sfumato_papers.liu.budget import mean_bounds
from sfumato_papers.liu.design import optimal_design
from sfumato_papers.liu.fitting import fit
from sfumato_papers.liu.neighbours import Reading, mean_shifts
from tests.published.semidefinite import as_printed, farthest, whitened

READINGS: tuple[Reading, ...] = ("leave", "both")
TABLES = {3: 5, 5: 5, 12: 2}  # by dimensions; with 12 Clarabel takes long
QUICK_TABLES = {3: 1, 5: 1}
SIZES = {3: (100, 300, 1_000, 3_000), 5: (100, 300, 1_000), 12: (100, 300, 1_000)}
LARGE, LARGE_TABLES, QUICK_LARGE_TABLES = (10**4, 10**5, 10**6), 3, 1
STATED = 1_000  # shifts, for the ratio in the last line
REPEATS = 3  # of a design, of which the first finds its memory cold
BOUND = float(mean_bounds(np.array([1 / 3]), 1e-5)[0])  # the paper's, for epsilon 1

Result = TypeVar("Result")


@dataclass(frozen=True)
class Cell:
    """Tables of one kind."""

    reading: Reading
    dimensions: int
    count: int

    def __str__(self) -> str:
        return f"{self.reading:8s}{self.dimensions:3d}{self.count:11,d}"

    def problem(self, seed: int) -> tuple[FloatArray, FloatArray]:
        """The shifts of class 0 and its precision. Centres and shapes are drawn as the paper draws them."""
        rng, d = np.random.default_rng([seed, self.dimensions, self.count]), self.dimensions
        classes = 1 if self.reading == "leave" else 5
        y = np.repeat(np.arange(classes), self.count // classes)
        shapes = rng.standard_normal((classes, d + 1, d))
        X = np.concatenate([rng.standard_normal((self.count // classes, d + 1)) @ shape for shape in shapes])
        X += rng.uniform(-10, 10, (classes, d))[y]
        fitted = fit(X, y, classes)
        return mean_shifts(X, y, fitted, 0, self.reading), fitted.precisions[0]


@dataclass(frozen=True)
class Compared:
    """One table: CPU seconds, by what share Clarabel's objective is larger, and what each leaves open."""

    ours: float
    clarabel: float
    difference: float
    gap: float
    violation: float

    @classmethod
    def of(cls, shifts: FloatArray, metric: FloatArray) -> "Compared":
        ours, design = timed(lambda: optimal_design(shifts, metric), REPEATS)
        clarabel, covariance = timed(lambda: whitened(shifts, metric))
        feasible = covariance * farthest(shifts, covariance)
        difference = np.trace(metric @ feasible) / np.trace(metric @ design.covariance) - 1
        violation = farthest(shifts, as_printed(shifts, metric, BOUND)) / BOUND - 1
        return cls(ours, clarabel, float(difference), design.gap, violation)


def timed(run: Callable[[], Result], repeats: int = 1) -> tuple[float, Result]:
    """The median of its CPU seconds, and what it returns."""
    taken = []
    for _ in range(repeats):
        begin = time.process_time()
        result = run()
        taken.append(time.process_time() - begin)
    return statistics.median(taken), result


def side_by_side(tables: Mapping[int, int]) -> tuple[dict[Cell, float], dict[Cell, float]]:
    """Prints a line for each kind of table; the median seconds of both."""
    print(
        "shifts    d          N    ours, CPU s    Clarabel    ratio    difference    our gap    violation, as printed"
    )
    ours, clarabel = {}, {}
    for cell in (Cell(reading, d, count) for reading in READINGS for d in tables for count in SIZES[d]):
        found = [Compared.of(*cell.problem(seed)) for seed in range(tables[cell.dimensions])]
        ours[cell] = statistics.median(each.ours for each in found)
        clarabel[cell] = statistics.median(each.clarabel for each in found)
        print(
            f"{cell}{ours[cell]:15.4f}{clarabel[cell]:12.3f}{clarabel[cell] / ours[cell]:9,.0f}"
            f"{max((each.difference for each in found), key=abs):14.1e}{max(each.gap for each in found):11.0e}"
            f"{max(each.violation for each in found):25.0e}",
            flush=True,
        )
    return ours, clarabel


def alone(tables: int) -> dict[Cell, float]:
    """Prints a line for each kind of large table; the median seconds."""
    print("\nshifts    d          N    ours, CPU s    our gap")
    ours = {}
    for cell in (Cell(reading, d, count) for reading in READINGS for d in SIZES for count in LARGE):
        found = [_timed_design(*cell.problem(seed)) for seed in range(tables)]
        ours[cell] = statistics.median(taken for taken, _ in found)
        print(f"{cell}{ours[cell]:15.4f}{max(gap for _, gap in found):11.0e}", flush=True)
    return ours


def _timed_design(shifts: FloatArray, metric: FloatArray) -> tuple[float, float]:
    taken, design = timed(lambda: optimal_design(shifts, metric), REPEATS)
    return taken, design.gap


def exponent(seconds: Mapping[Cell, float], reading: Reading, dimensions: int) -> float:
    """s, where the seconds grow like N^s: the slope of the line through the logarithms."""
    cells = [cell for cell in seconds if (cell.reading, cell.dimensions) == (reading, dimensions)]
    line = np.polyfit(np.log([cell.count for cell in cells]), np.log([seconds[cell] for cell in cells]), 1)
    return float(line[0])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one table of a kind, and Clarabel not in 12 dimensions")
    quick = parser.parse_args().quick
    tables, large_tables = (QUICK_TABLES, QUICK_LARGE_TABLES) if quick else (TABLES, LARGE_TABLES)
    Compared.of(*Cell("leave", 3, 100).problem(0))  # so that nothing is timed that happens once
    ours, clarabel = side_by_side(tables)
    large = alone(large_tables)

    print("\nCPU seconds grow like N^s: s for ours at large N, for Clarabel at its N\nshifts    d    ours    Clarabel")
    for reading in READINGS:
        for d in tables:
            print(f"{reading:8s}{d:3d}{exponent(large, reading, d):8.2f}{exponent(clarabel, reading, d):12.2f}")

    ratios = [clarabel[cell] / ours[cell] for cell in ours if cell.count == STATED]
    slowest = max(large[cell] for cell in large if cell.count == LARGE[-1])
    print(
        f"\nmedian ratio of the {len(ratios)} lines with N = {STATED:,}: {statistics.median(ratios):,.0f} times, "
        f"the least {min(ratios):,.0f}; the slowest with N = 10^6: {slowest:.2f} CPU s"
    )


if __name__ == "__main__":
    main()
