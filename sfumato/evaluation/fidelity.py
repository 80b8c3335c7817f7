"""How far a synthetic table is from the real one as it stands: every column, and every two columns."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.distances import Distance, column_distance, number_values, total_variation
from sfumato.evaluation.raw_values import RawColumn, RawTable
from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato.trusted.schema import Schema

_ATOM = 0.05  # a number held by this share of the real rows is a cell of its own
_CUTS = np.linspace(0, 1, 11)[1:-1]  # the rest is cut at its deciles


@dataclass(frozen=True)
class Fidelity:
    """The distance of every column, and the total variation of every two columns; 0 is equal, 1 is disjoint."""

    columns: Mapping[str, Distance]
    pairs: Mapping[tuple[str, str], float]

    @property
    def mean_column(self) -> float:
        """Over all columns."""
        return float(np.mean([distance.share for distance in self.columns.values()]))

    @property
    def mean_pair(self) -> float:
        """Over all pairs; of a single column there are none, and it is 0."""
        return float(np.mean(list(self.pairs.values()))) if self.pairs else 0.0


def fidelity(real: RawTable, other: RawTable, schema: Schema) -> Fidelity:
    """The distance of a table from the real one.

    Pairs are compared on cells that favour no method: each listed value and each number that is frequent among the real
    rows is a cell, and so are null and what cannot be read; other numbers are cut at the deciles of the real rows.
    """
    columns, cells = {}, {}
    for name in schema.by_name:
        listed = schema[name].type in ("category", "boolean")
        columns[name] = column_distance(real[name], other[name], listed=listed)
        cells[name] = _listed_cells(real[name], other[name]) if listed else _number_cells(real[name], other[name])
    pairs = {(one, two): _pair_apart(cells[one], cells[two]) for one, two in itertools.combinations(cells, 2)}
    return Fidelity(columns, pairs)


@dataclass(frozen=True)
class _Cells:
    """The cell of each record of the real and of the other table, and how many cells there are."""

    real: AnyIntArray
    other: AnyIntArray
    size: int


def _pair_apart(one: _Cells, two: _Cells) -> float:
    crossed = (first * np.int64(two.size) + second for first, second in ((one.real, two.real), (one.other, two.other)))
    return total_variation(*crossed)


def _listed_cells(real: RawColumn, other: RawColumn) -> _Cells:
    here, there = number_values(real), number_values(other)
    return _Cells(here, there, 1 + max(int(part.max(initial=0)) for part in (here, there)))


def _number_cells(real: RawColumn, other: RawColumn) -> _Cells:
    edges, atoms = _cuts(real.values)
    here, there = (_cell_of(column, edges, atoms) for column in (real, other))
    return _Cells(here, there, len(edges) + len(atoms) + 3)


def _cuts(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Edges and atoms."""
    present = values[~np.isnan(values)]
    distinct, counts = np.unique(present, return_counts=True)
    atoms = distinct[counts >= _ATOM * len(values)]
    rest = present[np.isfinite(present) & ~np.isin(present, atoms)]
    return np.unique(np.quantile(rest, _CUTS)) if len(rest) else np.empty(0), atoms


def _cell_of(column: RawColumn, edges: FloatArray, atoms: FloatArray) -> AnyIntArray:
    """0 for missing, then the atoms, then the intervals between the edges, then what cannot be read."""
    values = column.values
    cell = 1 + len(atoms) + np.searchsorted(edges, values, side="left")
    if len(atoms):
        nearest = np.searchsorted(atoms, values).clip(max=len(atoms) - 1)
        below = (nearest - 1).clip(0)
        for place in (nearest, below):
            cell = np.where(np.isclose(values, atoms[place], rtol=1e-6, atol=0), 1 + place, cell)
    cell = np.where(np.isnan(values), 0, cell)
    return np.where(column.unread, len(edges) + len(atoms) + 2, cell).astype(np.int32)
