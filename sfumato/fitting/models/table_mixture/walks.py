"""The leaves of many records in a public tree, all records a step at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import Int32Array, IntArray
from sfumato.trusted.feature_maps.cell_tree import CellTree

_TOGETHER = 8  # steps that all records take, whether they have arrived or not
_AT_ONCE = 1 << 14  # records, whose cells stay near the processor


@dataclass(frozen=True, eq=False)
class Walk:
    """From node i a record goes to ways[2 i], or to ways[2 i + 1] where its cell is above thresholds[i].

    A leaf is a node that leads to itself; leaf l is node inner + l. Numbers say the same as the tree.

    columns  for each axis the place of its column in the list of all columns, and the tree's cell for each of its cells
    """

    columns: tuple[tuple[int, Int32Array], ...]
    axes: IntArray
    thresholds: Int32Array
    ways: IntArray
    inner: int

    @classmethod
    def of(cls, tree: CellTree, columns: Sequence[tuple[int, IntArray]]) -> "Walk":
        """The walk in a tree, by the places and cells of its columns."""
        inner, used = len(tree.axes), np.unique(tree.axes)
        leaves = inner + np.arange(tree.leaves)
        on = np.stack([tree.below, tree.above], axis=1).astype(np.int64)
        on = np.where(on < 0, inner - 1 - on, on)
        return cls(
            tuple((columns[axis][0], columns[axis][1].astype(np.int32)) for axis in used),
            np.concatenate([np.searchsorted(used, tree.axes), np.zeros(tree.leaves, dtype=np.int64)]),
            np.concatenate([tree.thresholds, np.full(tree.leaves, np.iinfo(np.int32).max)]).astype(np.int32),
            np.concatenate([on.ravel(), np.repeat(leaves, 2)]),
            inner,
        )

    def leaves(self, found: Sequence[IntArray], rows: int) -> IntArray:
        """The leaf of each of some records, by its cells in all columns."""
        leaves = np.zeros(rows, dtype=np.int64)
        for first in range(0, len(leaves), _AT_ONCE) if self.inner else ():
            some = slice(first, first + _AT_ONCE)
            leaves[some] = self._leaves([found[column][some] for column, _ in self.columns])
        return leaves

    def _leaves(self, found: Sequence[IntArray]) -> IntArray:
        rows = len(found[0])
        cells, here = np.empty((len(found), rows), dtype=np.int32), np.arange(rows)
        for row, own, (_, cell) in zip(cells, found, self.columns, strict=True):
            cell.take(own, out=row, mode="wrap")
        begins, at = self.axes * rows, np.zeros(rows, dtype=np.int64)
        for _ in range(_TOGETHER):
            at = self._step(at, begins, cells.ravel(), here)
        walking = np.flatnonzero(at < self.inner)
        while walking.size:
            at[walking] = self._step(at[walking], begins, cells.ravel(), here[walking])
            walking = walking[at[walking] < self.inner]
        return at - self.inner

    def _step(self, at: IntArray, begins: IntArray, cells: Int32Array, here: IntArray) -> IntArray:
        place = begins.take(at)
        place += here
        above = cells.take(place) > self.thresholds.take(at)
        way = at * 2
        way += above
        return self.ways.take(way)
