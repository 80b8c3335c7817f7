"""The mean of a column over a condition, with an interval for what the release blurs."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.conditions import Condition
from sfumato.fitting.models.table_mixture.marginals import piece_values
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.trusted.arrays import BoolArray, FloatArray, IntArray
from sfumato.trusted.encoding import Codes
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import Cells

_BAND = 1.96  # standard deviations to either side of a 95 % interval
_UNSEEN = 0.01  # of its noise below which the probability of a piece counts as nothing
_FIRST_UNSEEN, _FURTHER = 1.5, 0.7  # of its noise that the first piece adds in which nothing was seen, and each further
# one as a share of the one before: values grow rarer. Chosen for 95 % of the means that `experiments.means` lists


def estimate_mean(
    fitted: TableMixture, column: str, codes: Codes, given: Sequence[Condition], measured: Sequence[Measurement]
) -> tuple[float, float, float]:
    """The mean of a column over a condition, over the records that have a value.

    The interval is that of the tables behind the answer: each conditioned column together with the asked one was
    counted in some table, and adding up its noisy cells gives the mean with a known variance. How values lie inside
    such a cell follows from the finest table of the column, whose noise is added, and so is what cells are too wide to
    show (see `_Table.blur`). Where no table holds both columns, the interval is the whole range.
    """
    model = fitted.condition(given)
    pieces, share = model.columns[column], model.marginal(column)
    value, known = piece_values(column, codes, pieces)
    if share[known].sum() <= 0:
        raise RequestError(f"no record has a value of column {column!r} under this condition; ask for a wider one")
    share = np.where(known, share, 0.0) / share[known].sum()
    mean = float(share @ value)
    seen = known & (share >= _UNSEEN * pieces.noise)
    answer = _Answer(fitted, column, pieces.starts, share, value - mean, seen, _counting(value, seen), model.size)
    deviation = _deviation(answer, measured, [condition for condition in given if condition.column != column])
    low, high = float(value[known].min()), float(value[known].max())
    if deviation is not None:
        low, high = max(low, mean - _BAND * deviation), min(high, mean + _BAND * deviation)
    return mean, low, high


def _counting(value: FloatArray, seen: BoolArray) -> FloatArray:
    """How much of its noise each piece adds: all of it between those that hold something, less and less beyond them."""
    place = np.argsort(np.argsort(value, kind="stable"), kind="stable")
    if not seen.any():
        return np.ones(len(value))
    first, last = place[seen].min(), place[seen].max()
    beyond = np.maximum(np.maximum(first - place, place - last), 0)
    return np.where(beyond > 0, _FIRST_UNSEEN * _FURTHER ** np.maximum(beyond - 1.0, 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class _Answer:
    """A column under a condition: its pieces, their probability, how far their value is from the mean.

    seen     the pieces that hold something
    counts   how much of its noise each piece adds
    """

    fitted: TableMixture
    column: str
    starts: IntArray
    share: FloatArray
    away: FloatArray
    seen: BoolArray
    counts: FloatArray
    size: float


@dataclass(frozen=True)
class _Table:
    """A table of counts that was measured, and the noise of its cells."""

    names: tuple[str, ...]
    grids: Mapping[str, Grid]
    sigma: float

    def variance(self, answer: _Answer, given: Sequence[Condition]) -> float:
        """Of the mean that the table's cells under the condition add up to."""
        asked = {condition.column: condition for condition in given}
        together = 1  # cells of the other columns that every cell of the asked column adds up
        for name in set(self.names) - {answer.column}:
            grid = self.grids[name]
            runs = asked[name].runs if name in asked else ((0, grid.codes),)
            together *= len(np.unique(np.concatenate([grid.cell_of_code[start:stop] for start, stop in runs])))
        typical, _ = self._cells(answer)
        cell, counts = self.grids[answer.column].cell_of_code[answer.starts], np.zeros(len(typical))
        np.maximum.at(counts, cell, answer.counts)
        counts[cell[answer.seen]] = 1.0
        noise = float(((typical * counts) ** 2).sum()) * together * (self.sigma / answer.size) ** 2
        return noise + sum(self.blur(answer, asked[name]) for name in self.names if name in asked)

    def inside(self, answer: _Answer, finest: "_Table") -> float:
        """The variance that the noise of the finest table gives how values lie inside this table's cells."""
        cell = self.grids[answer.column].cell_of_code[answer.starts]
        typical, _ = self._cells(answer)
        apart = (answer.away - typical[cell]) * answer.counts
        return float((apart**2).sum()) * (finest.sigma_of(answer.column) / answer.fitted.size) ** 2

    def sigma_of(self, column: str) -> float:
        """The noise of a column's counts, all others added up."""
        return self.sigma * math.sqrt(math.prod(self.grids[name].size for name in set(self.names) - {column}))

    def blur(self, answer: _Answer, condition: Condition) -> float:
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
        spread = float(answer.share @ answer.away**2)
        return dependence**2 * (inside / 4 + spread * across**2)

    def _cells(self, answer: _Answer) -> tuple[FloatArray, float]:
        """How far each cell of the asked column is from the mean, and the variance inside cells."""
        cell = self.grids[answer.column].cell_of_code[answer.starts]
        mass = np.bincount(cell, weights=answer.share)
        moved = np.bincount(cell, weights=answer.share * answer.away)
        typical = np.divide(moved, mass, out=np.zeros_like(moved), where=mass > 0)
        return typical, float(answer.share @ (answer.away - typical[cell]) ** 2)


def _deviation(answer: _Answer, measured: Iterable[Measurement], given: Sequence[Condition]) -> float | None:
    """The standard deviation of a mean by the tables behind it; None: no table is behind it."""
    tables = list(_tables(measured))
    pieces = len(answer.fitted.columns[answer.column].starts)
    fine = [table for table in tables if answer.column in table.names and table.grids[answer.column].size >= pieces]
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
            return None
        variances.append(min(found))
    return float(np.sqrt(max(variances)))


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
