"""How many records fall into each cell of public tables."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.encoding import Batch
from sfumato.privacy.adjacency import Adjacency
from sfumato.statistics.grid import Grid
from sfumato.statistics.statistic import Block, IntArray, register


@dataclass(frozen=True)
class Cells:
    """Counts over `tables`; each table crosses some columns, each cut into the cells of its grid.

    Formal guarantees, T = number of tables
        A record is in exactly one cell of each table, so it adds a vector of T ones (in T different places).
        add-remove   sqrt(T): the norm of that vector
        replace      sqrt(2 T): in each table at most one cell loses 1 and another gains 1
        label        sqrt(2 L), L = tables that contain the label: the others do not see it
        All three are attained: by any record; by two records that differ in every table; by two labels in different
        cells.
    Edge cases
        Every value has a code and every code a cell, so nothing is dropped and nothing raises. No records: zeros.
    """

    tables: tuple[tuple[str, ...], ...]
    grids: Mapping[str, Grid]
    label: str | None

    @property
    def title(self) -> str:
        """See `Statistic`."""
        names = [" by ".join(table) for table in self.tables]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"counts in {len(names)} table{'s' * (len(names) > 1)}: {shown}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`. All tables weigh the same."""
        return (Block(sum(math.prod(self.shape(table)) for table in self.tables), 1.0),)

    def shape(self, table: tuple[str, ...]) -> tuple[int, ...]:
        """How many cells the table has along each of its columns."""
        return tuple(self.grids[name].size for name in table)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return math.sqrt(len(self.tables))
            case Adjacency.REPLACE:
                return math.sqrt(2 * len(self.tables))
            case Adjacency.LABEL:
                return math.sqrt(2 * sum(self.label in table for table in self.tables))

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        cells = {name: self.grids[name].cell_of_code.take(batch.codes[name]).astype(np.int64) for name in self.columns}
        return np.concatenate([self._count(table, cells, batch.rows) for table in self.tables])

    def _count(self, table: tuple[str, ...], cells: Mapping[str, IntArray], rows: int) -> IntArray:
        number = np.zeros(rows, dtype=np.int64)
        for name, size in zip(table, self.shape(table), strict=True):
            number = number * size + cells[name]
        return np.bincount(number, minlength=math.prod(self.shape(table)))

    def split(self, values: NDArray[Any]) -> dict[tuple[str, ...], NDArray[Any]]:
        """The vector of a measurement, table by table, each in its shape."""
        ends = np.cumsum([math.prod(self.shape(table)) for table in self.tables])[:-1]
        parts = np.split(values, ends)
        return {table: part.reshape(self.shape(table)) for table, part in zip(self.tables, parts, strict=True)}

    def to_content(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "cells",
            "tables": [list(table) for table in self.tables],
            "grids": {name: self.grids[name].to_content() for name in self.columns},
            "label": self.label,
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> "Cells":
        """The statistic that `to_content` wrote."""
        grids = {name: Grid.from_content(grid) for name, grid in content["grids"].items()}
        return cls(tuple(tuple(table) for table in content["tables"]), grids, content["label"])


register("cells", Cells.from_content)
