"""Anonymize, second half: every two columns against each other and the classes of the target."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sfumato.fitting.mechanisms.counts.functions import families
from sfumato.fitting.mechanisms.counts.merging import group_rare, merge_to
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.plan import MOST_CELLS, CountsPlan
from sfumato.fitting.mechanisms.counts.plan import Tuning as Planning
from sfumato.fitting.models.table_mixture.ties import Tie
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.budget import noise_scale
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Cells

# cells per column of a pair: many enough to show a shape as long as an average cell holds two standard deviations of
# noise, more only if it holds four


class Tuning(TuningConstants, group="counts.pairs"):
    """See `sfumato.fitting.tuning`."""

    fewest_levels = 3
    enough_levels = 12
    most_levels = 20
    holds = 2.0
    holds_well = 4.0
    most_fitted = 2**28  # entries of the tables of all paired columns by each other and classes, which the fit holds
    most_categories = 1_000  # of a column that have a cell each, if they stand out
    most_whole = 400_000  # entries as above, up to which they have: a bound on time
    lightest = 0.3  # weight of a pair that tells nothing of the target; the heaviest has 1
    by_cells = 1 / 3  # power of its cells by which a table weighs: then the error of all tables together is least
    by_cells_of_target = 1 / 6  # the same where tables serve a target first
    numbers_alone = 5  # numbers of rows below it have a coarse cell each


Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class TripleTable:
    """The noisy counts of three columns (cells x cells x cells), and the coarse cell of each group of these columns."""

    names: tuple[str, ...]
    coarse: Mapping[str, IntArray]
    table: FloatArray
    sigma: float


@dataclass(frozen=True)
class PairTables:
    """The noisy tables (classes x cells x cells) of the pairs that were asked for, and the law of their noise."""

    coarse: Mapping[str, IntArray]  # the coarse cell of each group of a column
    grids: Mapping[str, Grid]  # the same as a grid of codes
    tables: Mapping[Pair, FloatArray]
    sigma: Mapping[Pair, float]
    functions: Mapping[Pair, FloatArray] = field(
        default_factory=dict
    )  # parent x child on all values, by (child, parent)
    sigma_of_functions: float = 0.0
    ties: Mapping[str, Tie] = field(default_factory=dict)  # what the tables tell, by the fine cells of two columns
    triples: tuple[TripleTable, ...] = ()  # what only three columns tell together

    @property
    def typical_sigma(self) -> float:
        """The noise of a count, over all pairs."""
        return 1 / float(np.mean([1 / sigma for sigma in self.sigma.values()])) if self.sigma else math.inf


def measure_pairs(curator: CuratorLike, plan: CountsPlan, one_way: OneWays) -> PairTables | None:
    """All pairs, or the heaviest of very many, on cells as fine as the noise allows, and functions on all values."""
    if plan.mu_pairs is None:
        return None
    weights = _heaviest(plan, one_way) if plan.pair_weights is None else dict(plan.pair_weights)
    coarse = _coarse_cells(plan, one_way, weights)
    if plan.pair_weights is None:
        weights = _weigh_cells(weights, coarse, Tuning.by_cells if plan.target is None else Tuning.by_cells_of_target)
    grids = {name: column.grid.merge(coarse[name][column.groups]) for name, column in one_way.columns.items()}
    if plan.target is not None:
        grids[plan.target] = plan.grids[plan.target].merge(one_way.classes.groups)
    asked = _question(plan, grids, weights)
    measured = curator.measure(asked, plan.mu_pairs)
    split = [table.reshape(-1, *table.shape[-2:]) for table in asked.split(measured.values.astype(float)).values()]
    return PairTables(
        coarse,
        grids,
        dict(zip(weights, split, strict=False)),
        {pair: measured.sigma / weight for pair, weight in weights.items()},
        dict(zip(plan.functions, (table.sum(axis=0) for table in split[len(weights) :]), strict=True)),
        measured.sigma * math.sqrt(split[-1].shape[0]),
    )


def _question(plan: CountsPlan, grids: Mapping[str, Grid], weights: Mapping[Pair, float]) -> Cells:
    """The pairs by class, then every function to be learnt, parent by child, on all values.

    A function is not asked by class, unless the label is all that is protected: then no table without it has noise.
    """
    head = () if plan.target is None else (plan.target,)
    tables = [(*head, *pair) for pair in weights]
    of: dict[str, str] = {}
    for child, parent in plan.functions:
        axes = {plan.axis(name, "all values"): name for name in (parent, child)}
        tables.append((*(head if plan.adjacency == Adjacency.LABEL else ()), *axes))
        of |= axes
    fine = {axis: plan.grids[name] for axis, name in of.items()}
    all_weights = (*weights.values(), *(1.0,) * len(plan.functions))
    return Cells(tuple(tables), {**grids, **fine}, plan.target, all_weights, of)


def _coarse_cells(plan: CountsPlan, one_way: OneWays, weights: Mapping[Pair, float]) -> dict[str, IntArray]:
    """The coarse cell of each group of every column."""
    sigma = noise_scale(_question(plan, {}, weights).sensitivity(plan.adjacency), plan.mu_pairs or 0.0)
    typical = sigma / float(np.mean([*weights.values()] or [1.0]))
    paired = len(set(itertools.chain(*weights)))
    levels = _levels(one_way.size, typical, paired, len(weights), one_way.classes.count)
    categories = _most_categories(one_way, levels, list(weights))
    return {
        name: _half_octaves(plan, name, column) if name in plan.octaves else _coarse(column, levels, categories)
        for name, column in one_way.columns.items()
    }


def _half_octaves(plan: CountsPlan, name: str, column: OneWay) -> IntArray:
    """The coarse cell of each group of a number of rows: small ones alone, others by half octaves; missing alone.

    Few persons have many rows, but they hold many of all rows: cells of about as many persons each would put all of
    them into one.
    """
    low = getattr(plan.columns[name], "bounds", (0, 0))[0]
    first = low + np.array([np.flatnonzero(column.groups == group)[0] for group in range(column.ordered)])
    octave = np.rint(2 * np.log2(np.maximum(first, 0.5))).astype(np.int64)
    cells = np.unique(
        np.where(first < Tuning.numbers_alone, first, Tuning.numbers_alone + octave), return_inverse=True
    )[1]
    return np.append(cells, np.arange(len(column.grouped) - column.ordered) + cells.max() + 1)


def _weigh_cells(weights: Mapping[Pair, float], coarse: Mapping[str, IntArray], power: float) -> dict[Pair, float]:
    """The weights times a power of how many cells a table has; the heaviest has 1.

    The error of a table is about that of a cell times its cells, c sigma / w, and the squares of all w add up to what
    is spent. The sum of the errors is least where w is as the third root of c.
    """
    cells = {name: int(groups.max()) + 1 for name, groups in coarse.items()}
    made = {(one, other): weight * (cells[one] * cells[other]) ** power for (one, other), weight in weights.items()}
    most = max(made.values(), default=1.0)
    return {pair: weight / most for pair, weight in made.items()}


def _levels(size: float, sigma: float, columns: int, pairs: int, classes: int) -> int:
    """Cells per column, as many as the noise and the memory of the answer and of the fit allow; two at least."""
    shown = min(math.sqrt(size / (Tuning.holds * sigma)), Tuning.enough_levels)
    shown_well = min(math.sqrt(size / (Tuning.holds_well * sigma)), Tuning.most_levels)
    answered = math.isqrt(MOST_CELLS // (max(pairs, 1) * classes))
    fitted = math.isqrt(Tuning.most_fitted // classes) // max(columns, 1)
    return max(2, min(max(int(shown), int(shown_well), Tuning.fewest_levels), answered, fitted))


def _most_categories(one_way: OneWays, levels: int, pairs: list[Pair]) -> int:
    """How many categories of a column have a cell each if they stand out, within the bounds on time and memory."""
    fewest, most = levels, max(levels, Tuning.most_categories)
    while fewest < most:
        middle = (fewest + most + 1) // 2
        fewest, most = (middle, most) if _fits(one_way, levels, middle, pairs) else (fewest, middle - 1)
    return fewest


def _fits(one_way: OneWays, levels: int, categories: int, pairs: list[Pair]) -> bool:
    classes, cells = one_way.classes.count, {}
    for name, column in one_way.columns.items():
        alone = len(column.grouped) - column.ordered  # missing values, or categories
        cells[name] = min(levels, column.ordered) + alone if column.ordered else min(categories, alone)
    answered = sum(cells[one] * cells[other] for one, other in pairs)
    fitted = sum(cells[name] for name in set(itertools.chain(*pairs))) ** 2
    return answered * classes <= MOST_CELLS and fitted * classes <= min(Tuning.most_whole, Tuning.most_fitted)


def _coarse(column: OneWay, levels: int, categories: int) -> IntArray:
    """The coarse cell of each group: neighbours joined, or the largest categories alone; missing stays alone."""
    n = column.ordered
    if n == 0:
        deviation = math.sqrt(column.sigma**2 * column.grouped.shape[1])
        return group_rare(column.grouped.sum(axis=1), deviation, categories)
    groups = merge_to(column.grouped[:n], column.variance[:n], column.widths[:n].astype(np.int64), levels)
    return np.append(groups, np.arange(len(column.grouped) - n) + groups.max() + 1)


def _heaviest(plan: CountsPlan, one_way: OneWays) -> dict[Pair, float]:
    """The pairs to ask for and their weights: by what both columns tell of the target, or by how much they vary."""
    told = {name: relevance(column) for name, column in one_way.columns.items()}
    most = max(max(told.values()), 1e-12)
    related = families(plan.functions)
    weights = {
        (one, other): Tuning.lightest + (1 - Tuning.lightest) * math.sqrt(told[one] * told[other]) / most
        for one, other in itertools.combinations(plan.features, 2)
        if related.get(one, one) != related.get(other, other)
    }
    chosen = sorted(weights, key=lambda pair: -weights[pair])[: Planning.most_pairs]
    kept = set(chosen)
    if plan.target is None:
        return {pair: 1.0 for pair in weights if pair in kept}
    return {pair: weight for pair, weight in weights.items() if pair in kept}


def relevance(column: OneWay) -> float:
    """What a column tells of the target, in nats, less what noise and sampling explain; without one its entropy."""
    positive = column.grouped.clip(0) + 1e-9
    size, p = float(positive.sum()), positive / positive.sum()
    if p.shape[1] == 1:
        return max(0.0, -float((p * np.log(p)).sum()))
    product = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    found = float((p * np.log(p / product)).sum())
    sigma = float(np.sqrt(np.median(column.variance)))
    by_sampling = (len(p) - 1) * (p.shape[1] - 1) / (2 * size)
    by_noise = 0.25 * float((sigma**2 / (size * np.maximum(positive, sigma))).sum())
    return max(0.0, float(found - by_sampling - by_noise))
