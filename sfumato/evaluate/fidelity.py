"""How far the marginals of a synthetic table are from those of the real one, on cells that favour no method."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.schema import Schema

_ATOM = 0.05  # a number held by this share of the real rows is a cell of its own
_CUTS = np.linspace(0, 1, 11)[1:-1]  # the rest is cut at its deciles


@dataclass(frozen=True)
class Fidelity:
    """Total variation of every column and of every two columns; 0 is equal, 1 is disjoint."""

    columns: Mapping[str, float]
    pairs: Mapping[tuple[str, str], float]

    @property
    def mean_column(self) -> float:
        """Over all columns."""
        return float(np.mean(list(self.columns.values())))

    @property
    def mean_pair(self) -> float:
        """Over all pairs; of a single column there are none, and it is 0."""
        return float(np.mean(list(self.pairs.values()))) if self.pairs else 0.0


def fidelity(real: Mapping[str, FloatArray], other: Mapping[str, FloatArray], schema: Schema) -> Fidelity:
    """The distance of a table from the real one."""
    here, there, sizes = {}, {}, {}
    for name in schema.by_name:
        edges, atoms = _cells(real[name], listed=schema[name].type in ("category", "boolean"))
        here[name], there[name] = (_cell_of(values[name], edges, atoms) for values in (real, other))
        sizes[name] = len(edges) + len(atoms) + 2
    columns = {name: _apart(here[name], there[name], sizes[name]) for name in sizes}
    pairs = {
        (one, two): _apart(
            here[one] * sizes[two] + here[two], there[one] * sizes[two] + there[two], sizes[one] * sizes[two]
        )
        for one, two in itertools.combinations(sizes, 2)
    }
    return Fidelity(columns, pairs)


def _cells(values: FloatArray, *, listed: bool) -> tuple[FloatArray, FloatArray]:
    """Edges and atoms: a category's values are atoms all."""
    present = values[~np.isnan(values)]
    distinct, counts = np.unique(present, return_counts=True)
    if listed:
        return np.empty(0), distinct
    atoms = distinct[counts >= _ATOM * len(values)]
    rest = present[~np.isin(present, atoms)]
    return np.unique(np.quantile(rest, _CUTS)) if len(rest) else np.empty(0), atoms


def _cell_of(values: FloatArray, edges: FloatArray, atoms: FloatArray) -> IntArray:
    """0 for missing, then the atoms, then the intervals between the edges."""
    cell = 1 + len(atoms) + np.searchsorted(edges, values, side="left")
    if len(atoms):
        nearest = np.searchsorted(atoms, values).clip(max=len(atoms) - 1)
        below = (nearest - 1).clip(0)
        for place in (nearest, below):
            cell = np.where(np.isclose(values, atoms[place], rtol=1e-6, atol=0), 1 + place, cell)
    return np.where(np.isnan(values), 0, cell)


def _apart(here: IntArray, there: IntArray, size: int) -> float:
    shares = [np.bincount(cells, minlength=size) / max(len(cells), 1) for cells in (here, there)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
