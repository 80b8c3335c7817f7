"""Where the mass of each long column lies, and on which values: one question, from which the next grid follows.

Bounds may be far wider than the data, single values may hold much of them, and values may have a unit. So every *long*
column is first counted three times, for all classes together: in the broad cells of its public grid, in many narrow,
even ones, and by the kind of value. If the unit leaves few values, each gets a cell. Else, where the broad counts are
surely light, cells are joined; where they are heavy, cells are cut; and a narrow cell that stands out from its broad
one is a *heap*, which is cut out, down to its roundest value.

The grid that this leads to is a function of the answer and of public constants, so the question that follows costs what
it would cost on any fixed grid.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.cutting import cut_cells, runs_of
from sfumato.fitting.mechanisms.counts.grids import Tuning as Grids
from sfumato.fitting.mechanisms.counts.grids import cut_at, grid_of_cuts, is_long
from sfumato.fitting.mechanisms.counts.looks import Look, take_looks
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.counts.rates import finest_unit, possible_kinds, rates_of, region_starts, sum_levels
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.encoding.kinds import Kinds
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import CuratorLike

Plan = TypeVar("Plan", bound=CountsPlan)


class Tuning(TuningConstants, group="counts.zoom"):
    """See `sfumato.fitting.tuning`."""

    regions = 8  # of a column, in each of which kinds are counted


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
    found = {name: zoomed(look) for name, look in take_looks(curator, plan, names, mu, by_class).items()}
    grids = {name: one.grid for name, one in found.items()}
    if plan.support is not None:
        grids = {name: cut_at(plan.codes[name], grid, plan.support.edges(name)) for name, grid in grids.items()}
    return replace(plan, grids={**plan.grids, **grids}), {name: one.shape for name, one in found.items()}


def zoomed(look: Look) -> Zoomed:
    """The grid of the one-way table, and what is known of the values inside its cells."""
    codes, kinds = look.codes, look.kinds
    unit = finest_unit(sum_levels(kinds, look.by_kind.values), look.by_kind.sigma)
    possible = _possible_steps(codes, kinds, unit)
    alone = codes.steps_of(np.array(codes.standing_out)).tolist()
    few = len(possible) <= Grids.one_cell_each
    grid, heaps = (grid_of_cuts(codes, possible.tolist()), {}) if few else cut_cells(look, possible, alone)
    return Zoomed(grid, Shape(codes, unit, _pooled_rates(look, unit, heaps), _regions(look, {*heaps, *alone})))


def _possible_steps(codes: NumericCodec, kinds: Kinds, unit: int) -> IntArray:
    """The steps of values that are multiples of the unit, or stand out."""
    possible = np.append(possible_kinds(kinds, unit), True)
    return np.flatnonzero(possible[kinds.of_code[: codes.steps]])


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
    runs, held = runs_of(look)
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
