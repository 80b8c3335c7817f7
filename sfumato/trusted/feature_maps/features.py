"""A public model of the target given the other columns, in whole numbers.

    record -> cells -> values of public tables -> psi (whole numbers) -> class probabilities

Everything is a function of one record to the last bit: look-ups are of integers, the two matrix products run on
integer-valued floats that stay below 2**53 and so are exact in any order, the exponential is a table of integers, and
what remains are single IEEE operations in a fixed order.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sfumato.trusted.arrays import FloatArray, Int32Array, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.cell_tree import CellTree
from sfumato.trusted.feature_maps.grid import Grid
from sfumato.trusted.feature_maps.packing import pack, unpack
from sfumato.trusted.fixed_point import EXACT

VALUE_UNIT = 2.0**-10  # of a looked-up value
DIRECTION_UNIT = 2.0**-16  # of an entry of the map from values to psi
PSI_UNIT = 2.0**-8  # of psi
COEFFICIENT_UNIT = 2.0**-16
ONE = 256  # psi of the constant
_MOST_PSI = 2**15 - 1
_RECORDS_AT_ONCE, _FEWEST_AT_ONCE, _VALUES_AT_ONCE = 1 << 12, 1 << 9, 1 << 22
_LOOKUPS_AT_ONCE = 64
_LOGIT_SHIFT = 2.0**-14  # from the unit of a logit, 2**-24, to that of the table of exponentials, 2**-10
_EXPONENTIALS = np.rint(2.0**30 * np.exp(-np.arange(2**15) / 2**10))


@dataclass(frozen=True, eq=False)
class Lookup:
    """A table of values by the cells of one or more columns: values[v, cell of the first, ...] for v = 0 .. q-1."""

    columns: tuple[str, ...]
    grids: tuple[Grid, ...]
    values: Int32Array

    def __post_init__(self) -> None:
        if self.values.shape[1:] != tuple(grid.size for grid in self.grids) or len(self.columns) != len(self.grids):
            raise ValueError("a look-up needs a value for every cell of its grids")
        if not self.columns:
            raise ValueError("a look-up needs a column")


class _Together(NamedTuple):
    """Some look-ups of as many columns and values each, so that one step looks up all of them.

    places   where the cells of each column stand, first columns of all look-ups first (columns x look-ups)
    sizes    how many cells each column has (columns x look-ups)
    begins   where the table of each look-up begins in `values`
    values   all tables side by side, for each value
    """

    places: IntArray
    sizes: IntArray
    begins: IntArray
    values: FloatArray

    @classmethod
    def of(cls, lookups: Sequence[Lookup], numbers: Mapping[tuple[str, int], int]) -> "_Together":
        pairs = [list(zip(one.columns, one.grids, strict=True)) for one in lookups]
        tables = [one.values.reshape(len(one.values), -1) for one in lookups]
        begins = np.cumsum([0, *(table.shape[1] for table in tables)])[:-1]
        return cls(
            np.array([[numbers[name, id(grid)] for name, grid in pair] for pair in pairs]).T,
            np.array([[grid.size for _, grid in pair] for pair in pairs]).T,
            begins,
            np.concatenate(tables, axis=1).astype(np.float64),
        )


@dataclass(frozen=True, eq=False)
class LeafLookup:
    """A table of values by the leaves of a public tree: values[v, leaf] for v = 0 .. q-1."""

    tree: CellTree
    values: Int32Array

    def __post_init__(self) -> None:
        if self.values.shape[1:] != (self.tree.leaves,):
            raise ValueError("a look-up by leaf needs a value for every leaf")


@dataclass(frozen=True, eq=False)
class Features:
    """From a record to psi: a constant, and the looked-up values taken through `directions` (values x rank).

    The values are those of `lookups`, then those of `trees`.
    """

    lookups: tuple[Lookup, ...]
    directions: Int32Array
    trees: tuple[LeafLookup, ...] = ()

    def __post_init__(self) -> None:
        tables = [*(lookup.values for lookup in self.lookups), *(lookup.values for lookup in self.trees)]
        largest = np.concatenate([np.abs(t.astype(float)).reshape(len(t), -1).max(axis=1) for t in tables])
        if self.directions.shape[0] != len(largest):
            raise ValueError("the directions need a row for every looked-up value")
        if (largest @ np.abs(self.directions.astype(float))).max(initial=0.0) >= EXACT:
            raise ValueError("the features are too large to be summed exactly")

    @property
    def size(self) -> int:
        """How many entries psi has."""
        return 1 + int(self.directions.shape[1])

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are looked at."""
        return tuple(dict.fromkeys(name for name, _ in self.grids))

    @property
    def records_at_once(self) -> int:
        """How many records are worth looking at together: fewer where each has very many values."""
        return max(_FEWEST_AT_ONCE, min(_RECORDS_AT_ONCE, _VALUES_AT_ONCE // max(1, len(self.directions))))

    @property
    def grids(self) -> list[tuple[str, Grid]]:
        """Every column that is looked at, with each of its grids."""
        read = [(lookup.columns, lookup.grids) for lookup in self.lookups]
        read += [(lookup.tree.columns, lookup.tree.grids) for lookup in self.trees]
        return [pair for columns, grids in read for pair in zip(columns, grids, strict=True)]

    def values(self, batch: Batch) -> FloatArray:
        """The looked-up values of each record (values x records), integer-valued."""
        return self._values(self._cells(batch), self._leaves(batch))

    def __call__(self, batch: Batch) -> FloatArray:
        """psi of each record (size x records), integer-valued and at most 2**15 - 1."""
        psi = np.empty((self.size, batch.rows))
        psi[0] = ONE
        cells, leaves = self._cells(batch), self._leaves(batch)
        for first in range(0, batch.rows, self.records_at_once):
            some = slice(first, first + self.records_at_once)
            product = self._directions.T @ self._values(cells[:, some], leaves[:, some])
            product *= VALUE_UNIT * DIRECTION_UNIT / PSI_UNIT
            psi[1:, some] = np.rint(product, out=product).clip(-_MOST_PSI, _MOST_PSI, out=product)
        return psi

    def _cells(self, batch: Batch) -> Int32Array:
        """The cell of each record in every grid of the look-ups (grids x records)."""
        cells = np.empty((len(self._read), batch.rows), dtype=np.int32)
        for place, (name, grid) in enumerate(self._read.values()):
            cells[place] = grid.cells_of(batch.codes[name])
        return cells

    def _leaves(self, batch: Batch) -> IntArray:
        """The leaf of each record in every tree (trees x records)."""
        return np.array([one.tree.leaf(batch) for one in self.trees], dtype=np.int64).reshape(
            len(self.trees), batch.rows
        )

    def _values(self, cells: Int32Array, leaves: IntArray) -> FloatArray:
        """The values of some records, by their cells and leaves."""
        found, row = np.empty((len(self.directions), cells.shape[1])), 0
        for one in self._together:
            number = cells[one.places[0]].astype(np.int64)
            for place, size in zip(one.places[1:], one.sizes[1:], strict=True):
                number *= size[:, None]
                number += cells[place]
            number += one.begins[:, None]
            each, end = len(one.values), row + len(one.values) * len(number)
            for value, table in enumerate(one.values):
                found[row + value : end : each] = table.take(number, mode="clip")
            row = end
        for by_leaf, leaf in zip(self.trees, leaves, strict=True):
            found[row : row + len(by_leaf.values)] = by_leaf.values[:, leaf]
            row += len(by_leaf.values)
        return found

    @cached_property
    def _read(self) -> dict[tuple[str, int], tuple[str, Grid]]:
        """Every column with each of its grids, once."""
        read = (zip(lookup.columns, lookup.grids, strict=True) for lookup in self.lookups)
        return {(name, id(grid)): (name, grid) for name, grid in itertools.chain(*read)}

    @cached_property
    def _together(self) -> list["_Together"]:
        """The look-ups in order, neighbours of one shape as many at a time as stay near the processor."""
        runs = itertools.groupby(self.lookups, key=lambda lookup: (len(lookup.columns), len(lookup.values)))
        numbers = {key: place for place, key in enumerate(self._read)}
        found = []
        for alike in (list(run) for _, run in runs):
            some = (alike[first : first + _LOOKUPS_AT_ONCE] for first in range(0, len(alike), _LOOKUPS_AT_ONCE))
            found += [_Together.of(lookups, numbers) for lookups in some]
        return found

    @cached_property
    def _directions(self) -> FloatArray:
        return self.directions.astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Plain content; a grid that several look-ups share is written once."""
        grids: dict[int, int] = {}
        listed: list[dict[str, Any]] = []
        for lookup in self.lookups:
            for grid in lookup.grids:
                if id(grid) not in grids:
                    grids[id(grid)] = len(listed)
                    listed.append(grid.to_dict())
        return {
            "grids": listed,
            "lookups": [
                {
                    "columns": list(lookup.columns),
                    "grids": [grids[id(grid)] for grid in lookup.grids],
                    "values": pack(lookup.values),
                }
                for lookup in self.lookups
            ],
            "directions": pack(self.directions),
            **({"trees": [_tree_to_dict(lookup) for lookup in self.trees]} if self.trees else {}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Features":
        """The features that `to_dict` wrote."""
        grids = [Grid.from_dict(grid) for grid in content["grids"]]
        lookups = tuple(
            Lookup(tuple(item["columns"]), tuple(grids[place] for place in item["grids"]), unpack(item["values"]))
            for item in content["lookups"]
        )
        trees = (LeafLookup(CellTree.from_dict(item), unpack(item["values"])) for item in content.get("trees", ()))
        return cls(lookups, unpack(content["directions"]), tuple(trees))


def _tree_to_dict(lookup: LeafLookup) -> dict[str, Any]:
    return {**lookup.tree.to_dict(), "values": pack(lookup.values)}


@dataclass(frozen=True, eq=False)
class Softmax:
    """p(class | record) in proportion to exp(psi . coefficients of the class); coefficients are size x classes."""

    features: Features
    coefficients: Int32Array

    def __post_init__(self) -> None:
        if self.coefficients.shape[0] != self.features.size or self.coefficients.shape[1] < 2:
            raise ValueError("the coefficients need a row for every entry of psi and two classes or more")
        if (_MOST_PSI * np.abs(self.coefficients.astype(float)).sum(axis=0)).max() >= EXACT:
            raise ValueError("the coefficients are too large to be summed exactly")

    def probabilities(self, psi: FloatArray) -> FloatArray:
        """The probability of each class (classes x records)."""
        logits = self.coefficients.T.astype(np.float64) @ psi
        below = np.floor((logits.max(axis=0) - logits) * _LOGIT_SHIFT).clip(max=len(_EXPONENTIALS) - 1)
        weights = _EXPONENTIALS.take(below.astype(np.int64))
        p: FloatArray = weights / in_order(weights)
        return p

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        return {"features": self.features.to_dict(), "coefficients": pack(self.coefficients)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Softmax":
        """The model that `to_dict` wrote."""
        return cls(Features.from_dict(content["features"]), unpack(content["coefficients"]))


def in_order(terms: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """The sum over the first axis, first to last: the same roundings for a record wherever it stands."""
    total = np.array(terms[0], dtype=np.float64)
    for term in terms[1:]:
        total += term
    return total


def contrasts(classes: int) -> FloatArray:
    """An orthonormal basis (classes x classes - 1) of the vectors that add up to zero (Helmert's).

    Single IEEE operations, so that every machine has the same.
    """
    basis = np.zeros((classes, classes - 1))
    for j in range(1, classes):
        length = np.sqrt(np.float64(j * (j + 1)))
        basis[:j, j - 1] = 1 / length
        basis[j, j - 1] = -j / length
    return basis
