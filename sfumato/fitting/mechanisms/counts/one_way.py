"""Anonymize, first half: every column against the classes of the target."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.estimation import class_totals, distributions, inside_groups
from sfumato.fitting.mechanisms.counts.looks import kind_axis
from sfumato.fitting.mechanisms.counts.merging import group_rare, merge_alike, merge_within, sum_groups
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.counts.weights import weights_of
from sfumato.fitting.mechanisms.counts.zoom import Shape
from sfumato.fitting.models.table_mixture.code_weights import CodeWeights
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.feature_maps import Grid, KindGrid
from sfumato.trusted.feature_maps.grid import CellMap
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Cells


class Tuning(TuningConstants, group="counts.one_way"):
    """See `sfumato.fitting.tuning`."""

    kinds_weight = 0.125  # of the tables of kinds, next to the others
    fewest = 1.0  # records that every class is given at least


@dataclass(frozen=True)
class OneWay:
    """One column: its noisy counts on the fine grid, and what noise lets us tell apart."""

    grid: Grid
    counts: FloatArray  # fine cells x classes
    sigma: float
    groups: IntArray  # of the fine cells
    ordered: int  # how many groups, from the first, have an order
    weights: CodeWeights | None = None  # of the codes inside a cell
    rest_variance: tuple[float, ...] = ()  # of the last groups, the rare categories, where their total is known better
    known_inside: FloatArray | None = None  # the probability of every fine cell given its group, where that is known

    @cached_property
    def grouped(self) -> FloatArray:
        """Noisy counts of the groups (groups x classes)."""
        return sum_groups(self.counts, self.groups)

    @cached_property
    def variance(self) -> FloatArray:
        """The noise variance of a group's counts."""
        variance = self.sigma**2 * np.bincount(self.groups).astype(np.float64)
        if self.rest_variance:
            variance[-len(self.rest_variance) :] = self.rest_variance
        return variance

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
        if self.known_inside is not None:
            return self.known_inside
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
    def spans(self) -> list[slice]:
        """Where the groups of each column stand, those of all columns side by side."""
        ends = np.cumsum([0, *(len(column.grouped) for column in self.columns.values())])
        return [slice(*pair) for pair in itertools.pairwise(ends.tolist())]

    @property
    def size(self) -> float:
        """The noisy number of records."""
        return float(self.totals.sum())


def measure_one_way(curator: CuratorLike, plan: CountsPlan, classes: Classes, shapes: Mapping[str, Shape]) -> OneWays:
    """The table of every column by class, and of the kinds of long ones by region.

    A table without features counts the classes alone.
    """
    grids: dict[str, CellMap] = dict(plan.grids)
    tables: list[tuple[str, ...]] = [(name,) for name in plan.features]
    by_class: tuple[str, ...] = ()
    if plan.target is not None:
        grids[plan.target] = plan.grids[plan.target].merge(classes.groups)
        by_class = (plan.target,)
        tables = [(*table, plan.target) for table in tables] or [(plan.target,)]
    of: dict[str, str] = {}
    kind_tables = []
    for name, shape in shapes.items():
        region, kind = plan.axis(name, "regions"), kind_axis(plan, name)
        grids |= {region: shape.regions, kind: KindGrid(plan.columns[name])}
        of |= {region: name, kind: name}
        kind_tables.append((region, kind, *(by_class if plan.adjacency == Adjacency.LABEL else ())))
    weights = (1.0,) * len(tables) + (Tuning.kinds_weight,) * len(kind_tables)
    asked = Cells((*tables, *kind_tables), grids, plan.target, weights if kind_tables else None, of)
    measured = curator.measure(asked, plan.mu_one_way)
    values = list(asked.split(measured.values.astype(float)).values())
    counts = [table.reshape(-1, classes.count) for table in values[: len(tables)]]
    weighed = {
        name: weights_of(shape, table.reshape(*table.shape[:2], -1), measured.sigma / Tuning.kinds_weight)
        for (name, shape), table in zip(shapes.items(), values[len(tables) :], strict=True)
    }
    totals, variance = class_totals(counts)
    columns = {
        name: group_ordered(plan, name, table, measured.sigma, weighed.get(name))
        if isinstance(plan.codes[name], NumericCodec)
        else _listed(plan.grids[name], table, measured.sigma, totals, variance, _kinds(plan, name))
        for name, table in zip(plan.features, counts, strict=False)
    }
    return OneWays(columns, classes, np.maximum(totals, Tuning.fewest), measured.sigma * float(np.sqrt(variance)))


def group_ordered(plan: CountsPlan, name: str, counts: FloatArray, sigma: float, weights: CodeWeights | None) -> OneWay:
    """Merge the neighbours that noise cannot tell apart."""
    grid, missing = plan.grids[name], int(plan.codes[name].missing is not None)
    values = grid.size - missing
    groups = merge_within(_kinds(plan, name)[:values], counts[:values], np.full(values, sigma**2), grid.widths[:values])
    ordered = int(groups.max()) + 1
    return OneWay(grid, counts, sigma, np.append(groups, np.full(missing, ordered)), ordered, weights)


def _kinds(plan: CountsPlan, name: str) -> IntArray:
    """A number for each cell of a column: rules never part two cells of the same."""
    if plan.support is None or name not in plan.support.names:
        return np.zeros(plan.grids[name].size, dtype=np.int64)
    return plan.support.kinds(name, plan.grids[name])


def _listed(
    grid: Grid, counts: FloatArray, sigma: float, totals: FloatArray, of_totals: float, kinds: IntArray
) -> OneWay:
    """Put the categories of one kind together that noise cannot tell from none.

    Their own sum has the noise of all of them. All records without those of the other categories, of which `of_totals`
    is the noise of the former, has less where the rare ones are many; the two are weighed by their precision.
    """
    groups = group_rare(counts.sum(axis=1), sigma * float(np.sqrt(counts.shape[1])))
    rare = groups == groups.max()
    many, alone = int(rare.sum()), int((~rare).sum())
    if many < 2:
        return OneWay(grid, counts, sigma, groups, 0)
    own, rest = counts[rare].sum(axis=0), totals - counts[~rare].sum(axis=0)
    weight = many / (many + alone + of_totals)
    moved = counts.copy()
    moved[rare] += (np.maximum(own + weight * (rest - own), 0.0) - own) / many
    _, kind, held = np.unique(kinds[rare], return_inverse=True, return_counts=True)
    groups[rare] = alone + kind
    variance = sigma**2 * held * (1 - weight * (held / many))
    return OneWay(grid, moved, sigma, groups, 0, rest_variance=tuple(variance.tolist()))
