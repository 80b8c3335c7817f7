"""Tables of two columns that products of their distributions make, against those that were measured."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.generators.columnwise import Tensor
from sfumato.fitting.generators.divergence import Cost
from sfumato.fitting.generators.evidence import Layout, Pairs
from sfumato.fitting.tuning import TuningConstants


class Tuning(TuningConstants, group="generators.products"):
    """See `sfumato.fitting.tuning`."""

    few = 1 / 16  # of all cells; where fewer were asked for, the others are not computed


class Tables(Protocol):
    """The tables of all pairs of columns that were asked for, by class."""

    def cells(self, theta: Tensor) -> Tensor:
        """The distributions over the groups of columns, put together to those over the cells of tables."""

    def loss(self, mine: Tensor, weights: Tensor, c: int, held_back: bool) -> Tensor:
        """The divergence of class c, whose latent points have these cells; by default half of what is off, squared,
        times its precision."""

    def counted(self, held_back: bool) -> int:
        """How many cells of a class that is a sum over."""


def tables_of(
    pairs: Pairs, layout: Layout, back: NDArray[np.bool_], tensor: Callable[[Any], Tensor], cost: Cost
) -> "AllTables | ChosenTables":
    """Tables to be compared, but for the cells that are held back."""
    precisions = [pairs.precision * where for where in (~back, back)]
    few = np.count_nonzero(pairs.precision) < Tuning.few * pairs.precision.size
    return ChosenTables(pairs, layout, precisions, tensor, cost) if few else AllTables(pairs, precisions, tensor, cost)


class AllTables:
    """One large table of all cells by all cells."""

    def __init__(self, pairs: Pairs, precisions: list[Any], tensor: Callable[[Any], Tensor], cost: Cost) -> None:
        self._cost = cost
        self._coarse, self._tables = tensor(pairs.coarse), tensor(pairs.tables)
        self._precisions = [tensor(precision) for precision in precisions]

    def cells(self, theta: Tensor) -> Tensor:
        """By a product."""
        return theta @ self._coarse

    def loss(self, mine: Tensor, weights: Tensor, c: int, held_back: bool) -> Tensor:
        """Half of it, as pairs stand on both sides."""
        off = mine.T @ (weights[:, None] * mine) - self._tables[c]
        return 0.5 * self._cost(off, self._tables[c], self._precisions[held_back])

    def counted(self, held_back: bool) -> int:
        """Half of the cells, as pairs stand on both sides."""
        return int((self._precisions[held_back] > 0).sum()) // 2


class ChosenTables:
    """Only the pairs of columns that were asked for, each a small table, all of one size: empty cells fill them up."""

    def __init__(
        self, pairs: Pairs, layout: Layout, precisions: list[Any], tensor: Callable[[Any], Tensor], cost: Cost
    ) -> None:
        import torch

        self._cost = cost
        groups, cells = np.nonzero(pairs.coarse)
        self._size = pairs.coarse.shape[1]
        cell = np.full(layout.width, self._size)  # where all groups go whose column is in no pair
        cell[groups] = cells
        column = np.empty(self._size, dtype=np.intp)
        column[cells] = np.repeat(np.arange(len(layout.sizes)), layout.sizes)[groups]
        asked = np.unique(column[np.argwhere(np.triu(pairs.precision))], axis=0)
        places = _places(column, len(layout.sizes), empty=self._size + 1)
        one, other = places[asked[:, 0]], places[asked[:, 1]]
        rows, across = (part.clip(max=self._size - 1) for part in (one[:, :, None], other[:, None]))
        there = (one[:, :, None] < self._size) & (other[:, None] < self._size)
        self._tables = tensor(pairs.tables[:, rows, across])
        self._precisions = [tensor(precision[rows, across] * there) for precision in precisions]
        device = self._tables.device
        self._cell, self._one, self._other = (torch.tensor(part, device=device) for part in (cell, one, other))

    def cells(self, theta: Tensor) -> Tensor:
        """By sums; the last two are of groups in no cell, and empty."""
        import torch

        empty = torch.zeros(len(theta), self._size + 2, device=theta.device)
        return torch.scatter_add(empty, 1, self._cell.expand(len(theta), -1), theta)

    def loss(self, mine: Tensor, weights: Tensor, c: int, held_back: bool) -> Tensor:
        """All of it, as each pair stands once."""
        import torch

        made = torch.einsum("kpa,kpb->pab", mine[:, self._one], (weights[:, None] * mine)[:, self._other])
        return self._cost(made - self._tables[c], self._tables[c], self._precisions[held_back])

    def counted(self, held_back: bool) -> int:
        """All cells."""
        return int((self._precisions[held_back] > 0).sum())


def _places(column: NDArray[np.intp], columns: int, empty: int) -> NDArray[np.intp]:
    """Columns x most cells of a column: the cells of each, and `empty` where there are no more."""
    places = np.full((columns, np.bincount(column).max()), empty)
    for name in range(columns):
        own = np.flatnonzero(column == name)
        places[name, : len(own)] = own
    return places
