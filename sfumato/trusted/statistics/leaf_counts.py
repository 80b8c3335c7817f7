"""How many records of each class are in each leaf of a public tree."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.cell_tree import CellTree
from sfumato.trusted.feature_maps.grid import Grid, grids_follow
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register
from sfumato.trusted.statistics.tally import tally


@dataclass(frozen=True, eq=False, repr=False)
class LeafCounts(Titled):
    """Counts by leaf of `tree` and class of the target, the cells of `grid`.

    Formal guarantees
        A record is in one leaf and one class, so in exactly one cell, however many columns the tree looks at.
        add-remove   1: one cell gains or loses 1
        replace      sqrt(2): one cell loses 1 and another gains 1
        label        sqrt(2): the same; the tree does not look at the label, so both cells are of one leaf
        All three are attained: by any record; by two records of different classes.
    Edge cases
        Every value has a code and every code a cell, so nothing is dropped and nothing raises. No records: zeros.
    """

    tree: CellTree
    target: str
    grid: Grid

    def __post_init__(self) -> None:
        if self.target in self.tree.columns:
            raise ValueError("the tree must not look at the target")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"counts of {self.target} in the leaves of a tree"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return (*self.tree.columns, self.target)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(self.tree.leaves * self.grid.size, 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return 1.0
            case Adjacency.REPLACE | Adjacency.LABEL:
                return math.sqrt(2)
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        cell = self.tree.leaf(batch) * self.grid.size + self.grid.cells_of(batch.codes[self.target])
        return tally(cell, self.tree.leaves * self.grid.size)

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        read = [*zip(self.tree.columns, self.tree.grids, strict=True), (self.target, self.grid)]
        return grids_follow(read, schema) and self.target == schema.target

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "leaf counts",
            "tree": self.tree.to_dict(),
            "target": self.target,
            "grid": self.grid.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "LeafCounts":
        """The statistic that `to_dict` wrote."""
        return cls(CellTree.from_dict(content["tree"]), content["target"], Grid.from_dict(content["grid"]))


register("leaf counts", LeafCounts.from_dict)
