"""How far two families are apart, in what only linked tables have.

Distances are total variations, or Kolmogorov-Smirnov distances of persons' figures; 0 is equal, 1 is disjoint. Numbers
are cut at the eighths of the real rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from sfumato.evaluation.families.reading import FamilyRows
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.families.assembly import LinkedRows

_CUTS = np.linspace(0, 1, 9)[1:-1]
_FEW = 12  # integers that are cells by themselves

Pair = tuple[str, str]


@dataclass(frozen=True)
class LinkedDistances:
    """Of one table with a parent.

    numbers       of rows of one parent row
    above_by_row, above_by_person   every column of the rows above with every column of the row
    steps         every column of a row with every column of the row before it, or of a sibling
    persons       of the persons' means, largest values and counts of a value, column by column
    """

    numbers: float
    above_by_row: Mapping[Pair, float]
    above_by_person: Mapping[Pair, float]
    steps: Mapping[Pair, float]
    persons: Mapping[Pair, float]

    def means(self) -> dict[str, float]:
        """The mean of each kind, and of columns with their own value in the row before."""
        habits = {pair: value for pair, value in self.steps.items() if pair[0] == pair[1]}
        kinds = {
            "rows above, by row": self.above_by_row,
            "rows above, by person": self.above_by_person,
            "row before": self.steps,
            "a column with its own value before": habits,
            "figures of persons": self.persons,
        }
        return {"numbers of rows": self.numbers} | {
            name: float(np.mean(list(found.values()))) for name, found in kinds.items() if found
        }


class Cells:
    """The cells of every column, cut by the real rows."""

    def __init__(self, real: FamilyRows) -> None:
        self._edges: dict[Pair, FloatArray | None] = {}
        for table, layout in real.layout.tables.items():
            for column in layout.measured:
                codes = layout.codes[column]
                self._edges[table, column] = (
                    _edges(real.numbers(table, column)) if isinstance(codes, NumericCodec) else None
                )

    def of(self, rows: FamilyRows, table: str, column: str) -> IntArray:
        """The cell of each row; 0 for missing."""
        numbers, edges = rows.numbers(table, column), self._edges[table, column]
        cell = numbers if edges is None else np.searchsorted(edges, numbers, side="left")
        return np.where(np.isnan(numbers), 0, np.nan_to_num(cell) + 1).astype(np.int64)


def _edges(numbers: FloatArray) -> FloatArray:
    known = numbers[~np.isnan(numbers)]
    distinct = np.unique(known)
    if len(distinct) <= _FEW:
        return distinct
    return np.unique(np.quantile(known, _CUTS))


def compare_linked(real: FamilyRows, other: FamilyRows, cells: Cells, table: str) -> LinkedDistances:
    """The distances of one table with a parent."""
    layout = real.layout
    own = {
        column: [cells.of(rows, table, column) for rows in (real, other)] for column in layout.tables[table].measured
    }
    above: dict[str, list[IntArray]] = {}
    for name in layout.family.path(table)[:-1]:
        for column in layout.tables[name].measured:
            above[f"{name}.{column}"] = [
                cells.of(rows, name, column)[_rows_above(rows.rows(table), layout.family.tables[table].parent == name)]
                for rows in (real, other)
            ]
    weights = [1 / np.bincount(rows.rows(table).person)[rows.rows(table).person] for rows in (real, other)]
    pairs = list(product(above, own))
    steps = [_steps(rows.rows(table)) for rows in (real, other)]
    before = {
        column: [held[part] - 0 for held, (part, _) in zip(both, steps, strict=True)] for column, both in own.items()
    }
    after = {column: [held[part] for held, (_, part) in zip(both, steps, strict=True)] for column, both in own.items()}
    return LinkedDistances(
        _numbers_apart(real, other, table),
        {(one, two): _apart(above[one], own[two], None) for one, two in pairs},
        {(one, two): _apart(above[one], own[two], weights) for one, two in pairs},
        {(one, two): _apart(before[one], after[two], None) for one, two in product(own, own)}
        if len(steps[0][0])
        else {},
        _persons_apart(real, other, cells, table),
    )


def _rows_above(rows: LinkedRows, is_parent: bool) -> IntArray:
    return rows.parent if is_parent else rows.person


def _steps(rows: LinkedRows) -> tuple[IntArray, IntArray]:
    """Every row that has one before it, and that one. Rows without an order stand in one drawn by lot."""
    after = np.flatnonzero(rows.place > 0)
    return after - 1, after


def _apart(one: list[IntArray], two: list[IntArray], weights: list[FloatArray] | None) -> float:
    size = 1 + max(int(part.max(initial=0)) for part in two)
    crossed = [first * size + second for first, second in zip(one, two, strict=True)]
    length = 1 + max(int(part.max(initial=0)) for part in crossed)
    counts = [
        np.bincount(part, None if weights is None else weights[place], minlength=length)
        for place, part in enumerate(crossed)
    ]
    shares = [count / max(float(count.sum()), 1e-300) for count in counts]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _numbers_apart(real: FamilyRows, other: FamilyRows, table: str) -> float:
    return float(np.abs(np.subtract(*(number_shares(rows, table) for rows in (real, other)))).sum() / 2)


def number_shares(rows: FamilyRows, table: str) -> FloatArray:
    """The share of the parent rows that have 0, 1, 2 ... rows in a table."""
    parent = rows.layout.family.tables[table].parent or ""
    most = rows.layout.family.rows_of(table)[1]
    held = np.bincount(rows.rows(table).parent, minlength=len(rows.rows(parent).person))
    shares: FloatArray = np.bincount(held.clip(max=most), minlength=most + 1) / max(len(held), 1)
    return shares


def _persons_apart(real: FamilyRows, other: FamilyRows, cells: Cells, table: str) -> dict[Pair, float]:
    """Kolmogorov-Smirnov distances of figures of persons who have two rows or more."""
    found: dict[Pair, float] = {}
    for column in real.layout.tables[table].measured:
        if isinstance(real.layout.tables[table].codes[column], NumericCodec):
            for figure in ("mean", "largest"):
                ends = [_figures(rows, table, rows.numbers(table, column), figure) for rows in (real, other)]
                found[column, figure] = _ks(*ends)
        else:
            cell = [cells.of(rows, table, column) for rows in (real, other)]
            common = int(np.bincount(cell[0]).argmax()) if len(cell[0]) else 0
            ends = [
                _figures(rows, table, (held == common).astype(np.float64), "mean")
                for rows, held in zip((real, other), cell, strict=True)
            ]
            found[column, "share of the commonest value"] = _ks(*ends)
    return found


def _figures(rows: FamilyRows, table: str, numbers: FloatArray, figure: str) -> FloatArray:
    person = rows.rows(table).person
    known = ~np.isnan(numbers)
    person, numbers = person[known], numbers[known]
    held = np.bincount(person, minlength=1)
    several = np.flatnonzero(held > 1)
    if figure == "mean":
        means: FloatArray = (np.bincount(person, numbers, minlength=len(held)) / np.maximum(held, 1))[several]
        return means
    largest = np.full(len(held), -np.inf)
    np.maximum.at(largest, person, numbers)
    return largest[several]


def _ks(one: FloatArray, two: FloatArray) -> float:
    if not len(one) or not len(two):
        return float(len(one) != len(two))
    both = np.sort(np.concatenate((one, two)))
    shares = [np.searchsorted(np.sort(part), both, side="right") / len(part) for part in (one, two)]
    return float(np.abs(shares[0] - shares[1]).max())
