"""How many values of each column fall into each cell of a public grid: the question by which bounds are bought."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.grid import Grid, grids_follow
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register
from sfumato.trusted.statistics.tally import tally


@dataclass(frozen=True, repr=False)
class RangeCounts(Titled):
    """Counts of every column by itself, each cut into the cells of its grid.

    Formal guarantees, d columns
        A record is in exactly one cell of each column, so it adds a vector of d ones and zeros elsewhere.
        add-remove   sqrt(d): the norm of that vector
        replace      sqrt(2 d): in each column at most one cell loses 1 and another gains 1
        label        sqrt(2 d): to change a label is one way to replace. Where the target is no column of these, nothing
                     moves at all; it is charged like the rest, so that the noise is not 0
        The first two are attained: by any record; by two records that differ in every column.
    Edge cases
        Every value has a code and every code a cell, so nothing is dropped and nothing raises. No records: zeros.
    """

    grids: Mapping[str, Grid]

    @property
    def title(self) -> str:
        """See `Statistic`."""
        count = len(self.grids)
        return f"bounds of {count} column{'s' * (count > 1)}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return tuple(self.grids)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(sum(grid.size for grid in self.grids.values()), 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return math.sqrt(len(self.grids))
            case Adjacency.REPLACE | Adjacency.LABEL:
                return math.sqrt(2 * len(self.grids))
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        counts = [tally(grid.cells_of(batch.codes[name]), grid.size) for name, grid in self.grids.items()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *counts])

    def split(self, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The vector of a measurement, column by column."""
        ends = np.cumsum([grid.size for grid in self.grids.values()])[:-1]
        return dict(zip(self.grids, np.split(values, ends), strict=True))

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return grids_follow(self.grids.items(), schema)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {"kind": "range counts", "grids": [[name, grid.to_dict()] for name, grid in self.grids.items()]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "RangeCounts":
        """The statistic that `to_dict` wrote."""
        return cls({name: Grid.from_dict(grid) for name, grid in content["grids"]})


register("range counts", RangeCounts.from_dict)
