"""Adapt: what the target is, given the other columns, learnt from private gradients of a public model.

Features and curvature come from the released tables and from records of the released mixture; the only private
quantities are the gradients, which come through the curator.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.tables.plan import TablesPlan
from sfumato.fitting.mechanisms.tables.whitening import whiten_features
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, Int32Array
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Features, Lookup, Softmax
from sfumato.trusted.feature_maps.features import COEFFICIENT_UNIT, PSI_UNIT, VALUE_UNIT, contrasts
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.statistics import Gradient
from sfumato.trusted.statistics.gradient import UNIT


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
    ridge = 1e-3
    start_steps = 6
    start_smooth = 0.1
    smooth = 0.25  # how far probabilities are drawn to even ones in the curvature
    misread = 0.25  # relative error of the curvature, away from where it was taken
    reweighted = 4  # times that the readings are weighed by it
    most_coefficient = 1e3


_AT_ONCE = 1 << 12


def adapt(
    curator: CuratorLike,
    plan: TablesPlan,
    one_way: OneWays,
    pairs: PairTables | None,
    mixture: TableMixture,
    prior_sd: float,
) -> Softmax | None:
    """Ask for gradients, each at the best model so far, and return the best model after the last."""
    if plan.target is None or not plan.mu_steps:
        return None
    grid = plan.grids[plan.target].merge(one_way.classes.groups)
    rank = rank_of(one_way, float(np.sqrt(np.square(plan.mu_steps).sum())))
    belief = before_any_gradient(plan, plan.target, one_way, pairs, mixture, rank, prior_sd)
    for mu in plan.mu_steps:
        belief = belief.after(curator.measure(Gradient(belief.model, plan.target, grid), mu))
    return belief.model


def before_any_gradient(
    plan: CountsPlan,
    target: str,
    one_way: OneWays,
    pairs: PairTables | None,
    mixture: TableMixture,
    rank: int,
    prior_sd: float,
) -> "Belief":
    """What the mixture tells of the target of its own records, along the leading directions of all tables."""
    ratios, cells = log_ratios(plan, one_way, pairs), indicators(pairs)
    values = sum(len(lookup.values) for lookup in (*ratios, *cells))
    pool = _pool(mixture, values)
    told = mixture.class_probabilities(pool, target)
    enough = one_way.totals.min() >= Tuning.sums_stand_out * next(iter(one_way.columns.values())).sigma
    first = sums(ratios, len(plan.features), values) if one_way.classes.count > 2 and enough else np.zeros((values, 0))
    features = whiten_features([*ratios, *cells], pool, _importance(told), rank, first)
    return Belief.start(features, pool, told, one_way.size, prior_sd)


def adapt_again(answers: list[Measurement], one_way: OneWays, mixture: TableMixture, prior_sd: float) -> Softmax | None:
    """The best model for another mixture, from gradients that were once released."""
    asked = [answer.statistic for answer in answers if isinstance(answer.statistic, Gradient)]
    if not asked:
        return None
    features = asked[0].model.features
    pool = _pool(mixture, len(features.directions))
    told = mixture.class_probabilities(pool, asked[0].target)
    belief = Belief.start(features, pool, told, one_way.size, prior_sd)
    for answer in answers:
        belief = belief.after(answer)
    return belief.model


def log_ratios(plan: CountsPlan, one_way: OneWays, pairs: PairTables | None) -> list[Lookup]:
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


def _pool(mixture: TableMixture, values: int) -> Batch:
    """Synthetic records, a few for each real one but not too many; the same for the same mixture."""
    rows = int(
        np.clip(
            Tuning.pool_for_each * mixture.size, Tuning.pool_least, min(Tuning.pool_most, Tuning.pool_values // values)
        )
    )
    return mixture.sample(rows, public_rng(1))


def _importance(told: FloatArray) -> FloatArray:
    """How uncertain the class of each record is, by the mixture at half its log-odds."""
    p = np.sqrt(told)
    p /= p.sum(axis=1, keepdims=True)
    importance: FloatArray = (p * (1 - p)).sum(axis=1) / 2 + 0.02
    return importance


@dataclass(frozen=True, eq=False)
class Reading:
    """One gradient as an equation:  g = H (truth - here) + noise."""

    curve: FloatArray
    gradient: FloatArray
    here: FloatArray
    sd: float


@dataclass(frozen=True, eq=False)
class Belief:
    """What is known of the coefficients, in contrast coordinates: a Gaussian prior and the gradients read so far.

    Every gradient is a linear equation with the curvature H of synthetic records, so the posterior is Gaussian, and its
    mean is where the next gradient is asked for. H is right only near the place of asking: an answer counts for less,
    the farther the truth turns out to be from there.
    """

    features: Features
    psi: FloatArray  # of the synthetic records, size x records
    size: float
    classes: int
    prior: FloatArray
    prior_sd: float
    readings: tuple[Reading, ...] = ()

    @classmethod
    def start(cls, features: Features, pool: Batch, told: FloatArray, size: float, prior_sd: float) -> "Belief":
        """Around the ridge regression on what the mixture tells of the classes of its own records."""
        parts = pool.parts(_AT_ONCE, features.columns)
        psi = np.concatenate([features(part) for part in parts], axis=1) * PSI_UNIT
        return cls(features, psi, size, told.shape[1], _ridge(psi, told.T).ravel(), prior_sd)

    @property
    def mean(self) -> FloatArray:
        """The mean of the posterior."""
        mean: FloatArray = self.prior
        for _ in range(Tuning.reweighted if self.readings else 0):
            precision = np.eye(len(mean)) / self.prior_sd**2
            pull = self.prior / self.prior_sd**2
            for reading in self.readings:
                misread: FloatArray = Tuning.misread * reading.curve @ (mean - reading.here)
                variance = reading.sd**2 + float(np.mean(misread**2))
                precision += reading.curve @ reading.curve / variance
                pull += reading.curve @ (reading.gradient + reading.curve @ reading.here) / variance
            mean = np.linalg.solve(precision, pull).astype(np.float64)
        return mean

    @property
    def model(self) -> Softmax:
        """The most likely model."""
        mean = self.mean.reshape(-1, self.classes - 1).clip(-Tuning.most_coefficient, Tuning.most_coefficient)
        by_class = mean @ contrasts(self.classes).T
        return Softmax(self.features, np.rint(by_class / COEFFICIENT_UNIT).astype(np.int32))

    def after(self, answer: Measurement) -> "Belief":
        """The belief after one more gradient."""
        asked = answer.statistic
        if not isinstance(asked, Gradient):
            raise TypeError("a belief about the target learns from gradients only")
        here = asked.model.coefficients * COEFFICIENT_UNIT @ contrasts(self.classes)
        p = asked.model.probabilities(self.psi / PSI_UNIT)
        curve = _curvature(self.psi, p, asked.weights(self.psi, p) / UNIT, Tuning.smooth) * (
            self.size / self.psi.shape[1]
        )
        reading = Reading(curve, answer.values / UNIT, here.ravel(), answer.sigma / UNIT)
        return replace(self, readings=(*self.readings, reading))


def _curvature(psi: FloatArray, p: FloatArray, weight: FloatArray, smooth: float) -> FloatArray:
    """Sum over records of  w psi psi' (x) Q'(diag p - p p')Q, with p drawn a little to even probabilities."""
    classes, basis = len(p), contrasts(len(p))
    p = (1 - smooth) * p + smooth / classes
    mean, q = basis.T @ p, classes - 1
    curve = np.empty((len(psi), q, len(psi), q))
    for a in range(q):
        for b in range(a, q):
            spread = (basis[:, a] * basis[:, b]) @ p - mean[a] * mean[b]
            curve[:, a, :, b] = curve[:, b, :, a] = (psi * (weight * spread)) @ psi.T
    return curve.reshape(len(psi) * q, len(psi) * q)


def _ridge(psi: FloatArray, told: FloatArray) -> FloatArray:
    """Softmax regression of class probabilities (classes x records), by a few steps of Newton's method."""
    basis, rows = contrasts(len(told)), psi.shape[1]
    coefficients = np.zeros((len(psi), len(told) - 1))
    for _ in range(Tuning.start_steps):
        logits = basis @ coefficients.T @ psi
        e = np.exp(logits - logits.max(axis=0))
        p = e / e.sum(axis=0)
        curve = _curvature(psi, p, np.ones(rows), Tuning.start_smooth) + Tuning.ridge * rows * np.eye(coefficients.size)
        slope = psi @ ((told - p).T @ basis) - Tuning.ridge * rows * coefficients
        coefficients = coefficients + np.linalg.solve(curve, slope.ravel()).reshape(coefficients.shape)
    return coefficients
