"""Public features, private labels: counts of labels in leaves of like records say which records have which label.

1. leaves are cut from the public records (see `public_tree`);
2. one question: how many records of each label lie in each leaf;
3. the labels of records are guessed so that their numbers agree with the counts: probabilities r_i minimise
   sum_i KL(r_i || p_i) + sum_leaves |counts - sum r_i|^2 / (2 noise^2), p_i by the present class Gaussians, which are
   then fitted to the guesses anew;
4. the moments of the public records, weighed by the guesses, are the release.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from sfumato.fitting.mechanisms.mixture.plan import MixturePlan
from sfumato.fitting.mechanisms.mixture.public_tree import grown_leaves, rule_of_records
from sfumato.fitting.mechanisms.mixture.rounds import Questions
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.models.gaussian_mixture.model import ACTIONS, Draws, GaussianMixture
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch, NumericCodec
from sfumato.trusted.feature_maps import ByTarget, Leaves
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from sfumato.trusted.measurement import CuratorLike


class Tuning(TuningConstants, group="mixture.label_table"):
    """See `sfumato.fitting.tuning`."""

    records_per_leaf = 10.0  # noise deviations that half a leaf must hold
    fewest_in_leaf = 5.0
    most_records = 100_000  # whose labels are guessed: a bound on time
    least_noise = 0.3  # below it counts are exact to rounding
    guesses = 60
    newton = 8
    draws = 60
    drawn_guesses = 6
    stream = 900_000
    least_variance = 1e-5  # of a class, relative to that of the column


class _Counts(NamedTuple):
    """Noisy counts (leaves x classes), the leaf of each record, and how many records each stands for."""

    table: FloatArray
    leaf: IntArray
    records: FloatArray
    noise: float


def release_label_table(
    curator: CuratorLike,
    features: Batch,
    plan: MixturePlan,
    target: str,
    mu: float,
    scales: Mapping[str, NumericCodec],
    progress: Callable[[str], None],
) -> GaussianMixture:
    """Cut the public records into leaves, ask for the labels in each, and guess the labels of the records."""
    progress("partitioning the public features")
    rng = public_rng(Tuning.stream)
    places = plan.places(features) if features.rows else np.full((len(scales), 1), 2.0 ** (PLACE_BITS - 1))
    records = places.T * 2.0**-PLACE_BITS
    questions = Questions(curator, plan.places, ByTarget(target, plan.classes), plan.adjacency)
    rule = rule_of_records(records, plan.classes, rng)
    smallest = max(Tuning.records_per_leaf * questions.unit / mu, Tuning.fewest_in_leaf)
    leaves = grown_leaves(places, rule, rule(Batch(len(records), {}), places), smallest)
    progress("measuring counts of labels, with noise")
    asked, values, noise = questions.ask([leaves] * plan.classes, mu)
    seen = asked.maps[0]
    assert isinstance(seen, Leaves)  # noqa: S101 - the curator answers what it was asked
    progress("estimating the labels of the public records")
    leaf = seen.leaf(places)
    table = np.stack([value[:, 0] for value in values], axis=1)
    size = max(float(table.sum()), 1.0)
    if len(leaf) > Tuning.most_records:
        chosen = np.sort(rng.choice(len(leaf), Tuning.most_records, replace=False))
        table *= _ratio(leaf[chosen], leaf, seen.blocks)[:, None]
        noise *= Tuning.most_records / len(leaf)
        leaf, records = leaf[chosen], records[chosen]
    counts = _Counts(table, leaf, np.bincount(leaf, minlength=seen.blocks).astype(float), noise)
    return _model(records, counts, size, scales, target)


def _ratio(few: IntArray, leaf: IntArray, leaves: int) -> FloatArray:
    """Which share of each leaf was chosen."""
    chosen, all_of_it = (np.bincount(part, minlength=leaves) for part in (few, leaf))
    ratio: FloatArray = chosen / np.maximum(all_of_it, 1)
    return ratio


def _model(
    records: FloatArray, counts: _Counts, size: float, scales: Mapping[str, NumericCodec], target: str
) -> GaussianMixture:
    """The model of the guesses; draws are guesses under counts with fresh noise of the same size."""
    classes, rng = counts.table.shape[1], public_rng(Tuning.stream + 1)
    guesses = guess_labels(records, counts, _started(counts, records.shape[1])[counts.leaf], Tuning.guesses)
    drawn = []
    for _ in range(Tuning.draws):
        other = counts._replace(table=counts.table + counts.noise * rng.standard_normal(counts.table.shape))
        drawn.append(_moments(records, guess_labels(records, other, guesses, Tuning.drawn_guesses)))
    number, means, covs = _moments(records, guesses)
    number = np.maximum(number, 0.5)
    gaussians = Gaussians(np.arange(classes), number / number.sum(), means, covs)
    draws = Draws(*(np.array(part) for part in zip(*drawn, strict=True)))
    return GaussianMixture(scales, target, classes, size, dict.fromkeys(ACTIONS, gaussians), draws)


def _moments(records: FloatArray, guesses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Counts, means and covariances of the classes by weighed records; a class without any gets those of all."""
    number = guesses.sum(axis=0) + 1e-9
    means = (guesses.T @ records + 1e-9 * records.mean(axis=0)) / number[:, None]
    floor = np.diag(records.var(axis=0) * Tuning.least_variance + 2.0**-48)
    covs = np.empty((len(number), records.shape[1], records.shape[1]))
    for k, (mean, mine) in enumerate(zip(means, guesses.T, strict=True)):
        away = records - mean
        covs[k] = (mine[:, None] * away).T @ away / max(number[k] - 1, 0.5) + floor
    return number, means, (covs + covs.transpose(0, 2, 1)) / 2


def _started(counts: _Counts, columns: int) -> FloatArray:
    """Shares of the classes in every leaf: few labels explain a leaf, and every class has a leaf to start from."""
    leaves, classes = counts.table.shape
    price = np.log(leaves * classes) + 1
    start = np.array(
        [explain_row(row, total, counts.noise, price) for row, total in zip(counts.table, counts.records, strict=True)]
    )
    for k in range(classes):
        if start[:, k].sum() < columns + 2:
            at = int(np.argmax(counts.table[:, k] / np.sqrt(counts.records + 1.0)))
            taken = min(max(counts.table[at, k], columns + 2.0), counts.records[at] / 2)
            start[at] *= (counts.records[at] - taken) / max(counts.records[at], 1e-9)
            start[at, k] += taken
    shares: FloatArray = start / np.maximum(start.sum(axis=1, keepdims=True), 1e-9)
    return shares


def explain_row(row: FloatArray, total: float, noise: float, price: float) -> FloatArray:
    """The likeliest counts of a leaf that add up to its records: least squares, and a price for every label."""
    order, best, found = np.argsort(-row), np.inf, np.zeros(len(row))
    for size in range(1, len(row) + 1):
        on = order[:size]
        fit = row[on] + (total - row[on].sum()) / size
        if fit.min() < 0 and size > 1:
            break
        counts = np.zeros(len(row))
        counts[on] = np.maximum(fit, 0.0)
        cost = float(((row - counts) ** 2).sum()) / (2 * noise**2) + price * size
        if cost < best:
            best, found = cost, counts
    return found


def guess_labels(records: FloatArray, counts: _Counts, guesses: FloatArray, steps: int) -> FloatArray:
    """Probabilities of the labels of records, from a start: the dual of the problem by Newton's steps, and a refit."""
    pull = np.zeros(counts.table.shape)
    for _ in range(steps):
        log_fit = _log_classes(records, guesses)
        for _ in range(Tuning.newton):
            now = log_fit + pull[counts.leaf]
            now = np.exp(now - now.max(axis=1, keepdims=True))
            now /= now.sum(axis=1, keepdims=True)
            step = _newton(counts, now, pull)
            pull = pull + np.clip(step, -3, 3)
            if np.abs(step).max() < 1e-3:
                break
        moved = float(np.abs(now - guesses).max())
        guesses = now
        if moved < 1e-3:
            break
    return guesses


def _newton(counts: _Counts, now: FloatArray, pull: FloatArray) -> FloatArray:
    """The step of the dual variables of every leaf: r_ik in proportion to p_ik exp(pull_k of its leaf)."""
    leaves, classes = counts.table.shape
    variance = max(counts.noise, Tuning.least_noise) ** 2
    total = np.zeros((leaves, classes))
    np.add.at(total, counts.leaf, now)
    curvature = np.zeros((leaves, classes, classes))
    np.add.at(curvature, counts.leaf, -now[:, :, None] * now[:, None, :])
    curvature[:, np.arange(classes), np.arange(classes)] += total + variance
    side = counts.table - total - variance * pull
    return np.asarray(np.linalg.solve(curvature, side[:, :, None])[:, :, 0], dtype=np.float64)


def _log_classes(records: FloatArray, guesses: FloatArray) -> FloatArray:
    """log of count times density of every class; a class of few records has the covariance of all classes together."""
    number, means, covs = _moments(records, guesses)
    few = number < records.shape[1] + 3
    if few.any():
        covs[few] = np.einsum("k,kab->ab", number, covs) / number.sum()
    gaussians = Gaussians(np.arange(len(number)), np.full(len(number), 1 / len(number)), means, covs)
    return gaussians.log_joint(records, np.arange(records.shape[1])) + np.log(np.maximum(number, 0.1))
