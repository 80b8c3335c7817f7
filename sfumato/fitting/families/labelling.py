"""What a target of a view is, given the other columns: the labeller of `tables`, from counts that know no target.

The counts of a view are not split by its target. So its features are read off the pair tables of which the target is
one column; the prior is what the mixture tells, and gradients and leaves are measured as in `adaptation`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.tables.adaptation import TargetModel, adapt, adapt_again
from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import CuratorLike, Measurement

_FIRST_TREE = 2  # gradients before the first tree
PRIOR = 0.5  # standard deviation of the labeller's coefficients around what the mixture says


@dataclass(frozen=True)
class LabelPlan:
    """See `TargetPlan`. Pairs of columns are not looked at, and no sets of them are screened."""

    target: str
    grids: Mapping[str, Grid]
    features: tuple[str, ...]
    mu_steps: tuple[float, ...]
    mu_leaves: float | None
    mu_rest: tuple[float, ...]
    mu_screen: float | None = None
    pair_features: bool = False

    @classmethod
    def of(cls, target: str, grid: Grid, features: Sequence[str], mu: Sequence[float]) -> "LabelPlan":
        """The plan with the mu of every question, in order."""
        steps, leaves, rest = mu[:_FIRST_TREE], mu[_FIRST_TREE], mu[_FIRST_TREE + 1 :]
        return cls(target, {target: grid}, tuple(features), tuple(steps), leaves, tuple(rest))


@dataclass(frozen=True, eq=False)
class ClassedTable:
    """A table mixture as `adapt` wants it: the classes of the target are coarse cells, without that of absent rows."""

    mixture: TableMixture
    classes: IntArray  # of the pieces of the target; -1: of rows that are not there

    @property
    def size(self) -> float:
        """See `TargetModel`."""
        return self.mixture.size

    def pool(self, rows: int, rng: np.random.Generator) -> Batch:
        """See `TargetModel`."""
        return self.mixture.pool(rows, rng)

    def class_probabilities(self, batch: Batch, target: str) -> FloatArray:
        """See `TargetModel`."""
        told, there = self.mixture.conditional(batch, target), self.classes >= 0
        found = sum_groups(told[:, there].T, self.classes[there]).T + 1e-9
        share: FloatArray = found / found.sum(axis=1, keepdims=True)
        return share


@dataclass(frozen=True, eq=False)
class TargetCounts:
    """The tables of a view by the classes of one target, and which class every fine cell of the target is."""

    one_way: OneWays
    pairs: PairTables
    grid: Grid  # the fine cells of the target

    @classmethod
    def of(cls, one_way: OneWays, pairs: PairTables, target: str, absent: bool) -> "TargetCounts":
        """Read off the pair tables. `absent`: the last cell of the target is of rows that are not there."""
        classes = pairs.grids[target].size - absent
        columns = {}
        for (one, other), table in pairs.tables.items():
            if target not in (one, other):
                continue
            name = other if one == target else one
            counts = table[0].T if one == target else table[0]
            ordered, coarse = one_way.columns[name].ordered, pairs.coarse[name]
            cells = int(coarse[:ordered].max()) + 1 if ordered else 0
            grid = pairs.grids[name]
            columns[name] = OneWay(grid, counts[:, :classes], pairs.sigma[one, other], np.arange(grid.size), cells)
        own = one_way.columns[target]
        totals = sum_groups(own.grouped[:, 0], pairs.coarse[target])[:classes]
        groups = pairs.coarse[target][own.groups]
        known = Classes(np.where(groups < classes, groups, 0), np.ones(len(groups)))
        others = {name: pairs.coarse[name] for name in columns}
        kept = replace(pairs, tables={}, sigma={}, coarse=others)
        return cls(OneWays(columns, known, np.maximum(totals, 1.0), own.sigma), kept, own.grid)

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that tell of the target."""
        return tuple(self.one_way.columns)

    @property
    def is_constant(self) -> bool:
        """Whether noise leaves the target one class."""
        return self.one_way.classes.count < 2


def measure_labeller(
    curator: CuratorLike, counts: TargetCounts, target: str, model: TargetModel, mu: Sequence[float]
) -> Labeller | None:
    """Ask what is left of a target, and fit its labeller to the answers."""
    if counts.is_constant:
        return None
    plan = LabelPlan.of(target, counts.grid, counts.features, mu)
    found = adapt(curator, plan, counts.one_way, counts.pairs, model, PRIOR)
    return None if found is None else Labeller.of(found, target)


def refit_labeller(
    answers: list[Measurement], counts: TargetCounts, target: str, model: TargetModel
) -> Labeller | None:
    """Fit it anew to what was once released."""
    if counts.is_constant:
        return None
    found = adapt_again(answers, counts.one_way, model, PRIOR)
    return None if found is None else Labeller.of(found, target)
