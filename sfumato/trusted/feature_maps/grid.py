"""A public partition of a column's codes into cells."""

import itertools
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.encoding.scratch import scratch_array
from sfumato.trusted.schema import Column, Schema

_PAGE = 7  # bits of a code that count within a page


MOST_CODES = 2**31 - 1
_PLAIN = 1_024  # numbers that are written one by one
_MOST_RUNS = 1 << 20


class CellMap(Protocol):
    """What tells the cell of every code."""

    @property
    def size(self) -> int:
        """How many cells there are."""

    def cells_of(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The cell of each of these codes."""

    def follows(self, column: Column) -> bool:
        """Whether its cells are of just the codes of this column."""

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""


def grids_follow(grids: Iterable[tuple[str, CellMap]], schema: Schema) -> bool:
    """Whether each named column is one of the schema's and its grid covers just the codes of it."""
    columns = schema.by_name
    return all(name in columns and grid.follows(columns[name]) for name, grid in grids)


def forget_tables(grids: Iterable[CellMap]) -> None:
    """Let go of the look-up tables that `cells_of` has made; asked again, it makes them anew."""
    for grid in grids:
        vars(grid).pop("_pages", None)


@dataclass(frozen=True)
class Grid:
    """Which cell each code falls into.

    Codes come in runs: run i covers starts[i] up to the next start, in cell cells[i].
    """

    starts: tuple[int, ...]
    cells: tuple[int, ...]
    codes: int

    def __post_init__(self) -> None:
        if set(map(type, (*self.starts, *self.cells, self.codes))) != {int} or self.codes > MOST_CODES:
            raise ValueError("a grid is made of integers of 31 bits")
        ends = (*self.starts[1:], self.codes)
        rising = all(map(operator.lt, self.starts, ends))
        if not self.starts or self.starts[0] != 0 or len(self.cells) != len(self.starts) or not rising:
            raise ValueError("a grid does not cover its codes in order")
        if set(self.cells) != set(range(min(max(self.cells), len(self.cells)) + 1)):
            raise ValueError("a grid leaves a cell without codes")

    @classmethod
    def of_cells(cls, cell_of_code: NDArray[np.integer[Any]]) -> "Grid":
        """The grid of an explicit list: the cell of every code."""
        starts = np.flatnonzero(np.diff(cell_of_code, prepend=-1))
        return cls(tuple(starts.tolist()), tuple(cell_of_code[starts].tolist()), len(cell_of_code))

    @cached_property
    def size(self) -> int:
        """How many cells there are."""
        return max(self.cells) + 1

    @cached_property
    def cell_of_code(self) -> NDArray[np.int32]:
        """The cell of every code."""
        return np.repeat(np.array(self.cells, dtype=np.int32), self._lengths)

    def cells_of(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The cell of each of these codes; the same array where each code is a cell of its own."""
        if self._plain:
            return codes
        cells, moved = self._pages
        if not len(moved):
            return cells.take(codes, mode="wrap")
        page = np.right_shift(codes, _PAGE, out=scratch_array(len(codes), np.int32))
        place = moved.take(page, out=scratch_array(len(codes), np.int32), mode="wrap")
        place += codes
        return cells.take(place, out=page, mode="wrap")

    @cached_property
    def _plain(self) -> bool:
        return len(self.cells) == self.codes and self.cells == tuple(range(self.codes))

    @cached_property
    def _pages(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """`cell_of_code` in pages, to stay near the processor, and how far each page is moved.

        A page for each cell serves all pages that lie in one run of it; the others follow.
        """
        if self.codes <= 1 << 13:
            return self.cell_of_code, np.zeros(0, dtype=np.int32)
        first = np.arange(0, self.codes, 1 << _PAGE)
        run, last = (np.searchsorted(self.starts, at, side="right") - 1 for at in (first, first + (1 << _PAGE) - 1))
        torn = first[run != last]
        codes = np.minimum(torn[:, None] + np.arange(1 << _PAGE), self.codes - 1)
        kinds = np.array(self.cells)
        within = kinds[np.searchsorted(self.starts, codes.ravel(), side="right") - 1]
        cells = np.concatenate((np.repeat(np.arange(self.size), 1 << _PAGE), within))
        page = np.where(run == last, kinds[run], self.size + np.cumsum(run != last) - 1)
        moved = (page << _PAGE) - first
        return cells.astype(np.int32), moved.astype(np.int32)

    @property
    def _lengths(self) -> IntArray:
        return np.diff(np.array((*self.starts, self.codes)))

    @property
    def widths(self) -> IntArray:
        """How many codes each cell holds."""
        return np.bincount(self.cells, weights=self._lengths).astype(np.int64)

    def merge(self, groups: Sequence[int] | NDArray[np.integer[Any]]) -> "Grid":
        """The coarser grid in which cell c becomes groups[c]."""
        cells = np.asarray(groups)[np.array(self.cells)]
        first = np.flatnonzero(np.diff(cells, prepend=-1))
        return Grid(tuple(np.array(self.starts)[first].tolist()), tuple(cells[first].tolist()), self.codes)

    def follows(self, column: Column) -> bool:
        """See `CellMap`."""
        return self.codes == codes_of(column).size

    def to_dict(self) -> dict[str, Any]:
        """Plain lists; of many numbers the even stretches: first, step, how many."""
        return {"starts": _stretches(self.starts), "cells": _stretches(self.cells), "codes": self.codes}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Grid":
        """The grid that `to_dict` wrote."""
        return cls(_spelt_out(content["starts"]), _spelt_out(content["cells"]), content["codes"])


def _stretches(numbers: Sequence[int]) -> list[Any]:
    """The numbers, or where they are very many the stretches in which they rise evenly."""
    if len(numbers) <= _PLAIN:
        return list(numbers)
    steps = np.diff(np.array(numbers))
    ends = [0, *(np.flatnonzero(np.diff(steps)) + 1).tolist(), len(steps)]
    found = [[numbers[first], int(steps[first]), last - first] for first, last in itertools.pairwise(ends)]
    return [*found, [numbers[-1], 1, 1]]


def _spelt_out(content: Sequence[Any]) -> tuple[int, ...]:
    """The numbers that `_stretches` wrote; no more than a grid may have."""
    if not any(isinstance(one, list) for one in content):
        return tuple(content)
    if sum(count for _, _, count in content) > _MOST_RUNS or min(count for _, _, count in content) < 1:
        raise ValueError("a grid has too many runs, or a stretch without any")
    return tuple(itertools.chain(*(range(first, first + step * count, step) for first, step, count in content)))


def count_stretched(content: Any) -> int:
    """How many numbers the stretches of all grids somewhere in this content stand for."""
    if isinstance(content, dict):
        stretched = [
            part for name in ("starts", "cells") for part in _list(content.get(name)) if isinstance(part, list)
        ]
        return sum(int(count) for _, _, count in stretched) + sum(map(count_stretched, content.values()))
    return sum(map(count_stretched, content)) if isinstance(content, list) else 0


def _list(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []
