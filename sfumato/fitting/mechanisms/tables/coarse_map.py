"""How pair tables see the groups of every column: a matrix from groups to coarse cells that is zero but for blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.models.table_mixture.ties import Tie
from sfumato.trusted.arrays import Float32Array, FloatArray, IntArray
from sfumato.trusted.encoding.scratch import scratch_array

_ROWS_AT_ONCE = 64  # of a block: some columns together


@dataclass(frozen=True, eq=False)
class CoarseMap:
    """A matrix of groups by cells, as blocks of rows and the cells that these see."""

    shape: tuple[int, int]
    blocks: tuple[tuple[slice, IntArray | slice, Float32Array], ...]

    @classmethod
    def of(cls, shape: tuple[int, int], seen: Sequence[tuple[slice, IntArray, FloatArray]]) -> "CoarseMap":
        """From smaller blocks, each of the rows of one column; a column may have several, of other cells."""
        blocks: list[tuple[slice, IntArray | slice, Float32Array]] = []
        for some in _runs(sorted(seen, key=lambda one: one[0].start)):
            rows = slice(some[0][0].start, max(own.stop for own, _, _ in some))
            cells = np.unique(np.concatenate([own for _, own, _ in some]))
            block = np.zeros((rows.stop - rows.start, len(cells)), dtype=np.float32)
            for own_rows, own_cells, values in some:
                at = np.arange(own_rows.start, own_rows.stop) - rows.start
                block[np.ix_(at, np.searchsorted(cells, own_cells))] += values.astype(np.float32)
            side_by_side = cells[-1] - cells[0] == len(cells) - 1
            blocks.append((rows, slice(int(cells[0]), int(cells[-1]) + 1) if side_by_side else cells, block))
        return cls(shape, tuple(blocks))

    def cells_of(self, groups: Float32Array) -> Float32Array:
        """`groups` @ this."""
        found: Float32Array = scratch_array(len(groups) * self.shape[1], groups.dtype).reshape(len(groups), -1)
        found.fill(0)
        for rows, cells, block in self.blocks:
            found[:, cells] += _product(groups[:, rows], block)
        return found

    def add_groups_of(self, cells: Float32Array, to: Float32Array) -> None:
        """Adds `cells` @ the transpose of this."""
        for rows, own, block in self.blocks:
            to[:, rows] += _product(cells[:, own], block.T)

    @property
    def matrix(self) -> Float32Array:
        """The whole of it."""
        found = np.zeros(self.shape, dtype=np.float32)
        for rows, cells, block in self.blocks:
            found[rows, cells] = block
        return found


def _product(one: Float32Array, other: Float32Array) -> Float32Array:
    room = scratch_array(len(one) * other.shape[1], one.dtype).reshape(len(one), -1)
    product: Float32Array = np.matmul(one, other.astype(one.dtype, copy=False), out=room)
    return product


def _runs(
    seen: Sequence[tuple[slice, IntArray, FloatArray]],
) -> list[list[tuple[slice, IntArray, FloatArray]]]:
    """Neighbours by rows, as many as make a block of a good size; those of the same rows are never parted."""
    runs: list[list[tuple[slice, IntArray, FloatArray]]] = []
    for one in seen:
        first = runs[-1][0][0].start if runs else 0
        if runs and (one[0].stop - first <= _ROWS_AT_ONCE or one[0].start == runs[-1][-1][0].start):
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs


def coarse_map(one_way: OneWays, pairs: PairTables | None, starts: Mapping[str, int], cells: int) -> CoarseMap:
    """Groups of all columns x coarse cells: 1 where a group lies in a cell.

    The cells of a tied column are seen by its parent, with the probability that it has given each group of that: its
    tables are evidence on the parent.

    starts   the first coarse cell of each paired column
    cells    of all of them
    """
    offsets = np.cumsum([0, *(len(column.grouped) for column in one_way.columns.values())])
    rows = {name: slice(first, last) for name, first, last in zip(one_way.columns, offsets, offsets[1:], strict=False)}
    seen: list[tuple[slice, IntArray, FloatArray]] = []
    if pairs is None:
        return CoarseMap.of((int(offsets[-1]), cells), ())
    for name, start in starts.items():
        coarse, tie = pairs.coarse[name], pairs.ties.get(name)
        parent, block = (
            (name, np.eye(coarse.max() + 1)[coarse])
            if tie is None
            else (tie.parent, _seen_by_parent(tie, one_way.columns[tie.parent], one_way.columns[name], coarse))
        )
        seen.append((rows[parent], start + np.arange(block.shape[1]), block))
    return CoarseMap.of((int(offsets[-1]), cells), seen)


def _seen_by_parent(tie: Tie, parent: OneWay, child: OneWay, coarse: IntArray) -> FloatArray:
    """Groups of the parent x coarse cells of the child."""
    by_group = sum_groups(parent.inside[:, None] * tie.table, parent.groups)
    return sum_groups(by_group.T, coarse[child.groups]).T
