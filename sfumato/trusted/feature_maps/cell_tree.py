"""A public tree that compares whole cells: which leaf each record is in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.trusted.arrays import Int32Array, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.grid import Grid
from sfumato.trusted.feature_maps.packing import pack, unpack

_RECORDS_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class CellTree:
    """A record begins at node 0; without nodes all records are in leaf 0.

    From node i it goes to below[i] if its cell of column columns[axes[i]], on the grid of that column, is at most
    thresholds[i], else to above[i]; -1 - l stands for leaf l.

    Formal guarantees
        Every code has a cell, and every walk ends because children come after their parent: a record is in exactly one
        leaf. Integers are compared with integers, so the leaf is a function of the record to the last bit.
    """

    columns: tuple[str, ...]
    grids: tuple[Grid, ...]
    axes: Int32Array
    thresholds: Int32Array
    below: Int32Array
    above: Int32Array

    def __post_init__(self) -> None:
        nodes = len(self.axes)
        if any(part.shape != (nodes,) for part in (self.axes, self.thresholds, self.below, self.above)):
            raise ValueError("every node needs a column, a threshold and two ways on")
        if len(self.columns) != len(self.grids) or len(set(self.columns)) != len(self.columns):
            raise ValueError("every column of a tree needs one grid")
        if ((self.axes < 0) | (self.axes >= len(self.columns))).any():
            raise ValueError("a node looks at a column that the tree does not have")
        ways = np.concatenate([[0 if nodes else -1], self.below, self.above]).astype(np.int64)
        parents = np.concatenate([[-1], np.tile(np.arange(nodes), 2)])
        inner = ways >= 0
        if (ways[inner] <= parents[inner]).any():
            raise ValueError("the nodes are not a tree")
        for found, count in ((ways[inner], nodes), (-1 - ways[~inner], self.leaves)):
            if not np.array_equal(np.sort(found), np.arange(count)):
                raise ValueError("the nodes and leaves are not counted through")

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return len(self.axes) + 1

    def leaf(self, batch: Batch) -> IntArray:
        """The leaf of each record."""
        parts = batch.parts(_RECORDS_AT_ONCE, self.columns)
        return np.concatenate([np.zeros(0, dtype=np.int64), *map(self._leaf, parts)])

    def _leaf(self, batch: Batch) -> IntArray:
        at = np.full(batch.rows, 0 if len(self.axes) else -1, dtype=np.int64)
        cells = np.empty((len(self.columns), batch.rows), dtype=np.int32)
        for row, name, grid in zip(cells, self.columns, self.grids, strict=True):
            row[:] = grid.cells_of(batch.codes[name])
        while (walking := np.flatnonzero(at >= 0)).size:
            node = at[walking]
            low = cells[self.axes[node], walking] <= self.thresholds[node]
            at[walking] = np.where(low, self.below[node], self.above[node])
        return -1 - at

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        return {
            "columns": list(self.columns),
            "grids": [grid.to_dict() for grid in self.grids],
            **{name: pack(getattr(self, name)) for name in ("axes", "thresholds", "below", "above")},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "CellTree":
        """The tree that `to_dict` wrote."""
        parts = (unpack(content[name]) for name in ("axes", "thresholds", "below", "above"))
        return cls(tuple(content["columns"]), tuple(map(Grid.from_dict, content["grids"])), *parts)
