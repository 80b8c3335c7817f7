"""Which public record has which label, from noisy sums over the records of each label. Post-processing.

Records x_i are public, and so is every vector that was summed. The probabilities r_ik of label k for record i minimise

    sum_i KL(r_i || p_i) / phi  +  sum over all answers |answer - sum_i r_ik v_k(x_i)|^2 / (2 noise^2)

with p_i by the present class Gaussians, which are then fitted to the r_i anew. phi is the overdispersion of labels
around p: 1 where classes lie apart or labels are as good as drawn from p, and far more where classes that overlap are
no Gaussians. Then answers count for more than shapes. The problem is convex; in its dual r_ik is in proportion to

    p_ik exp(pull_k of i's leaf + tilt_k v_k(x_i)).

Newton's steps go over one group of dual variables after the other: leaves, then the scores of class after class.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.public_rng import PublicRng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray


class Tuning(TuningConstants, group="mixture.label_guesses"):
    """See `sfumato.fitting.tuning`."""

    least_noise = 0.3  # below it sums are exact to rounding
    newton = 4
    longest = 3.0  # step of a dual variable
    settled = 1e-3
    most_dispersed = 1e3
    least_variance = 1e-5  # of a class, relative to that of the column


@dataclass(frozen=True)
class LeafCounts:
    """Noisy counts (leaves x classes), and the leaf of each record."""

    table: FloatArray
    leaf: IntArray
    noise: float


@dataclass(frozen=True)
class ClassScores:
    """Noisy sums (class by class) of the vectors of its records (records x width, another one for each class)."""

    values: tuple[FloatArray, ...]
    vectors: tuple[FloatArray, ...]
    noise: float


@dataclass(frozen=True)
class Answers:
    """All that was measured of the labels."""

    counts: LeafCounts
    scores: tuple[ClassScores, ...] = ()

    def with_noise(self, rng: PublicRng) -> "Answers":
        """The same with fresh noise of the same size on top."""
        counts = self.counts
        table = counts.table + counts.noise * rng.standard_normal(counts.table.shape)
        scores = tuple(
            replace(one, values=tuple(value + one.noise * rng.standard_normal(value.shape) for value in one.values))
            for one in self.scores
        )
        return Answers(replace(counts, table=table), scores)


class LabelGuesses:
    """Probabilities of the labels of public records (records x classes), and the dual variables behind them."""

    def __init__(self, records: FloatArray, answers: Answers, start: FloatArray) -> None:
        self._records = records
        self.shares = start
        self._pull = np.zeros(answers.counts.table.shape)
        self._tilts = [np.zeros(0) for _ in range(start.shape[1])]
        self.take(answers)

    def take(self, answers: Answers) -> None:
        """Go on with these answers, the earlier ones among them, from where the dual variables are."""
        counts = answers.counts
        rows = len(counts.leaf)
        self._leaf_noise = max(counts.noise, Tuning.least_noise)
        self._counts = counts
        self._members = csr_array(
            (np.ones(rows), (counts.leaf, np.arange(rows))), shape=(len(counts.table), rows)
        )  # leaves x records
        parts = [(one, max(one.noise, Tuning.least_noise)) for one in answers.scores]
        self._vectors = [_joined([one.vectors[k] / noise for one, noise in parts], rows) for k in self._classes]
        self._values = [np.concatenate([[], *(one.values[k] / noise for one, noise in parts)]) for k in self._classes]
        self._tilts = [
            np.concatenate([tilt, np.zeros(len(value) - len(tilt))])
            for tilt, value in zip(self._tilts, self._values, strict=True)
        ]

    def copy(self) -> "LabelGuesses":
        """One that can go on with other answers."""
        other = copy(self)
        other._pull, other._tilts = self._pull.copy(), [tilt.copy() for tilt in self._tilts]
        return other

    @property
    def impurity(self) -> float:
        """Gini's index, the mean over the records: 0 if every label is sure."""
        return float(1 - (self.shares**2).sum(axis=1).mean())

    @property
    def _has_scores(self) -> bool:
        return len(self._values[0]) > 0

    @property
    def _classes(self) -> range:
        return range(self.shares.shape[1])

    def settle(self, steps: int, *, near: bool = False) -> None:
        """Fit classes to the guesses and guesses to the answers in turn, until they stay.

        `near` says that they will not go far, so that the curvatures of the last step serve.
        """
        for _ in range(steps):
            before = self.shares
            log_fit = _log_classes(self._records, before)
            phi = self.overdispersion(shares_of(log_fit)) if self._has_scores else 1.0
            if not near:
                self._curve(before, 1 / phi)
            self.shares = self._solve(log_fit, phi)
            if np.abs(self.shares - before).max() < Tuning.settled:
                break

    def overdispersion(self, shares: FloatArray) -> float:
        """How many times the variance of labels drawn by these shares explains the answers: 1 at least.

        An answer with sum s of v and variance n of its noise has E (answer - s)^2 = n + phi sum_i r_i (1 - r_i) v_i^2;
        answers count by the inverse square of what is expected at phi = 1.
        """
        spread = shares * (1 - shares)
        noise = self._leaf_noise**2
        off = [(((self._counts.table - self._members @ shares) ** 2 - noise) / noise).ravel()]
        expected = [(self._members @ spread / noise).ravel()]
        for k in self._classes:
            off.append((self._values[k] - self._vectors[k].T @ shares[:, k]) ** 2 - 1)
            expected.append(spread[:, k] @ self._vectors[k] ** 2)
        excess, variance = np.concatenate(off), np.concatenate(expected)
        weight = (1 + variance) ** -2
        return float(np.clip(weight @ excess / max(weight @ variance, 1e-9), 1.0, Tuning.most_dispersed))

    def _curve(self, shares: FloatArray, variance: float) -> None:
        """Factors of the curvature of each class's scores at these shares."""
        self._curvatures = []
        for vectors, share in zip(self._vectors, shares.T, strict=True):
            curvature = (vectors.T * (share * (1 - share))) @ vectors
            curvature[np.diag_indices(len(curvature))] += variance
            self._curvatures.append(cho_factor(curvature) if len(curvature) else curvature)

    def _solve(self, log_fit: FloatArray, phi: float) -> FloatArray:
        """Probabilities for classes of these logarithms (records x classes)."""
        log_now = log_fit + self._pull[self._counts.leaf]
        for k in self._classes:
            log_now[:, k] += self._vectors[k] @ self._tilts[k]
        for _ in range(Tuning.newton):
            longest = self._move_leaves(log_now, self._leaf_noise**2 / phi)
            if self._has_scores:
                longest = max(longest, self._move_tilts(log_now, 1 / phi))
            if longest < Tuning.settled:
                break
        return shares_of(log_now)

    def _move_leaves(self, log_now: FloatArray, variance: float) -> float:
        """One step of the dual variables of every leaf; how long it was."""
        now = shares_of(log_now)
        rows, classes = now.shape
        total = self._members @ now
        curvature = -(self._members @ (now[:, :, None] * now[:, None, :]).reshape(rows, -1))
        curvature = curvature.reshape(-1, classes, classes)
        curvature[:, self._classes, self._classes] += total + variance
        side = self._counts.table - total - variance * self._pull
        step = np.linalg.solve(curvature, side[:, :, None])[:, :, 0]
        step = np.clip(step, -Tuning.longest, Tuning.longest)
        self._pull += step
        log_now += step[self._counts.leaf]
        return float(np.abs(step).max())

    def _move_tilts(self, log_now: FloatArray, variance: float) -> float:
        """One step of the dual variables of the scores, class after class; how long the longest was."""
        top = log_now.max(axis=1, keepdims=True)
        weights = np.exp(log_now - top)
        total, longest = weights.sum(axis=1), 0.0
        for k in self._classes:
            vectors, share = self._vectors[k], weights[:, k] / total
            side = self._values[k] - vectors.T @ share - variance * self._tilts[k]
            step = cho_solve(self._curvatures[k], side)
            along = vectors @ step
            length = float(np.abs(along).max())
            if length > Tuning.longest:
                step, along = (part * (Tuning.longest / length) for part in (step, along))
            self._tilts[k] += step
            log_now[:, k] += along
            moved = weights[:, k] * np.exp(along)
            total += moved - weights[:, k]
            weights[:, k] = moved
            longest = max(longest, length)
        return longest


def _joined(parts: Sequence[FloatArray], rows: int) -> FloatArray:
    return np.concatenate([np.zeros((rows, 0)), *parts], axis=1)


def shares_of(logs: FloatArray) -> FloatArray:
    """Probabilities, row by row, from logarithms."""
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: FloatArray = powers / powers.sum(axis=1, keepdims=True)
    return shares


def class_moments(records: FloatArray, guesses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Counts, means and covariances of the classes by weighed records; a class without any gets those of all."""
    number = guesses.sum(axis=0) + 1e-9
    means = (guesses.T @ records + 1e-9 * records.mean(axis=0)) / number[:, None]
    floor = np.diag(records.var(axis=0) * Tuning.least_variance + 2.0**-48)
    covs = np.empty((len(number), records.shape[1], records.shape[1]))
    for k, (mean, mine) in enumerate(zip(means, guesses.T, strict=True)):
        away = records - mean
        covs[k] = (mine[:, None] * away).T @ away / max(number[k] - 1, 0.5) + floor
    return number, means, (covs + covs.transpose(0, 2, 1)) / 2


def pooled_moments(records: FloatArray, guesses: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The moments of the classes; one of few records has the covariance of all classes together."""
    number, means, covs = class_moments(records, guesses)
    few = number < records.shape[1] + 3
    if few.any():
        covs[few] = np.einsum("k,kab->ab", number, covs) / number.sum()
    return number, means, covs


def _log_classes(records: FloatArray, guesses: FloatArray) -> FloatArray:
    """log of count times density of every class."""
    number, means, covs = pooled_moments(records, guesses)
    gaussians = Gaussians(np.arange(len(number)), np.full(len(number), 1 / len(number)), means, covs)
    return gaussians.log_joint(records, np.arange(records.shape[1])) + np.log(np.maximum(number, 0.1))
