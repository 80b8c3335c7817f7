"""What columns tell together of the target and a public model of it does not: one signed product for each set."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.features import Softmax
from sfumato.trusted.feature_maps.grid import Grid, grids_follow
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.gradient import UNIT, bounded_residual
from sfumato.trusted.statistics.statistic import Block, Titled, register

MOST_SETS = 1 << 12
_RECORDS_AT_ONCE = 1 << 11


@dataclass(frozen=True, eq=False, repr=False)
class Products(Titled):
    """Sum over the records of  s a': s the signed products, a = Q'(e_y - p) / rho how far the model is off.

    A column's sign is -1 in the first of the two cells of its grid and 1 in the second; a set's product is that of its
    columns' signs. p, Q and rho are those of `Gradient`, with the public `model`.

    Formal guarantees, in units of 2**22, T = number of sets
        add-remove   sqrt(T): |s a'| = |s| |a|; |s| = sqrt(T) for every record, because its entries are 1 or -1, and
                     |a| <= 1 as for `Gradient`
        replace      2 sqrt(T): by the triangle inequality
        label        2 sqrt(T): the same. Attained for two classes at p = 1/2
        a is cut to whole numbers towards zero and compared with its bound in integers, as for `Gradient`; products are
        of integers, and sums of 2**11 of them stay below 2**53, so they are exact.
    Edge cases
        Every value has a code and every code a cell, so nothing is dropped and nothing raises. No records: zeros.
    """

    grids: Mapping[str, Grid]
    sets: tuple[tuple[str, ...], ...]
    model: Softmax
    target: str
    grid: Grid

    def __post_init__(self) -> None:
        if not 0 < len(self.sets) <= MOST_SETS:
            raise ValueError(f"products need 1 to {MOST_SETS} sets of columns")
        if any(grid.size != 2 for grid in self.grids.values()):
            raise ValueError("a sign needs a grid of two cells")
        if not all(names and set(names) <= set(self.grids) for names in self.sets) or self.target in self.grids:
            raise ValueError("a product is of columns with a sign, and not of the target")
        if self.model.coefficients.shape[1] != self.grid.size:
            raise ValueError("products need coefficients for every class of their target")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"what {len(self.sets)} sets of columns tell together of {self.target}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return tuple(dict.fromkeys((*self.model.features.columns, *self.grids, self.target)))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(len(self.sets) * (self.grid.size - 1), 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return UNIT * math.sqrt(len(self.sets))
            case Adjacency.REPLACE | Adjacency.LABEL:
                return 2 * UNIT * math.sqrt(len(self.sets))
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        total = np.zeros((len(self.sets), self.grid.size - 1), dtype=np.int64)
        for part in batch.parts(_RECORDS_AT_ONCE, self.columns):
            p = self.model.probabilities(self.model.features(part))
            off = bounded_residual(p, self.grid.cells_of(part.codes[self.target]), np.ones(part.rows))
            signs = np.array([2.0 * grid.cells_of(part.codes[name]) - 1.0 for name, grid in self.grids.items()])
            for beginning, last, places in self._beginnings:
                begun = np.multiply.reduce(signs[beginning], axis=0, keepdims=True) * off
                # whole numbers of at most 2**22 each, 2**11 of them: the product is exact
                total[places] += (signs @ begun.T)[last].astype(np.int64)
        return total.ravel()

    @cached_property
    def _beginnings(self) -> list[tuple[list[int], list[int], list[int]]]:
        """Sets that are alike but for their last column: the others, the last of each, and where each stands."""
        number = {name: place for place, name in enumerate(self.grids)}
        found: dict[tuple[str, ...], tuple[list[int], list[int]]] = {}
        for place, (*names, last) in enumerate(self.sets):
            lasts, places = found.setdefault(tuple(names), ([], []))
            lasts.append(number[last])
            places.append(place)
        return [([number[name] for name in names], *both) for names, both in found.items()]

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        read = [*self.grids.items(), *self.model.features.grids, (self.target, self.grid)]
        return grids_follow(read, schema) and self.target == schema.target

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "products",
            "grids": {name: grid.to_dict() for name, grid in self.grids.items()},
            "sets": [list(names) for names in self.sets],
            "model": self.model.to_dict(),
            "target": self.target,
            "grid": self.grid.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Products":
        """The statistic that `to_dict` wrote."""
        return cls(
            {name: Grid.from_dict(grid) for name, grid in content["grids"].items()},
            tuple(tuple(names) for names in content["sets"]),
            Softmax.from_dict(content["model"]),
            content["target"],
            Grid.from_dict(content["grid"]),
        )


register("products", Products.from_dict)
