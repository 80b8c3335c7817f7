"""How many records fall into each cell of public tables."""

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.scratch import scratch_array
from sfumato.trusted.feature_maps.grid import CellMap, grids_follow
from sfumato.trusted.feature_maps.kind_grid import cell_map_from_dict
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register
from sfumato.trusted.statistics.tally import tally


@dataclass(frozen=True, repr=False)
class Cells(Titled):
    """Counts over `tables`; each table crosses some axes, each an axis of cells into which a column's codes fall.

    An axis has the name of its column, unless `of` names the column: a column may have several. Table t weighs w_t
    (1 unless `weights` are given): a heavier table gets less noise.

    Formal guarantees, S = sum of w_t^2 over all tables, L = the same over the tables with an axis of the label
        A record has one code in each column and a code one cell on each axis, so a record is in exactly one cell of
        each table, and in the blocks' weights it adds a vector of one w_t per table.
        add-remove   sqrt(S): the norm of that vector
        replace      sqrt(2 S): in each table at most one cell loses 1 and another gains 1
        label        sqrt(2 L): the same, but the other tables do not see the label
        All three are attained: by any record; by two records that differ in every table; by two labels in different
        cells.
    Edge cases
        Every value has a code and every code a cell, so nothing is dropped and nothing raises. No records: zeros.
    """

    tables: tuple[tuple[str, ...], ...]
    grids: Mapping[str, CellMap]
    label: str | None
    weights: tuple[float, ...] | None = None
    of: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = self.weights
        if given is not None and not (
            len(given) == len(self.tables) and all(0 < weight < math.inf for weight in given)
        ):
            raise ValueError("cells need one weight above 0 for each table")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        columns = [dict.fromkeys(map(self.column_of, table)) for table in self.tables]
        names = list(dict.fromkeys(map(" by ".join, columns)))  # several tables may be of the same columns
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"counts in {len(self.tables)} table{'s' * (len(self.tables) > 1)}: {shown}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return tuple(dict.fromkeys(map(self.column_of, self.axes)))

    @property
    def axes(self) -> tuple[str, ...]:
        """Every axis once."""
        return tuple(dict.fromkeys(axis for table in self.tables for axis in table))

    def column_of(self, axis: str) -> str:
        """The column whose codes fall into the cells of an axis."""
        return self.of.get(axis, axis)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`. Without weights all tables are one block."""
        sizes = [math.prod(self.shape(table)) for table in self.tables]
        if self.weights is None:
            return (Block(sum(sizes), 1.0),)
        return tuple(map(Block, sizes, self.weights))

    def shape(self, table: tuple[str, ...]) -> tuple[int, ...]:
        """How many cells the table has along each of its axes."""
        return tuple(self.grids[name].size for name in table)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        weights = self.weights or (1.0,) * len(self.tables)
        squares = [weight**2 for weight in weights]
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return math.sqrt(math.fsum(squares))
            case Adjacency.REPLACE:
                return math.sqrt(2 * math.fsum(squares))
            case Adjacency.LABEL:
                seen = [self.label in [self.column_of(axis) for axis in table] for table in self.tables]
                return math.sqrt(2 * math.fsum(itertools.compress(squares, seen)))

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`. Tables that begin with the same axes share the number of that beginning."""
        sizes = [math.prod(self.shape(table)) for table in self.tables]
        cells: dict[str, NDArray[Any]] = {
            axis: self.grids[axis].cells_of(batch.codes[self.column_of(axis)]) for axis in self.axes
        }
        if max(sizes, default=0) >= 2**31:
            cells = {name: numbers.astype(np.int64) for name, numbers in cells.items()}
        counts = [tally(numbers, size) for numbers, size in zip(self._numbers(cells), sizes, strict=True)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *counts])

    def _numbers(self, cells: Mapping[str, NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """The number of each record's cell in every table."""
        beginning: list[str] = []
        number: Any = 0
        for *names, last in self.tables:
            if names != beginning:
                beginning, number = names, cells[names[0]] if names else 0
                for name in names[1:]:
                    number = number * self.grids[name].size + cells[name]
            if not names:
                yield cells[last]
                continue
            numbers = np.multiply(number, self.grids[last].size, out=scratch_array(len(number), number.dtype))
            numbers += cells[last]
            yield numbers

    def split(self, values: NDArray[Any]) -> dict[tuple[str, ...], NDArray[Any]]:
        """The vector of a measurement, table by table, each in its shape."""
        ends = np.cumsum([math.prod(self.shape(table)) for table in self.tables])[:-1]
        parts = np.split(values, ends)
        return {table: part.reshape(self.shape(table)) for table, part in zip(self.tables, parts, strict=True)}

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        read = [(self.column_of(axis), self.grids[axis]) for axis in self.axes]
        return grids_follow(read, schema) and self.label == schema.target

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "cells",
            "tables": [list(table) for table in self.tables],
            "grids": {axis: self.grids[axis].to_dict() for axis in self.axes},
            "label": self.label,
            "weights": None if self.weights is None else list(self.weights),
            "of": dict(self.of),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Cells":
        """The statistic that `to_dict` wrote."""
        grids = {axis: cell_map_from_dict(grid) for axis, grid in content["grids"].items()}
        weights = content.get("weights")
        return cls(
            tuple(tuple(table) for table in content["tables"]),
            grids,
            content["label"],
            None if weights is None else tuple(weights),
            dict(content["of"]),
        )


register("cells", Cells.from_dict)
