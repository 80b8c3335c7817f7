"""`tables`: noisy counts on public grids, and the mixture of products that explains them.

Order one: every column is counted against the target, so the model is a product of columns within each class.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.encoding import Codes, Encoder, Measured
from sfumato.errors import SchemaError
from sfumato.measurement import Door
from sfumato.mechanisms.tables.estimation import class_totals, distributions, inside_groups, project
from sfumato.mechanisms.tables.grids import fine_grid
from sfumato.mechanisms.tables.merging import group_rare, merge_neighbours, sum_groups
from sfumato.models.table_mixture import Pieces, TableMixture
from sfumato.privacy.accounting import Budget
from sfumato.schema import Schema
from sfumato.statistics import Cells, Grid

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_TARGET_SHARE = 0.05  # of mu squared, for the histogram that cuts a numeric target into classes
_TARGET_CLASSES = 6
_MOST_CELLS = 10_000_000
_FEWEST = 1.0  # records that every class is given at least


@dataclass(frozen=True)
class TablesPlan:
    """What will be asked and what it may spend: a function of schema and budget alone."""

    codes: Mapping[str, Codes]
    grids: Mapping[str, Grid]
    features: tuple[str, ...]
    target: str | None
    mu_target: float | None
    mu_one_way: float


def plan_tables(schema: Schema, budget: Budget) -> TablesPlan:
    """The plan for a table. A numeric target costs a small share first, to be cut into classes."""
    codes = Encoder(schema).columns
    shared = {id(code): fine_grid(code) for code in codes.values()}
    grids = {name: shared[id(code)] for name, code in codes.items()}
    numeric = schema.target is not None and isinstance(codes[schema.target], Measured)
    _refuse_too_many_cells(schema, grids)
    *first, last = budget.split((_TARGET_SHARE, 1 - _TARGET_SHARE) if numeric else (1.0,))
    return TablesPlan(codes, grids, schema.features, schema.target, first[0] if first else None, last)


def _refuse_too_many_cells(schema: Schema, grids: Mapping[str, Grid]) -> None:
    classes = 1 if schema.target is None else grids[schema.target].size
    for name in schema.features:
        if grids[name].size * classes > _MOST_CELLS:
            raise SchemaError(
                f"column {name!r} by the target {schema.target!r} would be a table of {grids[name].size} x {classes} "
                f"cells, more than {_MOST_CELLS}; shorten the lists of values"
            )


def release_tables(door: Door, plan: TablesPlan, progress: Callable[[str], None]) -> TableMixture:
    """Measure every column against the classes of the target, then estimate.

    After the measurements all is post-processing.
    """
    progress("counting behind the door")
    classes = _classes(door, plan)
    counts, sigma = _one_way(door, plan, classes)
    progress("fitting the model to what came out")
    totals, variance = class_totals(list(counts.values()))
    totals = np.maximum(totals, _FEWEST)
    size = totals.sum()
    columns = {name: _column(plan, name, counts[name], sigma, totals) for name in plan.features}
    if plan.target is not None:
        deviation = np.full(len(totals), sigma * np.sqrt(variance) / size)
        theta = np.where(classes.groups == np.arange(len(totals))[:, None], classes.inside, 0.0)
        columns[plan.target] = _pieces(plan.grids[plan.target], classes.groups, deviation, theta)
    ordered = {name: columns[name] for name in plan.codes}
    return TableMixture(totals / size, ordered, float(size))


@dataclass(frozen=True)
class _Classes:
    """The classes of the target: which cell of its grid lies in which, and a cell's probability within its class."""

    groups: IntArray
    inside: FloatArray


def _classes(door: Door, plan: TablesPlan) -> _Classes:
    if plan.target is None:
        return _Classes(np.zeros(1, dtype=np.int64), np.ones(1))
    grid = plan.grids[plan.target]
    if plan.mu_target is None:
        return _Classes(np.arange(grid.size), np.ones(grid.size))
    histogram = Cells(((plan.target,),), {plan.target: grid}, plan.target)
    measured = door.measure(histogram, plan.mu_target)
    missing = int(plan.codes[plan.target].missing is not None)
    counts = project(measured.values.astype(float), max(measured.values.sum(), _FEWEST))
    groups = _equal_parts(counts[: grid.size - missing])
    groups = np.append(groups, np.full(missing, groups.max() + 1))
    inside = inside_groups(measured.values.astype(float), np.full(grid.size, measured.sigma**2), groups, grid.widths)
    return _Classes(groups, inside)


def _equal_parts(counts: FloatArray) -> IntArray:
    """Neighbouring cells in at most so many groups of about the same count."""
    middle = np.cumsum(counts) - counts / 2
    part = np.minimum(_TARGET_CLASSES * middle / counts.sum(), _TARGET_CLASSES - 1).astype(np.int64)
    return np.unique(part, return_inverse=True)[1]


def _one_way(door: Door, plan: TablesPlan, classes: _Classes) -> tuple[dict[str, FloatArray], float]:
    """The noisy table of every column (cells x classes), and the standard deviation of each count."""
    grids: Mapping[str, Grid] = plan.grids
    tables: list[tuple[str, ...]] = [(name,) for name in plan.features]
    if plan.target is not None:
        grids = {**plan.grids, plan.target: plan.grids[plan.target].merged(classes.groups)}
        tables = [(name, plan.target) for name in plan.features] or [(plan.target,)]
    one_way = Cells(tuple(tables), grids, plan.target)
    measured = door.measure(one_way, plan.mu_one_way)
    split = one_way.split(measured.values.astype(float))
    if not plan.features:
        return {plan.target or "": split[tables[0]][None, :]}, measured.sigma
    return {table[0]: values.reshape(len(values), -1) for table, values in split.items()}, measured.sigma


def _column(plan: TablesPlan, name: str, counts: FloatArray, sigma: float, totals: FloatArray) -> Pieces:
    """Merge the cells that noise cannot tell apart, estimate every class, spread each group over its cells."""
    grid, codes = plan.grids[name], plan.codes[name]
    variance = np.full(grid.size, sigma**2)
    pooled_variance = variance * len(totals)
    if isinstance(codes, Measured):
        values = grid.size - (codes.missing is not None)
        groups = merge_neighbours(counts[:values], variance[:values], grid.widths[:values])
        groups = np.append(groups, np.full(grid.size - values, groups.max() + 1))
    else:
        groups = group_rare(counts.sum(axis=1), float(np.sqrt(pooled_variance[0])))
    theta = distributions(sum_groups(counts, groups), sum_groups(variance, groups), totals)
    inside = inside_groups(counts.sum(axis=1), pooled_variance, groups, grid.widths)
    deviation = np.sqrt(sum_groups(pooled_variance, groups)) / totals.sum()
    return _pieces(grid, groups, deviation, theta[:, groups] * inside)


def _pieces(grid: Grid, groups: IntArray, deviation: FloatArray, theta: FloatArray) -> Pieces:
    """The distribution over a grid each of whose cells is one run of codes, in the order of the codes."""
    cells = np.array(grid.cells)
    starts = np.array(grid.starts)
    stops = np.append(starts[1:], grid.codes)
    return Pieces(starts, stops, groups[cells], deviation[groups[cells]], theta[:, cells])
