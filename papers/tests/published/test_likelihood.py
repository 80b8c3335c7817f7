"""Likelihoods against those of scipy, and many releases at once against one."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import chisquare, kstest, multivariate_normal, norm, wishart
from sfumato_papers.liu import draw
from sfumato_papers.liu.draws import Draws, draws
from sfumato_papers.liu.likelihood import log_likelihood

from tests.published.making import planned, synthetic


@pytest.fixture(scope="module", params=["leave", "both"])
def case(request):
    return planned(*synthetic(0, records=300, classes=3), 1.0, request.param)


@pytest.fixture(scope="module")
def releases(case):
    return draws(np.random.default_rng(1), *case, 200)


def test_one_of_many_is_the_one_that_draw_gives(case):
    one, many = draw(np.random.default_rng(2), *case), draws(np.random.default_rng(2), *case, 1)
    assert np.array_equal(many.outcomes[0] / many.outcomes[0].sum(), one.weights)
    assert np.allclose(many.means[0], one.means)
    assert np.allclose(many.covariances[0], one.covariances)


def test_many_have_the_law_of_one(case):
    fitted, plan = case
    many = draws(np.random.default_rng(3), fitted, plan, 20_000)
    seen = (many.outcomes[:, None] == plan.outcomes).all(axis=2).sum(axis=0)
    assert chisquare(seen, 20_000 * plan.probabilities).pvalue > 1e-4
    for k in range(3):
        half = np.linalg.cholesky(plan.mean_covariances[k])
        z = np.linalg.solve(half, (many.means[:, k] - fitted.means[k]).T)
        assert kstest(z.ravel(), norm.cdf).pvalue > 1e-4
        added = many.covariances[:, k] - fitted.covariances[k]
        law = wishart(4, np.eye(3) / plan.gammas[k])
        assert np.allclose(added.mean(axis=0), law.mean(), atol=0.05 * law.mean()[0, 0])
        assert np.allclose(added.var(axis=0), law.var(), rtol=0.15)


def test_weights_have_the_probability_of_their_outcome(case, releases):
    _, plan = case
    table = dict(zip(map(tuple, plan.outcomes), plan.probabilities, strict=True))
    expected = [np.log(table[tuple(outcome)]) for outcome in releases.outcomes]
    assert np.allclose(log_likelihood(releases, *case).weights, expected)


def test_means_are_gaussian(case, releases):
    fitted, plan = case
    laws = [multivariate_normal(fitted.means[k], plan.mean_covariances[k]) for k in range(3)]
    expected = sum(law.logpdf(releases.means[:, k]) for k, law in enumerate(laws))
    assert np.allclose(log_likelihood(releases, *case).means, expected)


def test_covariances_are_wishart(case, releases):
    fitted, plan = case
    added = np.moveaxis(releases.covariances - fitted.covariances, 0, 3)
    expected = sum(wishart(4, np.eye(3) / plan.gammas[k]).logpdf(added[k]) for k in range(3))
    assert np.allclose(log_likelihood(releases, *case).covariances, expected)


def test_the_whole_is_the_sum_of_its_parts(case, releases):
    found = log_likelihood(releases, *case)
    assert np.allclose(found.all, found.weights + found.means + found.covariances)
    assert np.isfinite(found.all).all()


def test_weights_of_no_neighbour_are_impossible(case, releases):
    _, plan = case
    moved = dataclasses.replace(releases, outcomes=releases.outcomes + np.array([2, -1, -1]))
    inside = [any(np.array_equal(outcome, row) for row in plan.outcomes) for outcome in moved.outcomes]
    found = log_likelihood(moved, *case).weights
    assert np.array_equal(np.isfinite(found), inside)
    assert not all(inside)


def test_a_covariance_below_the_fit_in_any_direction_is_impossible(case):
    fitted, plan = case
    below = np.diag([5.0, 5.0, -1e-6])
    added = np.array([np.diag([5.0, 5.0, 1e-6]), below])
    for k in range(3):
        covariances = np.repeat(fitted.covariances[None] + np.eye(3), 2, axis=0)
        covariances[:, k] = fitted.covariances[k] + added
        same = np.repeat(fitted.means[None], 2, axis=0)
        found = log_likelihood(Draws(np.repeat(fitted.counts[None], 2, axis=0), same, covariances), fitted, plan)
        assert np.isfinite(found.covariances).tolist() == [True, False]
        assert np.isfinite(found.all).tolist() == [True, False]
