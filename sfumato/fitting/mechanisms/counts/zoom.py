"""Where the mass of each long column lies: one question, from which the grid of the one-way tables follows.

Bounds may be far wider than the data, and single values may hold much of them. So every *long* column is first counted
twice, for all classes together: in the broad cells of its public grid, and in many narrow, even ones. Where the broad
counts are surely light, cells are joined; where they are heavy, cells are cut; and a narrow cell that stands out from
its broad one is a *heap*, which is cut out, down to its roundest value.

The grid that this leads to is a function of the answer and of public constants, so the question that follows costs what
it would cost on any fixed grid.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.stats import norm

from sfumato.fitting.mechanisms.counts.grids import grid_of_cuts, is_long
from sfumato.fitting.mechanisms.counts.one_way import Classes
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Codes, NumericCodec
from sfumato.trusted.encoding.decimals import roundest_between
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Cells, Stacked

Plan = TypeVar("Plan", bound=CountsPlan)


class Tuning(TuningConstants, group="counts.zoom"):
    """See `sfumato.fitting.tuning`."""

    narrow = 1 << 14  # narrow cells of one column, at most
    all_narrow = 1 << 18  # of all columns together
    heavy = 0.02  # share of the records up to which a broad cell is left whole
    sure = 3.0  # noise deviations that a cell must hold to be cut
    light = 0.001  # share of the records up to which cells that surely hold no more are joined
    light_sure = 2.0  # deviations that make it sure
    parts = 2.0  # parts for each `heavy` share that a cell holds
    most_parts = 16  # of a broad cell
    most_inside = 64  # of a heap
    heap_deviations = 3.0  # by which a narrow cell stands out
    heap_chance = 0.2  # of a false heap in one broad cell
    heap_share = 0.002  # of the records that a heap holds at least


class _Counts(NamedTuple):
    """Noisy counts on a grid, and the deviation of their noise."""

    grid: Grid
    counts: FloatArray
    sigma: float


def long_columns(plan: CountsPlan) -> list[str]:
    """The columns that are looked at twice; the target is cut into classes by its own histogram."""
    return [name for name in plan.features if is_long(plan.codes[name])]


def zoom(curator: CuratorLike, plan: Plan, classes: Classes) -> Plan:
    """The plan with the grids that one question leads to; where none is planned, the plan itself.

    The question is pooled over the classes. Under label adjacency it asks for each class: of tables that do not see the
    label no change could be noticed, and no noise could be drawn for them.
    """
    if plan.mu_zoom is None:
        return plan
    names, by_class = long_columns(plan), {}
    if plan.adjacency == Adjacency.LABEL and plan.target is not None:
        by_class = {plan.target: plan.grids[plan.target].merge(classes.groups)}
    asked = classes.count if by_class else 1
    tables = tuple((name, *by_class) for name in names)
    narrow = _narrow_grids(plan, names, asked)
    parts = [
        Cells(tables, {name: grids[name] for name in names} | by_class, plan.target) for grids in (plan.grids, narrow)
    ]
    measured = curator.measure(Stacked(tuple(parts), (1.0, 1.0)), plan.mu_zoom)
    values = np.split(measured.values.astype(float), [parts[0].blocks[0].size])
    broad, fine = (list(part.split(value).values()) for part, value in zip(parts, values, strict=True))
    sigma = measured.sigma * math.sqrt(asked)
    grids = {
        name: _zoomed(
            plan.codes[name],
            _Counts(plan.grids[name], broad[place].reshape(-1, asked).sum(axis=1), sigma),
            _Counts(narrow[name], fine[place].reshape(-1, asked).sum(axis=1), sigma),
        )
        for place, name in enumerate(names)
    }
    return replace(plan, grids={**plan.grids, **grids})


def _narrow_grids(plan: CountsPlan, names: list[str], classes: int) -> Mapping[str, Grid]:
    most = max(1, min(Tuning.narrow, Tuning.all_narrow // (len(names) * classes)))
    shared = {id(plan.codes[name]): _narrow_grid(plan.codes[name], most) for name in names}
    return {name: shared[id(plan.codes[name])] for name in names}


def _narrow_grid(codes: Codes, most: int) -> Grid:
    """Even cells of the steps, then every atom and missing alone."""
    assert isinstance(codes, NumericCodec)  # noqa: S101 - long columns are
    width = math.ceil(codes.steps / most)
    starts = (*range(0, codes.steps, width), *range(codes.steps, codes.size))
    return Grid(starts, tuple(range(len(starts))), codes.size)


def _zoomed(codes: Codes, broad: _Counts, narrow: _Counts) -> Grid:
    """The grid of the one-way table, from broad and narrow counts."""
    assert isinstance(codes, NumericCodec)  # noqa: S101 - long columns are
    size = max(float(broad.counts.sum()), 1.0)
    heavy = max(Tuning.heavy * size, Tuning.sure * broad.sigma)
    starts, cells = np.array(broad.grid.starts), np.array(broad.grid.cells)
    stops = np.append(starts[1:], broad.grid.codes)
    on_scale = starts < codes.steps
    runs = list(zip(starts[on_scale].tolist(), stops[on_scale].tolist(), strict=True))
    held = broad.counts[cells[on_scale]]
    cuts = {runs[run][0] for run in begin_light_runs(held, broad.sigma, Tuning.light * size)}
    for (start, stop), mass in zip(runs, held.tolist(), strict=True):
        if mass > heavy:
            cuts |= {start, stop} | _even_cuts(start, stop, math.ceil(Tuning.parts * mass / heavy), Tuning.most_parts)
            cuts |= _heap_cuts(codes, (start, stop), mass, narrow, heavy, size)
    if codes.whole:
        alone = codes.steps_of(np.array(codes.standing_out)).tolist()
        cuts |= {*alone, *(step + 1 for step in alone)}
    return grid_of_cuts(codes, sorted(cut for cut in cuts if 0 <= cut < codes.steps))


def begin_light_runs(counts: FloatArray, sigma: float, most: float) -> list[int]:
    """Where runs of cells begin that surely hold no more than `most` together; any other cell is a run of its own."""
    first, total, cells = [0], float(counts[0]), 1
    for cell, count in enumerate(counts[1:].tolist(), start=1):
        if total + count + Tuning.light_sure * sigma * math.sqrt(cells + 1) <= most:
            total, cells = total + count, cells + 1
        else:
            first.append(cell)
            total, cells = count, 1
    return first


def _even_cuts(start: int, stop: int, wanted: int, most: int) -> set[int]:
    parts = min(stop - start, most, wanted)
    return set(np.linspace(start, stop, parts, endpoint=False).astype(int).tolist())


def _heap_cuts(
    codes: NumericCodec, run: tuple[int, int], mass: float, narrow: _Counts, heavy: float, size: float
) -> set[int]:
    """Where heaps inside a heavy broad cell begin and end, and their parts."""
    start, stop = run
    if stop - start <= 1:
        return set()
    ends = np.array((*narrow.grid.starts, narrow.grid.codes))
    first, last = int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(ends, stop, side="left"))
    lows, highs = ends[first - 1 : last].clip(start, stop), ends[first : last + 1].clip(start, stop)
    counts = narrow.counts[first - 1 : last]
    even = mass * (highs - lows) / (stop - start)
    beyond = max(Tuning.heap_deviations, float(norm.isf(Tuning.heap_chance / len(counts))) if len(counts) > 1 else 0.0)
    found = (counts - even > beyond * narrow.sigma) & (counts > Tuning.heap_share * size)
    cuts: set[int] = set()
    for low, high, count in zip(lows[found].tolist(), highs[found].tolist(), counts[found].tolist(), strict=True):
        wanted = max(2, math.ceil(Tuning.parts * count / heavy))
        cuts |= {low, high} | _even_cuts(low, high, wanted, Tuning.most_inside)
        if high - low > min(wanted, Tuning.most_inside):
            value = roundest_between(codes.ends(np.array([low])), codes.ends(np.array([high])))
            step = int(codes.steps_of(value)[0])
            cuts |= {step, step + 1}
    return cuts
