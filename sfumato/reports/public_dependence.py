"""Which columns depend on each other for certain, from what was measured of them and the law of its noise.

A model shows some dependence of every two columns: part of it is noise that the model has followed. A report shows a
dependence only where independent columns would hardly have led to the measured answers: in fewer than one of a
thousand reports any two independent columns are shown as dependent.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.artefact.release import Release
from sfumato.fitting.models.constrained import ConstrainedModel
from sfumato.fitting.models.model import Model
from sfumato.reports.public_independence import Side, chance_of_table
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints import Layout, layout_of
from sfumato.trusted.encoding import Codes, NumericCodec
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.feature_maps.grid import CellMap
from sfumato.trusted.statistics import Cells

FALSE_REPORTS = 0.001  # of all reports, that show a dependence of independent columns
_TOO_SMALL = 0.005  # a strength that is written as .00

Pair = tuple[str, str]
Chances = Callable[[str, str], float | None]
"""The chance that two measured columns, were they independent, led to answers like these; None: not asked together."""


class Dependence(NamedTuple):
    """How much one column tells of another by the model, whether it stands above noise, and why or why not."""

    strength: float
    shown: bool
    note: str


def find_dependences(release: Release, names: Sequence[str]) -> dict[Pair, Dependence]:
    """The dependence of every two of some columns, the later one first.

    release   of which conditions change the strength alone: what was measured is of all records
    names     columns of its schema, two at least

    Returns a `Dependence` for each pair.

    Example
        >>> found = find_dependences(release, ["age", "weight"])
        >>> 0 <= found["weight", "age"].strength <= 1
        True
    """
    layout, chances = layout_of(release.schema), _chances(release)
    columns = len(release.schema.by_name)
    level = FALSE_REPORTS / max(1, columns * (columns - 1) // 2)
    behind = {name: measured_behind(layout, name) for name in names}
    found = {}
    for (place, first), second in itertools.product(enumerate(names), names):
        if second in names[:place]:
            strength = release.model.dependence(first, second)
            found[first, second] = _judge(strength, behind[first], behind[second], chances, level)
    return found


def measured_behind(layout: Layout, column: str) -> frozenset[str]:
    """The measured columns that decide a column of the table."""
    if column in layout.derived:
        return frozenset().union(*(measured_behind(layout, other) for other in layout.derived[column].reads))
    made = {name: one for name, one in layout.made.items() if column in one.gives}
    if not made:
        return frozenset((column,))
    others = {other for one in made.values() for other in one.reads if other not in one.gives}
    return frozenset(made).union(*(measured_behind(layout, other) for other in others))


def _judge(strength: float, one: frozenset[str], other: frozenset[str], chances: Chances, level: float) -> Dependence:
    if one & other:
        return Dependence(strength, True, "bound together by a constraint of the schema")
    found = [chances(first, second) for first, second in itertools.product(sorted(one), sorted(other))]
    asked = [chance for chance in found if chance is not None]
    if not asked:
        return Dependence(strength, False, "not measured together: what the model holds follows from other columns")
    if min(asked) * len(found) >= level or strength < _TOO_SMALL:
        return Dependence(strength, False, "not told from noise: independent columns could look like this")
    return Dependence(strength, True, "stands above the noise")


def _chances(release: Release) -> Chances:
    model: Model = release.fitted.inner if isinstance(release.fitted, ConstrainedModel) else release.fitted
    if model.kind in ("gaussian-mixture", "subspace"):
        from sfumato.reports.public_gaussian_chances import gaussian_chances  # it needs scipy; tables do not

        return gaussian_chances(model, release.modelling)
    return TableChances(release)


class TableChances:
    """The chances by the noisy counts of two columns, from every table that crosses both."""

    def __init__(self, release: Release) -> None:
        unit = release.schema.unit
        self._together = unit.records if unit else 1
        self._codes = layout_of(release.schema).measured_codes
        self._tables: dict[Pair, dict[tuple[CellMap, CellMap], _Mean]] = defaultdict(lambda: defaultdict(_Mean))
        self._sides: dict[tuple[str, CellMap], Side] = {}
        for pair, grids, table, sigma in _pair_tables(release):
            self._tables[pair][grids].add(table, sigma)

    def __call__(self, first: str, second: str) -> float | None:
        """See `Chances`."""
        found = self._tables.get((min(first, second), max(first, second)))
        if not found:
            return None
        pair = min(first, second), max(first, second)
        chances = [
            chance_of_table(mean.table, mean.sigma, self._both(pair, grids), self._together)
            for grids, mean in found.items()
        ]
        return min(1.0, len(chances) * min(chances))

    def _both(self, pair: Pair, grids: tuple[CellMap, CellMap]) -> tuple[Side, Side]:
        return self._side(pair[0], grids[0]), self._side(pair[1], grids[1])

    def _side(self, name: str, grid: CellMap) -> Side:
        if (name, grid) not in self._sides:
            self._sides[name, grid] = _side_of(self._codes[name], grid)
        return self._sides[name, grid]


class _Mean:
    """The mean of tables with the same cells, each weighed by its noise."""

    def __init__(self) -> None:
        self._sum: FloatArray | float = 0.0
        self._precision = 0.0

    def add(self, table: FloatArray, sigma: float) -> None:
        """One more table."""
        self._sum = self._sum + table / sigma**2
        self._precision += 1 / sigma**2

    @property
    def table(self) -> FloatArray:
        """The mean."""
        return np.asarray(self._sum / self._precision)

    @property
    def sigma(self) -> float:
        """The deviation of its noise."""
        return 1 / math.sqrt(self._precision)


def _pair_tables(release: Release) -> Iterator[tuple[Pair, tuple[CellMap, CellMap], FloatArray, float]]:
    """Every measured table of counts, summed up for every two columns that it crosses, names in order."""
    for measurement in release.modelling:
        statistic = measurement.statistic
        if not isinstance(statistic, Cells):
            continue
        weights = statistic.weights or (1.0,) * len(statistic.tables)
        split = statistic.split(measurement.values.astype(np.float64))
        for (axes, table), weight in zip(split.items(), weights, strict=True):
            for pair, grids, summed in _crossed(statistic, axes, table):
                cells_summed = table.size / summed.size
                yield pair, grids, summed, measurement.sigma / weight * math.sqrt(cells_summed)


def _crossed(
    statistic: Cells, axes: tuple[str, ...], table: FloatArray
) -> Iterable[tuple[Pair, tuple[CellMap, CellMap], FloatArray]]:
    places = sorted(range(len(axes)), key=lambda place: statistic.column_of(axes[place]))
    for i, j in itertools.combinations(places, 2):
        first, second = statistic.column_of(axes[i]), statistic.column_of(axes[j])
        if first != second:
            others = tuple(place for place in range(len(axes)) if place not in (i, j))
            summed = table.sum(axis=others)
            yield (
                (first, second),
                (statistic.grids[axes[i]], statistic.grids[axes[j]]),
                summed if i < j else summed.T,
            )


def _side_of(codes: Codes, grid: CellMap) -> Side:
    """The cells of a grid, each by the number of its first code where the column has an order."""
    if not isinstance(codes, NumericCodec) or not isinstance(grid, Grid):
        return Side(None)
    numbers = np.concatenate((codes.numbers, codes.atoms, [np.nan] * codes.nullable))
    first = np.full(grid.size, np.iinfo(np.int64).max)
    np.minimum.at(first, np.array(grid.cells), np.array(grid.starts))
    return Side(numbers[first])
