"""Anonymize, second half: every two columns against each other and the classes of the target."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.fitting.mechanisms.counts.merging import group_rare, merge_to
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.plan import MOST_CELLS, CountsPlan
from sfumato.fitting.mechanisms.counts.plan import Tuning as Planning
from sfumato.fitting.tuning import TuningConstants
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
    lightest = 0.3  # weight of a pair that tells nothing of the target; the heaviest has 1


Pair = tuple[str, str]


@dataclass(frozen=True)
class PairTables:
    """The noisy tables (classes x cells x cells) of the pairs that were asked for, and the law of their noise."""

    coarse: Mapping[str, IntArray]  # the coarse cell of each group of a column
    grids: Mapping[str, Grid]  # the same as a grid of codes
    tables: Mapping[Pair, FloatArray]
    sigma: Mapping[Pair, float]

    @property
    def typical_sigma(self) -> float:
        """The noise of a count, over all pairs."""
        return 1 / float(np.mean([1 / sigma for sigma in self.sigma.values()]))


def measure_pairs(curator: CuratorLike, plan: CountsPlan, one_way: OneWays) -> PairTables | None:
    """All pairs, or the heaviest of very many, on cells as fine as the noise allows."""
    if plan.mu_pairs is None:
        return None
    weights = _heaviest(plan, one_way)
    sigma = noise_scale(_sensitivity(plan, weights), plan.mu_pairs)
    typical = sigma / float(np.mean(list(weights.values())))
    paired = len(set(itertools.chain(*weights)))
    levels = _levels(one_way.size, typical, paired, len(weights), one_way.classes.count)
    coarse = {name: _coarse(column, levels) for name, column in one_way.columns.items()}
    grids = {name: column.grid.merge(coarse[name][column.groups]) for name, column in one_way.columns.items()}
    head: tuple[str, ...] = ()
    if plan.target is not None:
        head = (plan.target,)
        grids[plan.target] = plan.grids[plan.target].merge(one_way.classes.groups)
    asked = Cells(tuple((*head, *pair) for pair in weights), grids, plan.target, tuple(weights.values()))
    measured = curator.measure(asked, plan.mu_pairs)
    split = asked.split(measured.values.astype(float)).values()
    tables = {pair: table.reshape(-1, *table.shape[-2:]) for pair, table in zip(weights, split, strict=True)}
    return PairTables(coarse, grids, tables, {pair: measured.sigma / weight for pair, weight in weights.items()})


def _sensitivity(plan: CountsPlan, weights: Mapping[Pair, float]) -> float:
    head = () if plan.target is None else (plan.target,)
    return Cells(tuple((*head, *pair) for pair in weights), {}, plan.target, tuple(weights.values())).sensitivity(
        plan.adjacency
    )


def _levels(size: float, sigma: float, columns: int, pairs: int, classes: int) -> int:
    """Cells per column, as many as the noise and the memory of the answer and of the fit allow; two at least."""
    shown = min(math.sqrt(size / (Tuning.holds * sigma)), Tuning.enough_levels)
    shown_well = min(math.sqrt(size / (Tuning.holds_well * sigma)), Tuning.most_levels)
    answered, fitted = math.isqrt(MOST_CELLS // (pairs * classes)), math.isqrt(Tuning.most_fitted // classes) // columns
    return max(2, min(max(int(shown), int(shown_well), Tuning.fewest_levels), answered, fitted))


def _coarse(column: OneWay, levels: int) -> IntArray:
    """The coarse cell of each group: neighbours joined, or the largest categories alone; missing stays alone."""
    n = column.ordered
    if n == 0:
        deviation = math.sqrt(column.sigma**2 * column.grouped.shape[1])
        return group_rare(column.grouped.sum(axis=1), deviation, levels)
    groups = merge_to(column.grouped[:n], column.variance[:n], column.widths[:n].astype(np.int64), levels)
    return np.append(groups, np.arange(len(column.grouped) - n) + groups.max() + 1)


def _heaviest(plan: CountsPlan, one_way: OneWays) -> dict[Pair, float]:
    """The pairs to ask for and their weights: by what both columns tell of the target, or by how much they vary."""
    told = {name: relevance(column) for name, column in one_way.columns.items()}
    most = max(max(told.values()), 1e-12)
    weights = {
        (one, other): Tuning.lightest + (1 - Tuning.lightest) * math.sqrt(told[one] * told[other]) / most
        for one, other in itertools.combinations(plan.features, 2)
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
