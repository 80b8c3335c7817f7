"""Which codes each box of the allowed records holds, and the grids that follow them.

Every component of a model that keeps to one box gives forbidden records no probability, and so does the mixture.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.support.boxes import allowed_boxes
from sfumato.trusted.arrays import BoolArray, IntArray
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.schema.schema import Combination, Runs


@dataclass(frozen=True, eq=False)
class Support:
    """The forbidden combinations, and the disjoint boxes that make up all other records."""

    forbidden: tuple[Combination, ...]
    boxes: tuple[Combination, ...]

    @classmethod
    def of(cls, forbidden: Iterable[Combination], sizes: Mapping[str, int]) -> "Support | None":
        """None where nothing is forbidden."""
        rules = tuple(forbidden)
        return cls(rules, allowed_boxes(rules, sizes)) if rules else None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that are not free in every box."""
        return tuple(dict.fromkeys(name for box in self.boxes for name in box))

    def edges(self, name: str) -> set[int]:
        """Where the codes of a column begin or cease to be in some box."""
        return {edge for box in self.boxes for run in box.get(name, ()) for edge in run}

    def of_cells(self, name: str, grid: Grid) -> BoolArray:
        """Whether each box holds each cell (boxes x cells). A cell of which it holds a part: `ValueError`."""
        starts, cells = np.array(grid.starts), np.array(grid.cells)
        by_run = np.array([_inside(box.get(name), starts) for box in self.boxes])
        by_cell = by_run[:, np.unique(cells, return_index=True)[1]]
        torn = self.edges(name) - {*grid.starts, grid.codes}
        if torn or not np.array_equal(by_cell[:, cells], by_run):
            raise ValueError(f"cells of column {name!r} are forbidden in part")
        return by_cell

    def must_follow(self, grids: Mapping[str, Grid]) -> None:
        """Refuse grids of which a cell is forbidden in part."""
        for name in self.names:
            self.of_cells(name, grids[name])

    def kinds(self, name: str, grid: Grid) -> IntArray:
        """A number for each cell; the same boxes hold the cells of one number."""
        return kinds_of(self.of_cells(name, grid))


def kinds_of(held: BoolArray) -> IntArray:
    """A number for each cell, from what each box holds (boxes x cells): the same for cells that the same boxes hold."""
    return np.unique(np.packbits(held, axis=0), axis=1, return_inverse=True)[1].ravel()


def _inside(runs: Runs | None, codes: NDArray[np.integer[Any]]) -> BoolArray:
    """Whether each code lies in the runs; in no runs at all means free."""
    if runs is None:
        return np.ones(len(codes), dtype=bool)
    return in_runs(runs, codes)


def in_runs(runs: Runs, codes: NDArray[np.integer[Any]]) -> BoolArray:
    """Whether each code lies in one of the runs, which go up."""
    starts, stops = np.array(runs, dtype=np.int64).reshape(-1, 2).T
    run = np.searchsorted(starts, codes, side="right") - 1
    inside: BoolArray = (run >= 0) & (codes < np.append(stops, -1)[run])
    return inside
