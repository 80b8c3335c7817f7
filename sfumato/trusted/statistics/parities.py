"""What three columns or more have together: one signed product for each set of columns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.grid import Grid, grids_follow
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register

MOST_SETS = 1 << 12


@dataclass(frozen=True, repr=False)
class Parities(Titled):
    """Sum over the records of the signed products of sets of columns.

    A column's sign is -1 in the first of the two cells of its grid and 1 in the second; a set's product is that of its
    columns' signs.

    Formal guarantees, T = number of sets, L = number of those with the label
        A record adds a vector of T entries that are 1 or -1.
        add-remove   sqrt(T): the norm of that vector
        replace      2 sqrt(T): no entry moves by more than 2
        label        2 sqrt(L): the other products do not see the label
        All three are attained: by any record; by two records of which all products differ; by two labels of different
        sign.
    Edge cases
        Every value has a code and every code a cell, so nothing is dropped and nothing raises. No records: zeros.
    """

    grids: Mapping[str, Grid]
    sets: tuple[tuple[str, ...], ...]
    label: str | None

    def __post_init__(self) -> None:
        if not 0 < len(self.sets) <= MOST_SETS:
            raise ValueError(f"parities need 1 to {MOST_SETS} sets of columns")
        if any(grid.size != 2 for grid in self.grids.values()):
            raise ValueError("a sign needs a grid of two cells")
        if not all(names and set(names) <= set(self.grids) for names in self.sets):
            raise ValueError("a parity is of columns with a sign")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"parities of {len(self.sets)} sets of columns"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return tuple(self.grids)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(len(self.sets), 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return math.sqrt(len(self.sets))
            case Adjacency.REPLACE:
                return 2 * math.sqrt(len(self.sets))
            case Adjacency.LABEL:
                return 2 * math.sqrt(sum(self.label in names for names in self.sets))
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        signs = {name: 2 * grid.cells_of(batch.codes[name]).astype(np.int64) - 1 for name, grid in self.grids.items()}
        products = (reduce(np.multiply, [signs[name] for name in names]) for names in self.sets)
        return np.array([product.sum() for product in products], dtype=np.int64)

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return grids_follow(self.grids.items(), schema) and self.label == schema.target

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "parities",
            "grids": {name: grid.to_dict() for name, grid in self.grids.items()},
            "sets": [list(names) for names in self.sets],
            "label": self.label,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Parities":
        """The statistic that `to_dict` wrote."""
        grids = {name: Grid.from_dict(grid) for name, grid in content["grids"].items()}
        return cls(grids, tuple(tuple(names) for names in content["sets"]), content["label"])


register("parities", Parities.from_dict)
