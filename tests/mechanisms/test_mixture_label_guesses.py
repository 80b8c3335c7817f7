"""Guesses of labels against a slow solution of the problem that the module states."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sfumato.fitting.mechanisms.mixture.label_guesses import (
    Answers,
    ClassScores,
    LabelGuesses,
    LeafCounts,
    class_moments,
    shares_of,
)
from sfumato.fitting.mechanisms.mixture.label_table import _Table
from sfumato.fitting.public_rng import public_rng

ROWS, CLASSES, LEAVES = 12, 3, 2


def a_problem(seed: int) -> tuple[np.ndarray, Answers]:
    rng = np.random.default_rng(seed)
    records = rng.normal(0.5, 0.1, (ROWS, 2))
    leaf = (np.arange(ROWS) % LEAVES).astype(np.int64)
    table = rng.uniform(0, 4, (LEAVES, CLASSES))
    vectors = tuple(rng.standard_normal((ROWS, 2)) for _ in range(CLASSES))
    values = tuple(rng.standard_normal(2) for _ in range(CLASSES))
    return records, Answers(LeafCounts(table, leaf, 1.5), (ClassScores(values, vectors, 0.8),))


def cost(shares: np.ndarray, fit: np.ndarray, answers: Answers, phi: float) -> float:
    """The first lines of the module."""
    counts, (scores,) = answers.counts, answers.scores
    total = (shares * np.log(shares / fit)).sum() / phi
    for leaf in range(LEAVES):
        total += ((counts.table[leaf] - shares[counts.leaf == leaf].sum(axis=0)) ** 2).sum() / (2 * counts.noise**2)
    for k in range(CLASSES):
        total += ((scores.values[k] - shares[:, k] @ scores.vectors[k]) ** 2).sum() / (2 * scores.noise**2)
    return float(total)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("phi", [1.0, 5.0])
def test_guesses_solve_the_problem(seed, phi):
    records, answers = a_problem(seed)
    log_fit = np.random.default_rng(100 + seed).standard_normal((ROWS, CLASSES))
    guesses = LabelGuesses(records, answers, np.full((ROWS, CLASSES), 1 / CLASSES))
    for _ in range(40):
        guesses._curve(guesses.shares, 1 / phi)
        guesses.shares = guesses._solve(log_fit, phi)
    fit = shares_of(log_fit)
    slow = minimize(
        lambda logs: cost(shares_of(logs.reshape(ROWS, CLASSES)), fit, answers, phi), log_fit.ravel(), method="BFGS"
    )
    assert cost(guesses.shares, fit, answers, phi) == pytest.approx(slow.fun, rel=1e-3)
    assert np.allclose(guesses.shares, shares_of(slow.x.reshape(ROWS, CLASSES)), atol=0.02)


def test_labels_that_the_shares_explain_are_not_overdispersed():
    rng = np.random.default_rng(0)
    rows, leaves = 20_000, 50
    shares = shares_of(rng.standard_normal((rows, 2)))
    leaf = rng.integers(0, leaves, rows)
    label = (rng.random(rows) < shares[:, 1]).astype(np.int64)
    table = np.array([np.bincount(label[leaf == one], minlength=2) for one in range(leaves)], dtype=float)
    guesses = LabelGuesses(rng.random((rows, 2)), Answers(LeafCounts(table, leaf, 1.0)), shares)
    assert guesses.overdispersion(shares) < 2
    assert guesses.overdispersion(np.tile([0.9, 0.1], (rows, 1))) > 10


def test_fresh_noise_is_of_the_stated_size():
    records, answers = a_problem(0)
    rng = public_rng(0)
    moved = [answers.with_noise(rng) for _ in range(400)]
    assert np.std([one.counts.table - answers.counts.table for one in moved]) == pytest.approx(1.5, rel=0.1)
    assert np.std([one.scores[0].values[0] - answers.scores[0].values[0] for one in moved]) == pytest.approx(
        0.8, rel=0.1
    )
    assert len(records) == len(answers.counts.leaf)


def test_sure_guesses_are_pure():
    records, answers = a_problem(0)
    sure = np.eye(CLASSES)[np.arange(ROWS) % CLASSES]
    assert LabelGuesses(records, answers, sure).impurity == 0
    even = np.full((ROWS, CLASSES), 1 / CLASSES)
    assert LabelGuesses(records, answers, even).impurity == pytest.approx(1 - 1 / CLASSES)


def test_two_answers_to_one_question_count_by_precision():
    both = _Table(np.array([[1.0]]), 1.0).averaged(_Table(np.array([[4.0]]), 0.5))
    assert both.values[0, 0] == pytest.approx((1 + 4 * 4) / 5)
    assert both.noise == pytest.approx(5**-0.5)


def test_moments_weigh_records_by_their_guesses():
    rng = np.random.default_rng(3)
    records, label = rng.random((200, 3)), rng.integers(0, 2, 200)
    number, means, covs = class_moments(records, np.eye(2)[label])
    for k in (0, 1):
        mine = records[label == k]
        assert number[k] == pytest.approx(len(mine))
        assert np.allclose(means[k], mine.mean(axis=0))
        assert np.allclose(covs[k], np.cov(mine.T), atol=1e-5)
