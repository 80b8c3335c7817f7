"""Anonymize, first half: every column against the classes of the target."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.fitting.mechanisms.counts.estimation import class_totals, distributions, inside_groups, project
from sfumato.fitting.mechanisms.counts.merging import group_rare, merge_alike, sum_groups
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.counts.plan import Tuning as Planning
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Cells


class Tuning(TuningConstants, group="counts.one_way"):
    """See `sfumato.fitting.tuning`."""

    fewest = 1.0  # records that every class is given at least


@dataclass(frozen=True)
class Classes:
    """The classes of the target: which cell of its grid lies in which, and a cell's probability within its class."""

    groups: IntArray
    inside: FloatArray

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.groups.max()) + 1


@dataclass(frozen=True)
class OneWay:
    """One column: its noisy counts on the fine grid, and what noise lets us tell apart."""

    grid: Grid
    counts: FloatArray  # fine cells x classes
    sigma: float
    groups: IntArray  # of the fine cells
    ordered: int  # how many groups, from the first, have an order

    @cached_property
    def grouped(self) -> FloatArray:
        """Noisy counts of the groups (groups x classes)."""
        return sum_groups(self.counts, self.groups)

    @cached_property
    def variance(self) -> FloatArray:
        """The noise variance of a group's counts."""
        return self.sigma**2 * np.bincount(self.groups).astype(np.float64)

    @cached_property
    def widths(self) -> FloatArray:
        """How many codes each group holds."""
        return sum_groups(self.grid.widths.astype(float), self.groups)

    @cached_property
    def apart(self) -> IntArray:
        """What noise tells apart at all (a number for each group), however many records that leaves together."""
        n = self.ordered
        approx_equal = merge_alike(self.grouped[:n], self.variance[:n], self.widths[:n].astype(np.int64), large=1.0)
        return np.append(approx_equal, np.arange(len(self.grouped) - n) + approx_equal.max() + 1)

    @cached_property
    def inside(self) -> FloatArray:
        """The probability of every fine cell given its group."""
        pooled = np.full(self.grid.size, self.sigma**2 * self.counts.shape[1])
        return inside_groups(self.counts.sum(axis=1), pooled, self.groups, self.grid.widths)

    @cached_property
    def theta(self) -> FloatArray:
        """The distribution over the groups in every class (classes x groups), estimated from this table alone."""
        totals = np.maximum(self.grouped.sum(axis=0), Tuning.fewest)
        return distributions(self.grouped, self.variance, totals)


@dataclass(frozen=True)
class OneWays:
    """All columns, and the records of each class."""

    columns: Mapping[str, OneWay]
    classes: Classes
    totals: FloatArray
    deviation: float  # of the noise of each total

    @property
    def size(self) -> float:
        """The noisy number of records."""
        return float(self.totals.sum())


def cut_target(curator: CuratorLike, plan: CountsPlan) -> Classes:
    """The classes of the target; a numeric one is cut, by its noisy histogram, into parts of about equal count."""
    if plan.target is None:
        return Classes(np.zeros(1, dtype=np.int64), np.ones(1))
    grid = plan.grids[plan.target]
    if plan.mu_target is None:
        return Classes(np.arange(grid.size), np.ones(grid.size))
    measured = curator.measure(Cells(((plan.target,),), {plan.target: grid}, plan.target), plan.mu_target)
    missing = int(plan.codes[plan.target].missing is not None)
    values = measured.values.astype(float)
    counts = project(values, max(values.sum(), Tuning.fewest))
    groups = _equal_parts(counts[: grid.size - missing])
    groups = np.append(groups, np.full(missing, groups.max() + 1))
    return Classes(groups, inside_groups(values, np.full(grid.size, measured.sigma**2), groups, grid.widths))


def _equal_parts(counts: FloatArray) -> IntArray:
    """Neighbouring cells in at most so many groups of about the same count."""
    middle = np.cumsum(counts) - counts / 2
    part = np.minimum(Planning.target_classes * middle / counts.sum(), Planning.target_classes - 1).astype(np.int64)
    return np.unique(part, return_inverse=True)[1]


def measure_one_way(curator: CuratorLike, plan: CountsPlan, classes: Classes) -> OneWays:
    """The table of every column by class; a table without features counts the classes alone."""
    grids = dict(plan.grids)
    tables: list[tuple[str, ...]] = [(name,) for name in plan.features]
    if plan.target is not None:
        grids[plan.target] = plan.grids[plan.target].merge(classes.groups)
        tables = [(*table, plan.target) for table in tables] or [(plan.target,)]
    one_way = Cells(tuple(tables), grids, plan.target)
    measured = curator.measure(one_way, plan.mu_one_way)
    values = [table.reshape(-1, classes.count) for table in one_way.split(measured.values.astype(float)).values()]
    totals, variance = class_totals(values)
    columns = {
        name: _column(plan, name, counts, measured.sigma) for name, counts in zip(plan.features, values, strict=False)
    }
    return OneWays(columns, classes, np.maximum(totals, Tuning.fewest), measured.sigma * float(np.sqrt(variance)))


def _column(plan: CountsPlan, name: str, counts: FloatArray, sigma: float) -> OneWay:
    """Merge the cells that noise cannot tell apart."""
    grid, codes = plan.grids[name], plan.codes[name]
    if not isinstance(codes, NumericCodec):
        groups = group_rare(counts.sum(axis=1), sigma * float(np.sqrt(counts.shape[1])))
        return OneWay(grid, counts, sigma, groups, 0)
    values = grid.size - (codes.missing is not None)
    variance = np.full(values, sigma**2)
    groups = merge_alike(counts[:values], variance, grid.widths[:values])
    ordered = int(groups.max()) + 1
    return OneWay(grid, counts, sigma, np.append(groups, np.full(grid.size - values, ordered)), ordered)
