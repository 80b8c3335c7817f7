"""Mean, spread and quantiles of a column over a condition, with intervals for what the release blurs."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition
from sfumato.fitting.models.table_mixture.marginals import piece_moments, shares_up_to
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.trusted.arrays import BoolArray, FloatArray, IntArray
from sfumato.trusted.encoding import Codes, NumericCodec
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import Cells

_LEAST_SHARE = 1e-9  # the quantile at 0 is the least value that occurs
_BAND = 1.96  # standard deviations to either side of a 95 % interval
_NUMBERS_AT_ONCE = 1 << 20  # of groups by pieces
_UNSEEN = 0.01  # of its noise below which the probability of a piece counts as nothing
_BEYOND, _FALLING = 1.25, 0.8  # of its noise that a piece adds that lies beyond all in which something was seen, and
# the power by which that falls with the distance: values grow rarer. Chosen for the means of `experiments.means`


Interval = tuple[float, float, float]
"""An estimate, and the ends of its 95 % interval."""


@dataclass(frozen=True, eq=False)
class GivenColumn:
    """A column over a condition, over the records that have a value; what answers about it are made of.

    The interval of an answer is that of the tables behind it: each conditioned column together with the asked one was
    counted in some table, and adding up its noisy cells gives the answer with a known variance. How values lie inside
    such a cell follows from the finest table of the column, whose noise is added, and so is what cells are too wide to
    show (see `_Table.blur`). Where no table holds both columns, the interval is the whole range.
    """

    fitted: TableMixture
    column: str
    codes: Codes
    given: Sequence[Condition]
    measured: Sequence[Measurement]

    def __post_init__(self) -> None:
        if self._probability[self._known].sum() <= 0:
            raise RequestError(
                f"no record has a value of column {self.column!r} under this condition; ask for a wider one"
            )

    @cached_property
    def model(self) -> TableMixture:
        """Given the condition."""
        return self.fitted.condition(self.given)

    @property
    def pieces(self) -> Pieces:
        """Of the column."""
        return self.model.columns[self.column]

    @cached_property
    def _probability(self) -> FloatArray:
        return self.model.marginal(self.column)

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        return piece_moments(self.column, self.codes, self.pieces)

    @property
    def _known(self) -> BoolArray:
        return self._moments[2]

    @cached_property
    def share(self) -> FloatArray:
        """The probability of each piece, among the records that have a value."""
        known: FloatArray = np.where(self._known, self._probability, 0.0)
        share: FloatArray = known / known.sum()
        return share

    def mean(self) -> Interval:
        """The mean."""
        value, _, known = self._moments
        low, high = float(value[known].min()), float(value[known].max())
        mean, reach = float(self.share @ value), self.reach(value)
        return mean, max(low, mean - reach), min(high, mean + reach)

    def spread(self) -> Interval:
        """The standard deviation."""
        value, square, known = self._moments
        mean = float(self.share @ value)
        away = square - 2 * mean * value + mean**2
        variance, reach = max(float(self.share @ away), 0.0), self.reach(away)
        most = float(value[known].max() - value[known].min()) / 2
        low, high = (math.sqrt(max(variance + side * reach, 0.0)) if reach < math.inf else None for side in (-1, 1))
        spread = math.sqrt(variance)
        return spread, low or 0.0, max(spread, most if high is None else min(high, most))

    def quantile(self, share: float) -> Interval:
        """The number at or below which a share of the records lies."""
        codes = self.codes
        if not isinstance(codes, NumericCodec):
            raise RequestError(f"the values of column {self.column!r} have no order; use marginal")
        (number,) = self.model.quantile(self.column, np.array([share]), codes)
        reach = self.reach(shares_up_to(codes, self.pieces, np.array([number]))[0])
        ends = np.clip([share - min(reach, 1.0), share + min(reach, 1.0)], _LEAST_SHARE, 1.0)
        low, high = self.model.quantile(self.column, ends, codes)
        return float(number), float(low), float(high)

    def reach(self, each: FloatArray) -> float:
        """Half of the interval of the mean of something that each piece has; infinite where no table is behind it."""
        value, _, known = self._moments
        seen = known & (self.share >= _UNSEEN * self.pieces.noise)
        away = np.where(known, each - float(self.share @ each), 0.0)
        answer = _Answer(
            *(self.fitted, self.column, self.pieces.starts, self.share, away[None]),
            *(seen, _counting(value, float(self.share @ value), seen)),
            *(self.model.size, _own_size(self.fitted, self.column, self.given)),
        )
        others = [condition for condition in self.given if condition.column != self.column]
        return _BAND * float(_deviations(answer, list(_tables(self.measured)), others)[0])


def deviations_of_groups(
    fitted: TableMixture, model: TableMixture, column: str, given: Sequence[Condition], measured: Sequence[Measurement]
) -> FloatArray:
    """Of each piece of a column: the standard deviation of its group's probability under a condition.

    `model` is `fitted` under the condition. A probability is the mean of what is 1 in the group and 0 elsewhere, so it
    follows from the same tables as other means do; infinite where no table is behind it.
    """
    pieces, share = model.columns[column], model.marginal(column)
    every, (_, place) = np.ones(len(share), dtype=bool), np.unique(pieces.groups, return_inverse=True)
    tables = [table for table in _tables(measured) if column in table.names]
    sizes = model.size, _own_size(fitted, column, given)
    others = [condition for condition in given if condition.column != column]
    found, together = [], max(1, _NUMBERS_AT_ONCE // len(share))  # groups
    for first in range(0, int(place.max()) + 1, together):
        inside = (place == np.arange(first, min(first + together, int(place.max()) + 1))[:, None]).astype(np.float64)
        away = inside - (inside @ share)[:, None]
        answer = _Answer(fitted, column, pieces.starts, share, away, every, np.ones(len(share)), *sizes)
        found.append(_deviations(answer, tables, others))
    return np.concatenate(found)[place]


def _own_size(fitted: TableMixture, column: str, given: Sequence[Condition]) -> float:
    return fitted.condition([condition for condition in given if condition.column == column]).size


def _counting(value: FloatArray, mean: float, seen: BoolArray) -> FloatArray:
    """How much of its noise each piece adds: all of it between those that hold something, less and less beyond them."""
    if not seen.any():
        return np.ones(len(value))
    low, high = float(value[seen].min()), float(value[seen].max())
    reached = np.where(value > high, high - mean, mean - low) / np.maximum(np.abs(value - mean), 1e-300)
    falling: FloatArray = _BEYOND * np.power(np.clip(reached, 0.0, 1.0), _FALLING)
    return np.where((value > high) | (value < low), falling, 1.0)


@dataclass(frozen=True, eq=False)
class _Answer:
    """A column under a condition: its pieces, their probability, how far their value is from the mean.

    `away` has a row for each of several means that are asked at once.

    seen     the pieces that hold something
    counts   how much of its noise each piece adds
    size     the number of records under the condition
    own      the same where other columns have no condition
    """

    fitted: TableMixture
    column: str
    starts: IntArray
    share: FloatArray
    away: FloatArray
    seen: BoolArray
    counts: FloatArray
    size: float
    own: float


@dataclass(frozen=True)
class _Table:
    """A table of counts that was measured, and the noise of its cells."""

    names: tuple[str, ...]
    grids: Mapping[str, Grid]
    sigma: float

    def variance(self, answer: _Answer, given: Sequence[Condition]) -> FloatArray:
        """Of each mean that the table's cells under the condition add up to."""
        asked = {condition.column: condition for condition in given}
        together = 1  # cells of the other columns that every cell of the asked column adds up
        for name in set(self.names) - {answer.column}:
            grid = self.grids[name]
            runs = asked[name].runs if name in asked else ((0, grid.codes),)
            together *= len(np.unique(np.concatenate([grid.cell_of_code[start:stop] for start, stop in runs])))
        typical, _ = self._cells(answer)
        cell, counts = self.grids[answer.column].cell_of_code[answer.starts], np.zeros(typical.shape[1])
        np.maximum.at(counts, cell, answer.counts)
        counts[cell[answer.seen]] = 1.0
        variance: FloatArray = ((typical * counts) ** 2).sum(axis=1) * together * (self.sigma / answer.size) ** 2
        for name in self.names:
            if name in asked:
                variance += self.blur(answer, asked[name])
        return variance

    def inside(self, answer: _Answer, finest: "_Table") -> FloatArray:
        """The variance that the noise of the finest table gives how values lie inside this table's cells."""
        cell = self.grids[answer.column].cell_of_code[answer.starts]
        typical, _ = self._cells(answer)
        apart = (answer.away - typical[:, cell]) * answer.counts
        variance: FloatArray = (apart**2).sum(axis=1) * (finest.sigma_of(answer.column) / answer.own) ** 2
        return variance

    def sigma_of(self, column: str) -> float:
        """The noise of a column's counts, all others added up."""
        return self.sigma * math.sqrt(math.prod(self.grids[name].size for name in set(self.names) - {column}))

    def blur(self, answer: _Answer, condition: Condition) -> FloatArray:
        """A rule of thumb for what the width of cells hides, as a variance.

        Inside a cell of the asked column the condition may tilt the values, by half their spread if the columns depend
        fully; and a condition that cuts a cell of its own column may differ from the rest of the cell, by the spread of
        the asked column times the share of the records in that cell.
        """
        fitted, dependence = answer.fitted, answer.fitted.dependence(answer.column, condition.column)
        _, inside = self._cells(answer)
        pieces, cell = fitted.columns[condition.column], self.grids[condition.column].cell_of_code
        mass = np.bincount(cell[pieces.starts], weights=fitted.marginal(condition.column))
        covered = np.zeros_like(mass)
        starts, stops, places = np.array(pieces.parts(condition.runs)).reshape(-1, 3).T
        share = pieces.weigh(starts, stops) / pieces.weigh(pieces.starts, pieces.stops)[places]
        np.add.at(covered, cell[starts], share * fitted.marginal(condition.column)[places])
        cut = (covered > 0) & (covered < mass * (1 - 1e-9))
        across = float(mass[cut].max(initial=0.0) * covered[cut].sum() / covered.sum())
        spread = answer.away**2 @ answer.share
        return dependence**2 * (inside / 4 + spread * across**2)

    def _cells(self, answer: _Answer) -> tuple[FloatArray, FloatArray]:
        """How far each cell of the asked column is from the mean, and the variance inside cells."""
        cell = self.grids[answer.column].cell_of_code[answer.starts]
        mass = np.bincount(cell, weights=answer.share)
        moved = np.zeros((len(answer.away), len(mass)))
        np.add.at(moved.T, cell, (answer.share * answer.away).T)
        typical = np.divide(moved, mass, out=np.zeros_like(moved), where=mass > 0)
        return typical, (answer.away - typical[:, cell]) ** 2 @ answer.share


def _deviations(answer: _Answer, tables: Sequence[_Table], given: Sequence[Condition]) -> FloatArray:
    """The standard deviation of each mean by the tables behind it; infinite where no table is behind it."""
    pieces = len(answer.fitted.columns[answer.column].starts)
    fine = [table for table in tables if answer.column in table.names and table.grids[answer.column].size >= pieces]
    if not fine:
        return np.full(len(answer.away), math.inf)
    finest = min(fine, key=lambda table: table.sigma_of(answer.column))
    wanted = [{answer.column, condition.column} for condition in given] or [{answer.column}]
    variances = []
    for names in wanted:
        found = [
            table.variance(answer, given) + table.inside(answer, finest)
            for table in tables
            if names <= set(table.names)
        ]
        if not found:
            return np.full(len(answer.away), math.inf)
        variances.append(np.min(found, axis=0))
    deviations: FloatArray = np.sqrt(np.max(variances, axis=0))
    return deviations


def _tables(measured: Iterable[Measurement]) -> Iterator[_Table]:
    for item in measured:
        if isinstance(item.statistic, Cells):
            cells = item.statistic
            grids = {
                axis: grid for axis, grid in cells.grids.items() if axis not in cells.of and isinstance(grid, Grid)
            }
            for table, weight in zip(cells.tables, cells.weights or (1.0,) * len(cells.tables), strict=True):
                if set(table) <= set(grids):
                    yield _Table(table, grids, item.sigma / weight)
