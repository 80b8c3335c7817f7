"""A public model of the target as few tables: what it says of a record is a sum of looked-up whole numbers.

A `Softmax` looks up hundreds of values, takes them through directions to psi, rounds psi to 2**-8 so that what is asked
of private records is a whole number, and takes psi to logits. Nobody is asked here, so psi need not be rounded, and a
logit is a sum of a number for each look-up. Look-ups of the same columns are added up beforehand; then columns are put
together in bundles of a few hundred cells, so that one look-up tells all pairs between two bundles. The numbers are
rounded to 2**-20, which makes the sum the same in any order.
"""

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import BundleError
from sfumato.fitting.models.table_mixture.walks import Walk
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.features import (
    COEFFICIENT_UNIT,
    DIRECTION_UNIT,
    ONE,
    PSI_UNIT,
    VALUE_UNIT,
    Lookup,
    Softmax,
)
from sfumato.trusted.feature_maps.grid import Grid

_FINEST, _ROOM = 20, 30  # bits behind the point of a logit, at most; bits of a sum
_MOST_CELLS = 256  # of a bundle, where there are few classes and columns
_MOST_NUMBERS = 1 << 23  # of all tables of pairs, where smaller bundles make them that small
_LARGEST = 1 << 27  # of all tables; only those of a made-up model have more
_AT_ONCE = 1 << 16  # records: the tables are fetched anew for each such part
_KEPT = 8
_PAIR = 2

Looked = NDArray[np.int32]
"""Numbers of logits."""


@dataclass(frozen=True, eq=False)
class _Bundle:
    """Columns put together: the cell of a bundle is a sum of what the cells of its columns tell.

    columns  their places in the list of all columns
    cells    how many cells each of them has here
    parts    for each cell of the column's own grid, what it adds to the bundle's
    """

    columns: tuple[int, ...]
    cells: tuple[int, ...]
    parts: tuple[IntArray, ...]

    @classmethod
    def of(cls, columns: Sequence[int], coarse: Mapping[int, IntArray]) -> "_Bundle":
        """Columns of which each has a coarser cell for each of its own."""
        cells = tuple(int(coarse[column].max()) + 1 for column in columns)
        strides = [math.prod(cells[place + 1 :]) for place in range(len(cells))]
        parts = tuple(coarse[column] * stride for column, stride in zip(columns, strides, strict=True))
        return cls(tuple(columns), cells, parts)

    @property
    def size(self) -> int:
        return math.prod(self.cells)

    def cell_of(self, column: int) -> IntArray:
        """The cell of one of its columns in each of its own."""
        place = self.columns.index(column)
        return np.arange(self.size) // math.prod(self.cells[place + 1 :]) % self.cells[place]

    def find(self, found: Sequence[IntArray]) -> IntArray:
        """Its cell of each record."""
        total = self.parts[0].take(found[self.columns[0]])
        for column, part in zip(self.columns[1:], self.parts[1:], strict=True):
            total += part.take(found[column])
        return total


@dataclass(frozen=True, eq=False)
class LabelTables:
    """Tables of logits, less that of the last class: of columns, of pairs of bundles, of more columns and of leaves.

    Each is (classes - 1) x cells, in units of 2**-bits.
    """

    grids: tuple[tuple[str, Grid], ...]
    constant: Looked
    of_columns: tuple[tuple[int, Looked], ...]
    bundles: tuple[_Bundle, ...]
    of_pairs: tuple[tuple[int, int, Looked], ...]
    of_products: tuple[tuple[_Bundle, Looked], ...]
    of_leaves: tuple[tuple[Walk, Looked], ...]
    stride: int  # between the rows of a table of pairs
    bits: int

    @classmethod
    def of(cls, model: Softmax) -> "LabelTables":
        """The tables of a model; the last few models' are kept. Of one that was made up to be huge: `BundleError`."""
        return _tables_of(model)

    def probabilities(self, batch: Batch) -> FloatArray:
        """The probability of each class (records x classes)."""
        p = np.empty((batch.rows, len(self.constant) + 1))
        for first in range(0, batch.rows, _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            found = [grid.cells_of(batch.codes[name][some]).astype(np.int64) for name, grid in self.grids]
            logits = self._logits(found, len(p[some])) * 2.0**-self.bits
            most = np.maximum(logits.max(axis=0), 0.0)
            np.exp(np.subtract(logits, most, out=logits), out=logits)
            last = np.exp(-most)
            total = logits.sum(axis=0) + last
            p[some, :-1] = (logits / total).T
            p[some, -1] = last / total
        return p

    def _logits(self, found: Sequence[IntArray], rows: int) -> Looked:
        logits, told = np.repeat(self.constant[:, None], rows, axis=1), np.empty(rows, dtype=np.int32)

        def add(tables: Looked, cells: IntArray) -> None:
            for total, table in zip(logits, tables, strict=True):
                total += table.take(cells, out=told, mode="wrap")

        for column, tables in self.of_columns:
            add(tables, found[column])
        cells = [bundle.find(found) for bundle in self.bundles]
        begins, place = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)
        for first, pairs in itertools.groupby(self.of_pairs, key=lambda pair: pair[0]):
            np.multiply(cells[first], self.stride, out=begins)
            for _, second, tables in pairs:
                add(tables, np.add(begins, cells[second], out=place))
        for product, tables in self.of_products:
            add(tables, product.find(found))
        for walk, tables in self.of_leaves:
            add(tables, walk.leaves(found, rows))
        return logits


Joined = Mapping[str, tuple[Grid, dict[Grid, IntArray]]]
"""For each column the grid that tells the cells of all its grids, and how, see `join_grids`."""

Terms = Mapping[tuple[int, ...], FloatArray]
"""Tables of logits by the places of their columns, which rise: (classes - 1) x cells of the first x ..."""


@lru_cache(maxsize=_KEPT)
def _tables_of(model: Softmax) -> LabelTables:
    """See `LabelTables.of`."""
    features, classes = model.features, model.coefficients.astype(np.float64)
    against_last = classes[:, :-1] - classes[:, -1:]
    constant = against_last[0] * ONE * PSI_UNIT * COEFFICIENT_UNIT
    weights = features.directions.astype(np.float64) @ against_last[1:]
    weights *= VALUE_UNIT * DIRECTION_UNIT * COEFFICIENT_UNIT
    values = [*(one.values for one in features.lookups), *(one.values for one in features.trees)]
    ends = np.cumsum([0, *map(len, values)])
    told = [
        np.tensordot(weights[first:last].T, value, axes=1)
        for value, (first, last) in zip(values, itertools.pairwise(ends), strict=True)
    ]
    seen: dict[str, list[Grid]] = {name: [] for name in features.columns}
    for name, grid in features.grids:
        seen[name].append(grid)
    joined = {name: join_grids(grids) for name, grids in seen.items()}
    terms, coarse = _add_up(features.lookups, told, joined)
    paired = {key: table for key, table in terms.items() if len(key) == _PAIR}
    bundles = _bundle({column: coarse[column] for column in sorted(set(itertools.chain(*paired)))}, len(constant))
    stride = max((bundle.size for bundle in bundles), default=1)
    pairs = _pair_up(paired, bundles, stride, len(constant))
    more = {key: table for key, table in terms.items() if len(key) > _PAIR}
    of_leaves = told[len(features.lookups) :]
    largest = sum(float(np.abs(table).max(initial=0.0)) + 1 for table in (constant, *terms.values(), *of_leaves))
    bits = min(_FINEST, _ROOM - math.ceil(math.log2(largest)))

    def fixed(table: FloatArray) -> Looked:
        return np.rint(table.reshape(len(constant), -1) * 2.0**bits).astype(np.int32)

    places = {name: place for place, name in enumerate(joined)}
    walks = []
    for tree in (one.tree for one in features.trees):
        axes = zip(tree.columns, tree.grids, strict=True)
        walks.append(Walk.of(tree, [(places[name], joined[name][1][grid]) for name, grid in axes]))
    return LabelTables(
        grids=tuple((name, grid) for name, (grid, _) in joined.items()),
        constant=fixed(constant)[:, 0],
        of_columns=tuple((key[0], fixed(table)) for key, table in terms.items() if len(key) == 1),
        bundles=tuple(bundles),
        of_pairs=tuple((*key, fixed(table)) for key, table in sorted(pairs.items(), key=operator.itemgetter(0))),
        of_products=tuple((_Bundle.of(key, coarse), fixed(table)) for key, table in more.items()),
        of_leaves=tuple((walk, fixed(table)) for walk, table in zip(walks, of_leaves, strict=True)),
        stride=stride,
        bits=bits,
    )


def _add_up(lookups: Sequence[Lookup], told: Sequence[FloatArray], joined: Joined) -> tuple[Terms, dict[int, IntArray]]:
    """The tables of look-ups of the same columns added up, and for each cell of a column its cell where it is paired.

    A column's grids of its own are often finer than those of its pairs, which are kept as coarse as they are.
    """
    places = {name: place for place, name in enumerate(joined)}
    paired: dict[str, dict[Grid, IntArray]] = {}
    for lookup in lookups:
        for name, grid in zip(lookup.columns, lookup.grids, strict=True) if len(lookup.columns) > 1 else ():
            paired.setdefault(name, {})[grid] = joined[name][1][grid]
    coarse, lead = {}, {}
    for name, own in paired.items():
        coarse[places[name]] = kinds = _tell_apart(list(own.values()))
        first = np.unique(kinds, return_index=True)[1]
        lead[name] = {grid: cell[first] for grid, cell in own.items()}
    whole = {name: cells for name, (_, cells) in joined.items()}
    taken = [
        [
            (lead if len(one.columns) > 1 else whole)[name][grid]
            for name, grid in zip(one.columns, one.grids, strict=True)
        ]
        for one in lookups
    ]
    _check_room((len(table), *map(len, cells)) for table, cells in zip(told, taken, strict=False))
    terms: dict[tuple[int, ...], FloatArray] = {}
    for lookup, table, cells in zip(lookups, told, taken, strict=False):
        spread = table
        for axis, cell in enumerate(cells, start=1):
            spread = spread.take(cell, axis=axis)
        order = np.argsort([places[name] for name in lookup.columns], kind="stable")
        key = tuple(sorted(places[name] for name in lookup.columns))
        terms[key] = terms.get(key, 0.0) + spread.transpose(0, *(order + 1))
    return terms, coarse


def _check_room(tables: Iterable[Sequence[int]]) -> None:
    """Refuse tables of these shapes that nobody has measured: many coarse look-ups can cut a column into very many."""
    if sum(map(math.prod, tables)) > _LARGEST:
        raise BundleError("the release's tables of the target are too large to be looked up; ask for a fresh copy")


def _pair_up(pairs: Terms, bundles: Sequence[_Bundle], stride: int, logits: int) -> dict[tuple[int, int], FloatArray]:
    """The tables of pairs of columns added up to tables of pairs of bundles, the places of which rise."""
    owner = {column: place for place, bundle in enumerate(bundles) for column in bundle.columns}
    keys = {tuple(sorted((owner[first], owner[second]))) for first, second in pairs}
    _check_room((logits, bundles[first].size, stride) for first, _ in keys)
    together: dict[tuple[int, int], FloatArray] = {}
    for (first, second), table in pairs.items():
        falls = owner[first] > owner[second]
        one, other, turned = (second, first, table.transpose(0, 2, 1)) if falls else (first, second, table)
        key = owner[one], owner[other]
        left, right = bundles[key[0]].cell_of(one), bundles[key[1]].cell_of(other)
        if key not in together:
            together[key] = np.zeros((logits, len(left), stride))
        together[key][:, :, : len(right)] += turned[:, left[:, None], right]
    return together


def _bundle(coarse: Mapping[int, IntArray], logits: int) -> list[_Bundle]:
    """The columns put together as far as the tables of all pairs are not too large."""
    most = _MOST_CELLS
    while True:
        bundles = _packed(coarse, most)
        stride = max((bundle.size for bundle in bundles), default=1)
        rows = sum(place * bundle.size for place, bundle in enumerate(bundles, start=1))
        if logits * stride * rows <= _MOST_NUMBERS or most == 1:
            return bundles
        most //= 2


def _packed(coarse: Mapping[int, IntArray], most: int) -> list[_Bundle]:
    """Bundles of at most so many cells: the next column goes where it leaves the least room, the largest first."""
    packed: list[tuple[int, list[int]]] = []
    for size, column in sorted(((int(cells.max()) + 1, column) for column, cells in coarse.items()), reverse=True):
        fitting = [place for place, (held, _) in enumerate(packed) if held * size <= most]
        if fitting:
            place = max(fitting, key=packed.__getitem__)
            packed[place] = (packed[place][0] * size, [*packed[place][1], column])
        else:
            packed.append((size, [column]))
    return [_Bundle.of(columns, coarse) for _, columns in packed]


def join_grids(grids: Sequence[Grid]) -> tuple[Grid, dict[Grid, IntArray]]:
    """The coarsest grid that tells the cell of all of them, and their cell for each of its own."""
    distinct = list(dict.fromkeys(grids))
    starts = np.unique(np.concatenate([grid.starts for grid in distinct]))
    cells = [np.array(grid.cells)[np.searchsorted(grid.starts, starts, side="right") - 1] for grid in distinct]
    kinds = _tell_apart(cells)
    begins = np.flatnonzero(np.diff(kinds, prepend=-1))
    joined = Grid(tuple(starts[begins].tolist()), tuple(kinds[begins].tolist()), distinct[0].codes)
    first = np.unique(kinds, return_index=True)[1]
    return joined, {grid: cell[first] for grid, cell in zip(distinct, cells, strict=True)}


def _tell_apart(cells: Sequence[IntArray]) -> IntArray:
    """A number for each place, the same where all of these are."""
    kinds = np.zeros(len(cells[0]), dtype=np.int64)
    for cell in cells:
        kinds = np.unique(kinds * (int(cell.max()) + 1) + cell, return_inverse=True)[1].reshape(-1)
    return kinds
