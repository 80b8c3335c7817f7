"""The public grids on which tables count.

Fine enough to show any shape, before noise decides what can be told apart.
"""

import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.encoding import Codes, NumericCodec
from sfumato.trusted.feature_maps import Grid


class Tuning(TuningConstants, group="counts.grids"):
    """See `sfumato.fitting.tuning`."""

    one_cell_each = 128  # a range of whole numbers up to this long has a cell for each
    uniform = 64
    log = 64
    smallest = 1e-4  # where the log grid starts, as a share of the range


def is_long(codes: Codes) -> bool:
    """Whether a column has more values than its public grid has cells for. A function of the schema."""
    return isinstance(codes, NumericCodec) and not (codes.exact and codes.steps <= Tuning.one_cell_each)


def fine_grid(codes: Codes) -> Grid:
    """One cell for each listed value; for a number cells in the order of its values, atoms alone; missing last."""
    if not isinstance(codes, NumericCodec) or (codes.exact and codes.steps <= Tuning.one_cell_each):
        return Grid.of_cells(np.arange(codes.size))
    return grid_of_cuts(codes, _cuts(codes))


def grid_of_cuts(codes: NumericCodec, cuts: Iterable[int]) -> Grid:
    """Cells that begin at these steps, in the order of values, atoms alone; missing last."""
    atoms = dict(zip(codes.atoms, range(codes.steps, codes.size), strict=False))
    bound = codes.steps - 1  # the step of the upper bound, whose atom comes last
    places = {code: int(codes.steps_of(np.array([atom]))[0]) for atom, code in atoms.items()}
    starts = sorted({0, *cuts, *(step for step in places.values() if step < bound)})
    runs: list[range] = []
    for start, stop in itertools.pairwise([*starts, codes.steps]):
        runs += [range(code, code + 1) for code, step in places.items() if step == start < bound]
        runs.append(range(start, stop))
    runs += [range(code, code + 1) for code, step in places.items() if step == bound]
    runs += [range(codes.missing, codes.missing + 1)] if codes.missing is not None else []
    rising = sorted(range(len(runs)), key=lambda cell: runs[cell].start)
    return Grid(tuple(runs[cell].start for cell in rising), tuple(rising), codes.size)


def cut_at(codes: Codes, grid: Grid, edges: Iterable[int]) -> Grid:
    """The grid of a column with cuts at these codes as well: what lies on either side of one is in no common cell."""
    if not isinstance(codes, NumericCodec) or {edge for edge in edges if edge < codes.steps} <= {*grid.starts}:
        return grid
    return grid_of_cuts(codes, (start for start in (*grid.starts, *edges) if start < codes.steps))


def _cuts(codes: NumericCodec) -> list[int]:
    """The steps at which cells start.

    A uniform grid joined with a logarithmic one around 0, or around the bound next to 0, so that both broad shapes and
    a heap near 0 show. A log scale is even already, and dates have no 0.
    """
    if codes.dated or (codes.log and not codes.exact):
        return _distinct(np.linspace(0, codes.steps, 2 * Tuning.uniform, endpoint=False))
    length, origin = codes.high - codes.low, min(max(0.0, codes.low), codes.high)
    away = length * np.geomspace(Tuning.smallest, 1, Tuning.log)
    ends = np.concatenate(
        (codes.low + length * np.arange(Tuning.uniform) / Tuning.uniform, origin + away, origin - away)
    )
    ends = ends[(ends >= codes.low) & (ends < codes.high)]
    if not codes.whole:
        return _distinct(codes.steps_of(ends))
    alone = np.array(codes.standing_out)
    return _distinct(codes.steps_of(np.concatenate((np.ceil(ends), alone, alone[alone < codes.high] + 1))))


def _distinct(steps: NDArray[np.floating | np.integer]) -> list[int]:
    return sorted(set(np.asarray(steps, dtype=np.int64).tolist()))
