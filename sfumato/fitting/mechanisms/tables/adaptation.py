"""Adapt: what the target is, given the other columns, learnt from how far a public model of it is off.

Features, trees and curvature come from the released tables and from records of the released mixture; the only private
quantities are products, gradients and counts in leaves, which come through the curator.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.tables.belief import Belief
from sfumato.fitting.mechanisms.tables.growing import count_leaves, grow_tree
from sfumato.fitting.mechanisms.tables.mending import Mending
from sfumato.fitting.mechanisms.tables.sampling import asked_of, asking, share_of
from sfumato.fitting.mechanisms.tables.screening import products_of, standing_out, with_products
from sfumato.fitting.mechanisms.tables.whitening import whiten_features
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, Int32Array
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Features, Grid, Lookup, Softmax
from sfumato.trusted.feature_maps.features import VALUE_UNIT, contrasts
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.statistics import Gradient, LeafCounts


class Tuning(TuningConstants, group="tables.adaptation"):
    """See `sfumato.fitting.tuning`."""

    smallest_share = 0.001  # of a class in the prior
    pseudo_deviations = 4.0  # records that follow the prior, added to every cell: so many sd and so many
    pseudo = 5.0
    largest_ratio = 3.0
    mark = 0.3  # of a cell, beside log-ratios
    rank_rate = 0.04  # directions for each record and unit of mu
    fewest_directions = 5
    most_directions = 120
    most_coefficients = 250
    sums_stand_out = (
        40.0  # noise deviations of a one-way count that the smallest class must hold before sums are features
    )
    pool_for_each = 4  # synthetic records for each real one
    pool_least = 2_000
    pool_most = 40_000
    pool_values = 40_000_000  # in all, looked up for the synthetic records


class TargetPlan(Protocol):
    """What a plan says of the target."""

    @property
    def target(self) -> str | None:
        """The column to predict."""

    @property
    def grids(self) -> Mapping[str, Grid]:
        """The fine cells of every column."""

    @property
    def features(self) -> tuple[str, ...]:
        """The columns to predict it from."""

    @property
    def pair_features(self) -> bool:
        """Whether pairs of them are looked at."""

    @property
    def mu_screen(self) -> float | None:
        """Of the screen of sets of columns."""

    @property
    def mu_steps(self) -> tuple[float, ...]:
        """Of the gradients."""

    @property
    def mu_leaves(self) -> float | None:
        """Of the first tree."""

    @property
    def mu_rest(self) -> tuple[float, ...]:
        """Of what the first tree says to ask more of."""


class TargetModel(Protocol):
    """A model that tells the target of its own records."""

    @property
    def size(self) -> float:
        """The noisy number of records."""

    def pool(self, rows: int, rng: np.random.Generator) -> Batch:
        """Records that a fit looks at, as codes: the same in every version."""

    def class_probabilities(self, batch: Batch, target: str) -> FloatArray:
        """The probability of every class of the target given the other columns (records x classes)."""


def adapt(
    curator: CuratorLike,
    plan: TargetPlan,
    one_way: OneWays,
    pairs: PairTables | None,
    mixture: TargetModel,
    prior_sd: float,
) -> Softmax | None:
    """Ask what is left of the target, each question at the best model so far, and return the best after the last.

    Sets of columns are screened; then come gradients, and the leaves of a tree. What the leaves show decides what the
    rest is spent on: more trees, or more gradients. Of very many records a share is asked, see `sampling`.
    """
    if plan.target is None or not plan.mu_steps:
        return None
    grid = plan.grids[plan.target].merge(one_way.classes.groups)
    rank = rank_of(one_way, float(np.sqrt(np.square((*plan.mu_steps, *plan.mu_rest)).sum())))
    belief = before_any_gradient(plan, plan.target, one_way, pairs, mixture, rank, prior_sd)
    ask = asking(curator, share_of(one_way, belief.pool, min(*plan.mu_steps, *plan.mu_rest)))
    if plan.mu_screen is not None:
        screen = products_of(one_way, belief.model, plan.target, grid)
        found = standing_out(ask(screen, plan.mu_screen))
        if found:
            belief = _start(with_products(belief.features, found), plan.target, one_way, mixture, prior_sd)
    for mu in plan.mu_steps:
        belief = belief.after(ask(Gradient(belief.model, plan.target, grid), mu))
    if plan.mu_leaves is None:
        return belief.model

    def ask_leaves(mending: Mending, mu: float) -> Measurement:
        tree = grow_tree(one_way, mending.pool, mending.told, count_leaves(one_way.size, mu))
        return ask(LeafCounts(tree, str(plan.target), grid), mu)

    first = ask_leaves(belief.mending, plan.mu_leaves)
    mending = belief.mending.after(first)
    if mending.trees:
        for mu in plan.mu_rest:
            mending = mending.after(ask_leaves(mending, mu))
        return mending.mended
    for mu in plan.mu_rest:
        belief = belief.after(ask(Gradient(belief.model, plan.target, grid), mu))
    return belief.mending.after(first).mended


def before_any_gradient(
    plan: "TargetPlan | CountsPlan",
    target: str,
    one_way: OneWays,
    pairs: PairTables | None,
    mixture: TargetModel,
    rank: int,
    prior_sd: float,
) -> Belief:
    """What the mixture tells of the target of its own records, along the leading directions of all tables."""
    ratios, cells = log_ratios(plan, one_way, pairs), indicators(pairs)
    values = sum(len(lookup.values) for lookup in (*ratios, *cells))
    pool = _pool(mixture, values)
    told = mixture.class_probabilities(pool, target)
    enough = one_way.totals.min() >= Tuning.sums_stand_out * next(iter(one_way.columns.values())).sigma
    first = sums(ratios, len(plan.features), values) if one_way.classes.count > 2 and enough else np.zeros((values, 0))
    features = whiten_features([*ratios, *cells], pool, _importance(told), rank, first)
    return Belief.start(features, pool, told, one_way.size, prior_sd)


def _start(features: Features, target: str, one_way: OneWays, mixture: TargetModel, prior_sd: float) -> Belief:
    """What the mixture tells of the target of its own records, along these features."""
    pool = _pool(mixture, len(features.directions))
    return Belief.start(features, pool, mixture.class_probabilities(pool, target), one_way.size, prior_sd)


def adapt_again(answers: list[Measurement], one_way: OneWays, mixture: TargetModel, prior_sd: float) -> Softmax | None:
    """The best model for another mixture, from gradients and leaves that were once released."""
    asked = [statistic for statistic, _ in map(asked_of, answers)]
    first = next((statistic for statistic in asked if isinstance(statistic, Gradient)), None)
    if first is None:
        return None
    belief = _start(first.model.features, first.target, one_way, mixture, prior_sd)
    for answer, statistic in zip(answers, asked, strict=True):
        if isinstance(statistic, Gradient):
            belief = belief.after(answer)
    mending = belief.mending
    for answer, statistic in zip(answers, asked, strict=True):
        if isinstance(statistic, LeafCounts):
            mending = mending.after(answer)
    return mending.mended


def log_ratios(plan: "TargetPlan | CountsPlan", one_way: OneWays, pairs: PairTables | None) -> list[Lookup]:
    """For every cell of every table the log-ratio of each class to its share, shrunk to 0 where noise is large."""
    share = np.maximum(one_way.totals / one_way.size, Tuning.smallest_share)
    share /= share.sum()
    lookups = []
    for name, column in one_way.columns.items():
        if column.ordered:
            apart = column.apart
            grid, counts = column.grid.merge(apart[column.groups]), sum_groups(column.grouped, apart)
            sigma = np.sqrt(sum_groups(column.variance, apart))
        else:  # every category by itself: shrinking takes care of the rare
            grid, counts, sigma = column.grid, column.counts, np.full(column.grid.size, column.sigma)
        lookups.append(Lookup((name,), (grid,), _log_ratios(counts, sigma[:, None], share)))
    if pairs is not None and plan.pair_features:
        for (one, other), table in pairs.tables.items():
            values = _log_ratios(np.moveaxis(table, 0, -1), np.array(pairs.sigma[one, other]), share)
            lookups.append(Lookup((one, other), (pairs.grids[one], pairs.grids[other]), values))
    return lookups


def indicators(pairs: PairTables | None) -> list[Lookup]:
    """For every column a mark in the coarse cell of the record: gradients can mend by it what is noisy in log-ratios.

    A light one, so that the directions of the log-ratios come first where there are few.
    """
    if pairs is None:
        return []
    return [
        Lookup(
            (name,),
            (pairs.grids[name],),
            np.rint(Tuning.mark * np.eye(pairs.grids[name].size) / VALUE_UNIT).astype(np.int32),
        )
        for name in pairs.coarse
    ]


def sums(ratios: Sequence[Lookup], columns: int, values: int) -> FloatArray:
    """Directions (values x some) that leading ones of very many features may miss, two for each contrast.

    The sum over the one-way tables, which are the first `columns` of the ratios (naive Bayes), and the mean over the
    pair tables.
    """
    contrast = len(ratios[0].values)
    here = np.tile(np.eye(contrast), (len(ratios), 1))
    one_way = (np.arange(len(here)) < columns * contrast)[:, None]
    kinds = [here * one_way, here * ~one_way / max(1, len(ratios) - columns)]
    directions = np.concatenate(kinds[: 1 + (len(ratios) > columns)], axis=1)
    return np.concatenate((directions, np.zeros((values - len(here), directions.shape[1]))))


def _log_ratios(counts: FloatArray, sigma: FloatArray, share: FloatArray) -> Int32Array:
    """log p(class | cell) / p(class) along the contrasts (contrasts x cells), from noisy counts (cells x classes)."""
    joined = counts.clip(0) + (Tuning.pseudo_deviations * sigma + Tuning.pseudo) * share
    ratios = (np.log(joined) - np.log(share)) @ contrasts(len(share))
    values = np.rint(ratios.clip(-Tuning.largest_ratio, Tuning.largest_ratio) / VALUE_UNIT).astype(np.int32)
    return np.moveaxis(values, -1, 0)


def rank_of(one_way: OneWays, mu: float) -> int:
    """How many directions the gradients can carry: their noise in a logit grows with every direction.

    A rare class leaves less curvature, so fewer.
    """
    share = one_way.totals / one_way.size
    spread = float(np.clip(4 * (1 - (share**2).sum()), 0.5, 1.0))
    most = max(Tuning.fewest_directions, min(Tuning.most_directions, Tuning.most_coefficients // (len(share) - 1)))
    return int(np.clip(Tuning.rank_rate * spread * one_way.size * mu, Tuning.fewest_directions, most))


def _pool(mixture: TargetModel, values: int) -> Batch:
    """Synthetic records, a few for each real one but not too many; the same for the same mixture."""
    rows = int(
        np.clip(
            Tuning.pool_for_each * mixture.size, Tuning.pool_least, min(Tuning.pool_most, Tuning.pool_values // values)
        )
    )
    return mixture.pool(rows, public_rng(1))


def _importance(told: FloatArray) -> FloatArray:
    """How uncertain the class of each record is, by the mixture at half its log-odds."""
    p = np.sqrt(told)
    p /= p.sum(axis=1, keepdims=True)
    importance: FloatArray = (p * (1 - p)).sum(axis=1) / 2 + 0.02
    return importance
