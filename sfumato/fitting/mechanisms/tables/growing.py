"""Grow a tree on synthetic records towards what a model says of their classes. Post-processing: no record is private.

Leaf by leaf the split is made that explains most of what is left of the class probabilities (least squares), on cells
of about equal count; the categories of a column stand in the order in which their classes differ most.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, Int32Array, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import CellTree, Grid


class Tuning(TuningConstants, group="tables.growing"):
    """See `sfumato.fitting.tuning`."""

    leaves_rate = 0.3  # for each record and unit of mu
    fewest_leaves = 8
    most_leaves = 200
    most_cells = 32  # of a column, between which it is cut
    most_records = 20_000
    least_records = 8  # in a leaf


def count_leaves(size: float, mu: float) -> int:
    """How many leaves counts of so many records with this mu can tell of."""
    return int(np.clip(Tuning.leaves_rate * size * mu, Tuning.fewest_leaves, Tuning.most_leaves))


def grow_tree(one_way: OneWays, pool: Batch, told: FloatArray, leaves: int) -> CellTree:
    """A tree of at most so many leaves; `told` are the class probabilities of the pool's records."""
    rows = min(pool.rows, Tuning.most_records)
    records = next(pool.parts(rows, one_way.columns))
    grids = {name: _places(column, records.codes[name], told[:rows]) for name, column in one_way.columns.items()}
    cells = np.stack([grid.cells_of(records.codes[name]) for name, grid in grids.items()])
    splits = _grow(cells, told[:rows], leaves)
    used = sorted({split.column for split in splits})
    names = [list(grids)[column] for column in used]
    places = np.searchsorted(used, [split.column for split in splits])
    return CellTree(
        tuple(names),
        tuple(grids[name] for name in names),
        places.astype(np.int32),
        np.array([split.threshold for split in splits], dtype=np.int32),
        *_ways(splits),
    )


def _places(column: OneWay, codes: Int32Array, told: FloatArray) -> Grid:
    """The cells between which a column may be cut, in the order in which they are."""
    cells = column.grid.cells_of(codes)
    if column.ordered:
        return column.grid.merge(_even(np.bincount(cells, minlength=column.grid.size)))
    groups = column.groups[cells]
    held = np.bincount(groups, minlength=column.groups.max() + 1)
    share = np.stack([np.bincount(groups, told_of, len(held)) for told_of in told.T], axis=1)
    share = share / np.maximum(held, 1)[:, None] - told.mean(axis=0)
    along = np.linalg.svd(np.sqrt(held)[:, None] * share, full_matrices=False)[2][0]
    order = np.argsort(share @ along, kind="stable")
    place = np.empty(len(held), dtype=np.int64)
    place[order] = _even(held[order])
    return column.grid.merge(place[column.groups])


def _even(held: IntArray) -> IntArray:
    """A cell for each finer one: as many as there are, or neighbours together so that all hold about as much."""
    if len(held) <= Tuning.most_cells:
        return np.arange(len(held))
    middle = (np.cumsum(held) - held / 2) / max(1, held.sum())
    return np.unique((middle * Tuning.most_cells).astype(np.int64), return_inverse=True)[1]


@dataclass(frozen=True, order=True)
class Split:
    """Records of a node with a cell of `column` up to `threshold` go below; `gain` is what that explains, negative.

    `way` is where the node hangs: (number of the split above, 0 below or 1 above).
    """

    gain: float
    number: int
    column: int = field(compare=False)
    threshold: int = field(compare=False)
    way: tuple[int, int] = field(compare=False)
    rows: IntArray = field(compare=False)


def _grow(cells: Int32Array, told: FloatArray, leaves: int) -> list[Split]:
    """The splits in the order in which they are made: each time the one that explains most."""
    width = int(cells.max(initial=0)) + 1
    places = cells.astype(np.int64) + np.arange(len(cells))[:, None] * width
    found = _best(places, told, np.arange(len(told)), width, (-1, 0), 0)
    open_splits = [found] if found else []
    made: list[Split] = []
    while open_splits and len(made) < leaves - 1:
        split = heapq.heappop(open_splits)
        below = cells[split.column, split.rows] <= split.threshold
        for side, rows in enumerate((split.rows[below], split.rows[~below])):
            found = _best(places, told, rows, width, (len(made), side), 2 * len(made) + side + 1)
            if found:
                heapq.heappush(open_splits, found)
        made.append(split)
    return made


def _best(
    places: IntArray, told: FloatArray, rows: IntArray, width: int, way: tuple[int, int], number: int
) -> Split | None:
    """The split of these records that explains most, if there is one."""
    if len(rows) < 2 * Tuning.least_records:
        return None
    columns, here = len(places), places[:, rows].ravel()
    shape = (columns, width)
    held = np.bincount(here, minlength=columns * width).reshape(shape).cumsum(axis=1)
    explained = np.zeros(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for told_of in told[rows].T:
            below = np.bincount(here, np.tile(told_of, columns), columns * width).reshape(shape).cumsum(axis=1)
            total = float(told_of.sum())
            explained += below**2 / held + (total - below) ** 2 / (len(rows) - held) - total**2 / len(rows)
    allowed = (held >= Tuning.least_records) & (len(rows) - held >= Tuning.least_records)
    explained = np.where(allowed, explained, 0.0)
    best = int(explained.argmax())
    if explained.flat[best] <= 1e-9 * len(rows):
        return None
    return Split(-float(explained.flat[best]), number, best // width, best % width, way, rows)


def _ways(splits: list[Split]) -> tuple[Int32Array, Int32Array]:
    """Where each split leads: to a later one, or to a leaf."""
    ways = np.full((len(splits), 2), -1, dtype=np.int32)
    for number, split in enumerate(splits[1:], start=1):
        ways[split.way] = number
    ends = ways == -1
    ways[ends] = -1 - np.arange(ends.sum())
    return ways[:, 0], ways[:, 1]
