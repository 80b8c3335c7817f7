"""Changes to try: the records or persons in which two neighbouring tables differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray

Rows = TypeVar("Rows")
"""What holds private rows: a table, or the tables of a family by name."""


@dataclass(frozen=True)
class Pair(Generic[Rows]):
    """The rows in which two neighbouring tables differ; one side may have none."""

    here: Rows
    there: Rows | None


@dataclass(frozen=True)
class Candidates(Generic[Rows]):
    """Records or persons to try.

    group     in which each may be exchanged for another; all in one, or by features where only labels change
    corners   places of those that are tried whatever the search says
    """

    rows: Sequence[Rows]
    group: IntArray
    corners: tuple[int, ...]

    def pair(self, inner: FloatArray, adjacency: Adjacency) -> Pair[Rows]:
        """The worst one change, by the inner products of what the candidates add."""
        squares = np.diag(inner)
        if adjacency == Adjacency.ADD_REMOVE:
            return Pair(self.rows[int(squares.argmax())], None)
        apart = squares[:, None] + squares - 2 * inner
        apart[self.group[:, None] != self.group] = -1.0
        here, there = np.unravel_index(apart.argmax(), apart.shape)
        return Pair(self.rows[int(here)], self.rows[int(there)])

    def corner_pairs(self, adjacency: Adjacency) -> list[Pair[Rows]]:
        """Changes that are tried whatever the inner products say: corners against nothing, or against one another."""
        if adjacency == Adjacency.ADD_REMOVE:
            return [Pair(self.rows[place], None) for place in self.corners]
        first, *others = self.corners
        return [Pair(self.rows[place], self.rows[first]) for place in others]
