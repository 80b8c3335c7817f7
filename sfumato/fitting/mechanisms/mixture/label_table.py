"""Public features, private labels: sums over the records of each label say which records have which label.

1. leaves are cut from the public records (see `public_tree`);
2. the first question: how many records of each label lie in each leaf;
3. the labels of records are guessed so that sums over them agree with the answers (see `label_guesses`);
4. further questions: the counts once more where the guesses are sure, because classes lie apart; else scores of every
   class, through the whitening by the guesses so far, which measure classes that overlap;
5. the moments of the public records, weighed by the guesses, are the release.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sfumato.fitting.mechanisms.mixture.design import build_design
from sfumato.fitting.mechanisms.mixture.label_guesses import (
    Answers,
    ClassScores,
    LabelGuesses,
    LeafCounts,
    class_moments,
    pooled_moments,
)
from sfumato.fitting.mechanisms.mixture.nearest import floor_roots, nearest_gaussian
from sfumato.fitting.mechanisms.mixture.plan import MixturePlan
from sfumato.fitting.mechanisms.mixture.public_tree import grown_leaves, rule_of_records
from sfumato.fitting.mechanisms.mixture.rounds import Questions, score_whitening
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.models.gaussian_mixture.model import ACTIONS, Draws, GaussianMixture
from sfumato.fitting.public_rng import PublicRng, public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch, NumericCodec
from sfumato.trusted.feature_maps import ByTarget, Hampel, Leaves
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from sfumato.trusted.measurement import CuratorLike


class Tuning(TuningConstants, group="mixture.label_table"):
    """See `sfumato.fitting.tuning`."""

    records_per_leaf = 10.0  # noise deviations that half a leaf must hold
    fewest_in_leaf = 5.0
    most_records = 100_000  # whose labels are guessed: a bound on time
    most_numbers = 2**25  # of vectors of scores, likewise
    steps = 30
    mixed = 0.1  # impurity of the guesses from which on scores are asked
    draws = 60
    drawn_steps = 2
    stream = 900_000


class _Chosen(NamedTuple):
    """Public records that stand for all: places (columns x records), and which share of all they are."""

    places: FloatArray
    share: float

    @property
    def records(self) -> FloatArray:
        """Records x columns, from 0 to 1."""
        return np.asarray(self.places.T * 2.0**-PLACE_BITS, dtype=np.float64)


def release_label_table(
    curator: CuratorLike,
    features: Batch,
    plan: MixturePlan,
    target: str,
    mus: Sequence[float],
    scales: Mapping[str, NumericCodec],
    progress: Callable[[str], None],
) -> GaussianMixture:
    """Ask for the labels in leaves of the public records, then for scores of every class, and guess who has which."""
    progress("partitioning the public features")
    rng = public_rng(Tuning.stream)
    places = plan.places(features) if features.rows else np.full((len(scales), 1), 2.0 ** (PLACE_BITS - 1))
    questions = Questions(curator, plan.places, ByTarget(target, plan.classes), plan.adjacency)
    leaves = _leaves(places, plan.classes, questions.unit / math.hypot(*mus), rng)
    progress("measuring counts of labels, with noise")
    seen, table = _ask_counts(questions, leaves, mus[0])
    size = max(float(table.values.sum()), 1.0)
    chosen = _choose(places, plan.classes, len(mus) - 1, rng)
    answers = Answers(_counts(seen, table, places, chosen))
    guesses = _guess(chosen, answers, progress)
    for mu in mus[1:]:
        if guesses.impurity < Tuning.mixed:
            progress("measuring counts of labels, with noise")
            table = table.averaged(_ask_counts(questions, leaves, mu)[1])
            answers = replace(answers, counts=_counts(seen, table, places, chosen))
            guesses = _guess(chosen, answers, progress)
        else:
            progress("measuring scores of each class, with noise")
            answers = replace(answers, scores=(*answers.scores, _ask_scores(questions, chosen, guesses.shares, mu)))
            progress("estimating the labels of the public records")
            guesses.take(answers)
            guesses.settle(Tuning.steps)
    return _model(chosen.records, answers, guesses, size, scales, target)


def _guess(chosen: _Chosen, answers: Answers, progress: Callable[[str], None]) -> LabelGuesses:
    """The labels of the chosen records, from a start by the counts alone."""
    progress("estimating the labels of the public records")
    start = _started(answers.counts, chosen.records.shape[1])
    guesses = LabelGuesses(chosen.records, answers, start[answers.counts.leaf])
    guesses.settle(Tuning.steps)
    return guesses


class _Table(NamedTuple):
    """Noisy counts (leaves x classes), and the sd of their noise."""

    values: FloatArray
    noise: float

    def averaged(self, other: "_Table") -> "_Table":
        """Both answers to one question, by precision."""
        mine, theirs = self.noise**-2, other.noise**-2
        values = (mine * self.values + theirs * other.values) / (mine + theirs)
        return _Table(values, (mine + theirs) ** -0.5)


def _ask_counts(questions: Questions, leaves: Leaves, mu: float) -> tuple[Leaves, _Table]:
    asked, values, noise = questions.ask([leaves] * questions.parting.size, mu)
    seen = asked.maps[0]
    assert isinstance(seen, Leaves)  # noqa: S101 - the curator answers what it was asked
    return seen, _Table(np.stack([value[:, 0] for value in values], axis=1), noise)


def _leaves(places: FloatArray, classes: int, noise: float, rng: PublicRng) -> Leaves:
    """Leaves of like records, large enough for counts with this noise."""
    rule = rule_of_records(_Chosen(places, 1.0).records, classes, rng)
    smallest = max(Tuning.records_per_leaf * noise, Tuning.fewest_in_leaf)
    return grown_leaves(places, rule, rule(Batch(places.shape[1], {}), places), smallest)


def _choose(places: FloatArray, classes: int, rounds: int, rng: PublicRng) -> _Chosen:
    """So many records that time and memory are bounded."""
    columns, rows = places.shape
    width = classes * max(rounds, 1) * (2 + columns + columns * (columns + 1) // 2)
    most = min(Tuning.most_records, max(Tuning.most_numbers // width, 1))
    if rows <= most:
        return _Chosen(places, 1.0)
    return _Chosen(places[:, np.sort(rng.choice(rows, most, replace=False))], most / rows)


def _counts(leaves: Leaves, table: _Table, places: FloatArray, chosen: _Chosen) -> LeafCounts:
    """What the counts of all records say of the chosen ones."""
    leaf, values = leaves.leaf(chosen.places), table.values
    records = np.bincount(leaf, minlength=leaves.blocks).astype(np.float64)
    if chosen.share < 1:
        values = values * (records / np.maximum(np.bincount(leaves.leaf(places), minlength=leaves.blocks), 1))[:, None]
    return LeafCounts(values, leaf, table.noise * chosen.share)


def _ask_scores(questions: Questions, chosen: _Chosen, guesses: FloatArray, mu: float) -> ClassScores:
    """Sums of the scores of every class, through the whitening by the guesses."""
    number, means, covs = pooled_moments(chosen.records, guesses)
    maps = [
        build_design("hampel", score_whitening(mean, cov), float(count) / chosen.share, mu / questions.unit)
        for count, mean, cov in zip(number, means, covs, strict=True)
    ]
    asked, values, noise = questions.ask(maps, mu)
    seen = [one for one in asked.maps if isinstance(one, Hampel)]
    vectors = tuple(np.ascontiguousarray(one(chosen.places).values.T) / UNIT for one in seen)
    return ClassScores(tuple(value[0] * chosen.share for value in values), vectors, noise * chosen.share)


def _model(
    records: FloatArray,
    answers: Answers,
    guesses: LabelGuesses,
    size: float,
    scales: Mapping[str, NumericCodec],
    target: str,
) -> GaussianMixture:
    """The model of the guesses.

    Draws have guesses under answers with fresh noise of the same size, and of every record one label by its guess.
    `mixture` is the Gaussian that is nearest to the draws; the others have the moments of the guesses.
    """
    number, means, covs = class_moments(records, guesses.shares)
    drawn, rng = [], public_rng(Tuning.stream + 1)
    for _ in range(Tuning.draws):
        other = guesses.copy()
        other.take(answers.with_noise(rng))
        other.settle(Tuning.drawn_steps, near=True)
        drawn.append(class_moments(records, draw_labels(other.shares, rng)))
    draws = Draws(*(np.array(part) for part in zip(*drawn, strict=True)))
    owner, weights = np.arange(len(number)), np.maximum(number, 0.5) / np.maximum(number, 0.5).sum()
    expected = Gaussians(owner, weights, means, covs)
    actions = dict.fromkeys(ACTIONS, expected) | {"mixture": Gaussians(owner, weights, *_nearest(covs, draws))}
    return GaussianMixture(scales, target, len(number), size, actions, draws)


def draw_labels(shares: FloatArray, rng: PublicRng) -> FloatArray:
    """One label of every record by its shares, as a row of zeros and a one."""
    reached = shares.cumsum(axis=1)
    label = (rng.random(len(shares))[:, None] * reached[:, -1:] >= reached).sum(axis=1)
    drawn: FloatArray = np.eye(shares.shape[1])[np.minimum(label, shares.shape[1] - 1)]
    return drawn


def _nearest(covs: FloatArray, draws: Draws) -> tuple[FloatArray, FloatArray]:
    """Means and covariances nearest to the draws, class by class, floored by the covariances of the guesses."""
    even = np.full(len(draws.covs), 1 / len(draws.covs))
    found = []
    for k, cov in enumerate(covs):
        middle, *roots = np.linalg.cholesky(np.array([cov, *draws.covs[:, k]]))
        found.append(nearest_gaussian(even, draws.means[:, k], floor_roots(middle, np.array(roots))))
    nearest: FloatArray = np.array([one.cov for one in found])
    return np.array([one.mean for one in found]), (nearest + nearest.transpose(0, 2, 1)) / 2


def _started(counts: LeafCounts, columns: int) -> FloatArray:
    """Shares of the classes in every leaf: few labels explain a leaf, and every class has a leaf to start from."""
    leaves, classes = counts.table.shape
    records = np.bincount(counts.leaf, minlength=leaves).astype(np.float64)
    price = np.log(leaves * classes) + 1
    start = np.array(
        [explain_row(row, total, counts.noise, price) for row, total in zip(counts.table, records, strict=True)]
    )
    for k in range(classes):
        if start[:, k].sum() < columns + 2:
            at = int(np.argmax(counts.table[:, k] / np.sqrt(records + 1.0)))
            taken = min(max(counts.table[at, k], columns + 2.0), records[at] / 2)
            start[at] *= (records[at] - taken) / max(records[at], 1e-9)
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
