"""Where the mass of each long column lies, and on which values: one question, from which the next grid follows.

Bounds may be far wider than the data, single values may hold much of them, and values may have a unit. So every *long*
column is first counted three times, for all classes together: in the broad cells of its public grid, in many narrow,
even ones, and by the kind of value. If the unit leaves few values, each gets a cell. Else, where the broad counts are
surely light, cells are joined; where they are heavy, cells are cut; and a narrow cell that stands out from its broad
one is a *heap*, which is cut out, down to its roundest value.

The grid that this leads to is a function of the answer and of public constants, so the question that follows costs what
it would cost on any fixed grid.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.stats import norm

from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.grids import Tuning as Grids
from sfumato.fitting.mechanisms.counts.grids import grid_of_cuts, is_long
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.counts.rates import finest_unit, possible_kinds, rates_of, region_starts, sum_levels
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.encoding.decimals import roundest_between
from sfumato.trusted.encoding.kinds import Kinds, kinds_of
from sfumato.trusted.feature_maps import Grid, KindGrid
from sfumato.trusted.feature_maps.grid import CellMap
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Cells

Plan = TypeVar("Plan", bound=CountsPlan)


class Tuning(TuningConstants, group="counts.zoom"):
    """See `sfumato.fitting.tuning`."""

    weights = (1.0, 1.0, 0.7)  # of broad cells, narrow cells and kinds
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
    tail = 0.01  # share of the records that a tail holds at most
    tail_sure = 1.5  # noise deviations that it may hold as well
    most_tail = 0.03  # share that it holds whatever the noise
    tail_growth = 1.5  # of the distances from the middle at which cells of a tail begin
    regions = 8  # of a column, in each of which kinds are counted


class Counts(NamedTuple):
    """Noisy counts, and the deviation of their noise."""

    values: FloatArray
    sigma: float


@dataclass(frozen=True, eq=False)
class Look:
    """What was asked of one long column: its public grid, narrow cells, the kinds of its values."""

    codes: NumericCodec
    grid: Grid
    narrow_grid: Grid
    broad: Counts
    narrow: Counts
    by_kind: Counts

    @property
    def kinds(self) -> Kinds:
        """The kind of every code."""
        return kinds_of(self.codes)

    @property
    def size(self) -> float:
        """The noisy number of records."""
        return max(float(self.broad.values.sum()), 1.0)


@dataclass(frozen=True, eq=False)
class Shape:
    """What a look tells of the values inside the cells of a column.

    unit      the level of which almost all values are; 0: none
    rates     the weight of every kind but the silent one, by its codes
    regions   of codes, in which kinds may differ; heaps, atoms and missing values are the last
    """

    codes: NumericCodec
    unit: int
    rates: FloatArray
    regions: Grid


@dataclass(frozen=True, eq=False)
class Zoomed:
    """The grid that a look leads to, and the shape."""

    grid: Grid
    shape: Shape


def long_columns(plan: CountsPlan) -> list[str]:
    """The features that are looked at first."""
    return [name for name in plan.features if is_long(plan.codes[name])]


def zoom(curator: CuratorLike, plan: Plan, classes: Classes) -> tuple[Plan, Mapping[str, Shape]]:
    """The plan with the grids that one question leads to, and the shapes; where none is planned, the plan itself.

    The question is pooled over the classes. Under label adjacency it asks for each class: of tables that do not see the
    label no change could be noticed, and no noise could be drawn for them.
    """
    if plan.mu_zoom is None:
        return plan, {}
    by_class = {}
    if plan.adjacency == Adjacency.LABEL and plan.target is not None:
        by_class = {plan.target: plan.grids[plan.target].merge(classes.groups)}
    return zoom_into(curator, plan, long_columns(plan), plan.mu_zoom, by_class)


def zoom_into(
    curator: CuratorLike, plan: Plan, names: list[str], mu: float, by_class: Mapping[str, Grid]
) -> tuple[Plan, Mapping[str, Shape]]:
    """The plan with new grids for the named columns, and their shapes."""
    found = {name: zoomed(look) for name, look in _looks(curator, plan, names, mu, by_class).items()}
    grids = {name: one.grid for name, one in found.items()}
    return replace(plan, grids={**plan.grids, **grids}), {name: one.shape for name, one in found.items()}


def kind_axis(plan: CountsPlan, name: str) -> str:
    """The name of the axis of a column's kinds."""
    return plan.axis(name, "kinds")


def _looks(
    curator: CuratorLike, plan: CountsPlan, names: list[str], mu: float, by_class: Mapping[str, Grid]
) -> Mapping[str, Look]:
    classes = math.prod(grid.size for grid in by_class.values())
    narrow = _narrow_grids(plan, names, classes)
    axes = {name: (name, plan.axis(name, "narrow"), kind_axis(plan, name)) for name in names}
    grids: dict[str, CellMap] = {}
    for name in names:
        grids |= zip(axes[name], (plan.grids[name], narrow[name], KindGrid(plan.columns[name])), strict=True)
    tables = tuple((axis, *by_class) for name in names for axis in axes[name])
    of = {axis: name for name in names for axis in axes[name][1:]}
    question = Cells(tables, {**grids, **by_class}, plan.target, Tuning.weights * len(names), of)
    measured = curator.measure(question, mu)
    summed = {
        table[0]: values.reshape(-1, classes).sum(axis=1)
        for table, values in question.split(measured.values.astype(float)).items()
    }
    noise = [measured.sigma / weight * math.sqrt(classes) for weight in Tuning.weights]
    return {
        name: Look(
            _scale(plan, name),
            plan.grids[name],
            narrow[name],
            *(Counts(summed[axis], sigma) for axis, sigma in zip(axes[name], noise, strict=True)),
        )
        for name in names
    }


def _scale(plan: CountsPlan, name: str) -> NumericCodec:
    codes = plan.codes[name]
    assert isinstance(codes, NumericCodec)  # noqa: S101 - long columns are
    return codes


def _narrow_grids(plan: CountsPlan, names: list[str], classes: int) -> Mapping[str, Grid]:
    most = max(1, min(Tuning.narrow, Tuning.all_narrow // (len(names) * classes)))
    shared = {id(plan.codes[name]): _narrow_grid(_scale(plan, name), most) for name in names}
    return {name: shared[id(plan.codes[name])] for name in names}


def _narrow_grid(codes: NumericCodec, most: int) -> Grid:
    """Even cells of the steps, then every atom and missing alone."""
    width = math.ceil(codes.steps / most)
    starts = (*range(0, codes.steps, width), *range(codes.steps, codes.size))
    return Grid(starts, tuple(range(len(starts))), codes.size)


def zoomed(look: Look) -> Zoomed:
    """The grid of the one-way table, and what is known of the values inside its cells."""
    codes, kinds = look.codes, look.kinds
    unit = finest_unit(sum_levels(kinds, look.by_kind.values), look.by_kind.sigma)
    possible = _possible_steps(codes, kinds, unit)
    alone = codes.steps_of(np.array(codes.standing_out)).tolist()
    few = len(possible) <= Grids.one_cell_each
    grid, heaps = (grid_of_cuts(codes, possible.tolist()), {}) if few else _cut(look, possible, alone)
    return Zoomed(grid, Shape(codes, unit, _pooled_rates(look, unit, heaps), _regions(look, {*heaps, *alone})))


def _possible_steps(codes: NumericCodec, kinds: Kinds, unit: int) -> IntArray:
    """The steps of values that are multiples of the unit, or stand out."""
    possible = np.append(possible_kinds(kinds, unit), True)
    return np.flatnonzero(possible[kinds.of_code[: codes.steps]])


def _cut(look: Look, possible: IntArray, alone: list[int]) -> tuple[Grid, dict[int, float]]:
    """Broad cells, joined where they are light and cut where they are heavy; and the heaps: step and count."""
    codes, size = look.codes, look.size
    heavy = max(Tuning.heavy * size, Tuning.sure * look.broad.sigma)
    runs, held = _runs(look)
    cuts = {runs[run][0] for run in begin_light_runs(held, look.broad.sigma, Tuning.light * size)}
    cuts = _with_tails(look, cuts, runs, held)
    heaps: dict[int, float] = {}
    for (start, stop), mass in zip(runs, held.tolist(), strict=True):
        if mass > heavy:
            wanted = min(Tuning.most_parts, math.ceil(Tuning.parts * mass / heavy))
            cuts |= {start, stop} | _even_cuts(possible, start, stop, wanted)
            for low, high, count in _heaps(look, start, stop, mass):
                wanted = min(Tuning.most_inside, max(2, math.ceil(Tuning.parts * count / heavy)))
                cuts |= {low, high} | _even_cuts(possible, low, high, wanted)
                step = _roundest_step(codes, low, high)
                cuts |= {step, step + 1}
                heaps[step] = count
    snapped = {int(possible[place]) for place in np.searchsorted(possible, sorted(cuts)) if place < len(possible)}
    if codes.whole:
        snapped |= {*alone, *(step + 1 for step in alone)}
    return grid_of_cuts(codes, sorted({cut for cut in snapped if cut < codes.steps})), heaps


def _runs(look: Look) -> tuple[list[tuple[int, int]], FloatArray]:
    """The broad cells of the scale, as runs of steps, and what they hold."""
    starts, cells = np.array(look.grid.starts), np.array(look.grid.cells)
    stops = np.append(starts[1:], look.grid.codes)
    on_scale = starts < look.codes.steps
    runs = list(zip(starts[on_scale].tolist(), stops[on_scale].tolist(), strict=True))
    return runs, look.broad.values[cells[on_scale]]


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


def _with_tails(look: Look, cuts: set[int], runs: list[tuple[int, int]], held: FloatArray) -> set[int]:
    """The cuts, but in either tail no nearer to each other than a share of their distance from the middle.

    A tail holds few records and reaches far. Each cell of it adds its noise times its distance to every mean, so they
    are as few as they can be without hiding how the tail falls.
    """
    codes = look.codes
    low = _tail_length(held, look.broad.sigma, look.size)
    high = len(runs) - _tail_length(held[::-1], look.broad.sigma, look.size)
    if low >= high:
        return cuts
    within = np.cumsum(held[low:high])
    half = low + int(np.argmax(within >= within[-1] / 2))
    first, middle, last = codes.ends(np.array([runs[low][0], runs[half][0], runs[high - 1][1]])).tolist()
    below = middle - _growing(middle - first, middle - codes.low)
    above = middle + _growing(last - middle, codes.high - middle)
    kept = {cut for cut in cuts if runs[low][0] <= cut <= runs[high - 1][1]}
    return {0} | kept | set(codes.steps_of(np.append(below, above)).tolist())


def _growing(first: float, last: float) -> FloatArray:
    """Distances from the first on, each a share larger than the one before, up to the last."""
    if not 0 < first < last:
        return np.zeros(0)
    times = np.arange(math.ceil(math.log(last / first) / math.log(Tuning.tail_growth)), dtype=np.float64)
    return first * np.power(Tuning.tail_growth, times)


def _tail_length(held: FloatArray, sigma: float, size: float) -> int:
    """How many cells from the first on hold no more than a tail together, as far as noise can tell."""
    noise = Tuning.tail_sure * sigma * np.sqrt(np.arange(1, len(held) + 1))
    most = np.clip(noise, Tuning.tail * size, Tuning.most_tail * size)
    return int(np.argmax(np.append(np.cumsum(held) > most, True)))


def _even_cuts(possible: IntArray, start: int, stop: int, wanted: int) -> set[int]:
    """Where so many parts of a run begin, each with about as many possible values."""
    first, last = np.searchsorted(possible, [start, stop])
    parts = min(int(last - first), wanted)
    return set(possible[np.linspace(first, last, parts, endpoint=False).astype(int)].tolist()) if parts else set()


def _heaps(look: Look, start: int, stop: int, mass: float) -> list[tuple[int, int, float]]:
    """The narrow cells that stand out from a heavy broad one: where they begin and end, and what they hold."""
    if stop - start <= 1:
        return []
    narrow = look.narrow_grid
    ends = np.array((*narrow.starts, narrow.codes))
    first, last = int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(ends, stop, side="left"))
    lows, highs = ends[first - 1 : last].clip(start, stop), ends[first : last + 1].clip(start, stop)
    counts = look.narrow.values[first - 1 : last]
    even = mass * (highs - lows) / (stop - start)
    beyond = max(Tuning.heap_deviations, float(norm.isf(Tuning.heap_chance / len(counts))) if len(counts) > 1 else 0.0)
    found = (counts - even > beyond * look.narrow.sigma) & (counts > Tuning.heap_share * look.size)
    return list(zip(lows[found].tolist(), highs[found].tolist(), counts[found].tolist(), strict=True))


def _roundest_step(codes: NumericCodec, low: int, high: int) -> int:
    """The step of a run whose value is roundest: the likeliest heap."""
    if codes.by_day:
        return low
    value = roundest_between(codes.ends(np.array([low])), codes.ends(np.array([high])), codes.chain)
    return int(codes.steps_of(value)[0])


def _pooled_rates(look: Look, unit: int, heaps: Mapping[int, float]) -> FloatArray:
    """The weight of every kind but the silent one, over the whole column; heaps are left out."""
    kinds = look.kinds
    seen = look.by_kind.values[: len(kinds.level)].copy()
    there = np.bincount(kinds.of_code[: look.codes.steps], minlength=kinds.size)[: len(kinds.level)].astype(float)
    for step, count in heaps.items():
        kind = kinds.of_code[step]
        if kind < len(kinds.level):
            seen[kind] -= count
            there[kind] -= 1
    return rates_of(seen, look.by_kind.sigma, there, possible_kinds(kinds, unit))


def _regions(look: Look, apart: set[int]) -> Grid:
    """Regions of about equal mass, and as the last one all that is apart from them."""
    codes = look.codes
    runs, held = _runs(look)
    starts = region_starts([stop for _, stop in runs], held, Tuning.regions, codes.steps)
    edges = sorted({*starts, *apart, *(step + 1 for step in apart), codes.steps} - {codes.steps + 1})
    region = np.searchsorted(starts, edges, side="right") - 1
    region[[edge in apart or edge == codes.steps for edge in edges]] = len(starts)
    if codes.size == codes.steps:
        edges, region = edges[:-1], region[:-1]
    first = np.flatnonzero(np.diff(region, prepend=-1))
    there = np.unique(region)
    return Grid(
        tuple(np.array(edges)[first].tolist()), tuple(np.searchsorted(there, region[first]).tolist()), codes.size
    )
