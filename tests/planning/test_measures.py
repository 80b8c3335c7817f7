"""What simulations measure, against slow and obvious versions."""

import itertools

import numpy as np
import pytest

from sfumato.planning.measures import area_under_curve, score_prediction, total_variation

RNG = np.random.default_rng(5)


def test_the_area_is_the_chance_that_a_hit_scores_higher():
    scores, hits = RNG.integers(0, 9, 60).astype(float), RNG.random(60) < 0.4
    pairs = [(x > y) + (x == y) / 2 for x in scores[hits] for y in scores[~hits]]
    assert area_under_curve(scores, hits) == pytest.approx(np.mean(pairs))


def test_two_classes_and_three_as_the_public_library_scores_them():
    metrics = pytest.importorskip("sklearn.metrics")
    truth = RNG.integers(0, 3, 300).astype(float)
    predicted = RNG.dirichlet(np.ones(3), 300) + 0.3 * np.eye(3)[truth.astype(int)]
    predicted /= predicted.sum(axis=1, keepdims=True)
    found = score_prediction(predicted, truth)
    pairs = []
    for one, other in itertools.combinations(range(3), 2):
        among = np.isin(truth, (one, other))
        part = predicted[among][:, [one, other]]
        part = part / part.sum(axis=1, keepdims=True)
        hit = truth[among] == one
        pairs.append((metrics.roc_auc_score(hit, part[:, 0]) + metrics.roc_auc_score(~hit, part[:, 1])) / 2)
    assert found == pytest.approx(np.mean(pairs))
    two = truth < 2
    assert score_prediction(predicted[two][:, :2], truth[two]) > 0.5


def test_numbers_by_r_squared_without_what_is_missing():
    truth = np.array([1.0, 2.0, np.nan, 4.0])
    assert score_prediction(truth, truth) == 1
    assert score_prediction(np.full(4, 7 / 3), truth) == pytest.approx(0)
    assert score_prediction(np.zeros(3), np.ones(3)) is None
    assert score_prediction(np.ones((3, 2)) / 2, np.zeros(3)) is None


def test_total_variation_counts_what_must_move():
    assert total_variation(np.array([0, 0, 1, 5]), np.array([0, 1, 1, 1, 0, 0, 5, 5])) == pytest.approx(0.125)
    assert total_variation(np.array([1]), np.array([2])) == 1
