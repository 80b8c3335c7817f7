"""Low rank plus diagonal against the same Gaussians written out as full matrices."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians, gaussian_kl
from sfumato.fitting.models.subspace.maths import LowRankGaussians, draw_stratified, log_normals

D, R, K = 7, 3, 4
EVERY = np.arange(D)


def low_rank(seed=0, directions=R):
    rng = np.random.default_rng(seed)
    return LowRankGaussians(
        rng.dirichlet(np.full(K, 3.0)),
        rng.uniform(0.2, 0.8, (K, D)),
        rng.standard_normal((D, directions)),
        0.3 * rng.standard_normal((K, directions)),
        0.2 * rng.standard_normal((K, directions, directions)),
        rng.uniform(0.01, 0.1, D),
    )


def dense(law):
    """The same law with its covariances written out."""
    middles = np.array([mean + law.basis @ centre for mean, centre in zip(law.means, law.centres, strict=True)])
    covs = [law.basis @ root @ root.T @ law.basis.T + np.diag(law.residual) for root in law.roots]
    return Gaussians(np.arange(K), law.weights, middles, np.array(covs))


@pytest.fixture(params=[R, 0, 9], ids=["few directions", "none", "more than columns"])
def law(request):
    return low_rank(directions=request.param)


@pytest.fixture
def records():
    return np.random.default_rng(1).uniform(0, 1, (20, D))


@pytest.mark.parametrize("columns", [EVERY, np.array([5, 0, 2]), np.array([3]), np.array([], dtype=np.int64)], ids=len)
def test_the_density_of_any_columns(law, records, columns):
    full = dense(law)
    slowly = np.array(
        [
            multivariate_normal(mean[columns], cov[np.ix_(columns, columns)]).logpdf(records[:, columns])
            if len(columns)
            else np.zeros(len(records))
            for mean, cov in zip(full.means, full.covs, strict=True)
        ]
    ).T
    found = law.log_joint(records[:, columns], columns)
    assert found.shape == (20, K)
    assert np.allclose(found, np.log(law.weights) + slowly)


def test_moments_of_a_column(law):
    full = dense(law)
    assert np.allclose(law.middles, full.means)
    assert np.allclose(law.sds, full.sds)
    mean, cov = full.moments()
    for i, j in ((0, 0), (1, 4), (6, 2)):
        assert law.covariance(i, j) == pytest.approx(cov[i, j])
        assert law.between(i) == pytest.approx(full.weights @ (full.means[:, i] - mean[i]) ** 2)
        one = law.of_column(i)
        places = np.linspace(-1, 2, 7)
        assert np.allclose(one.means, full.means[:, i])
        assert np.allclose(one.cdf(places), full.cdf(i, places))
        slowly = norm.pdf(places[:, None], full.means[:, i], full.sds[:, i]) @ full.weights
        assert np.allclose(np.exp(one.log_pdf(places)), slowly)


def test_given_values_it_is_the_schur_complement(law):
    """Of the other columns: mean a + C_ab C_bb^-1 (x - b), covariance C_aa - C_ab C_bb^-1 C_ba."""
    full, known, rest = dense(law), np.array([4, 1]), np.array([0, 2, 3, 5, 6])
    x = np.array([0.3, 0.9])
    given = law.given(x, known)
    heights = []
    for c, (mean, cov) in enumerate(zip(full.means, full.covs, strict=True)):
        slope = cov[np.ix_(rest, known)] @ np.linalg.inv(cov[np.ix_(known, known)])
        assert np.allclose(given.middles[c, rest], mean[rest] + slope @ (x - mean[known]))
        left = cov[np.ix_(rest, rest)] - slope @ cov[np.ix_(known, rest)]
        assert np.allclose(dense(given).covs[c][np.ix_(rest, rest)], left)
        heights.append(multivariate_normal(mean[known], cov[np.ix_(known, known)]).pdf(x))
    assert np.allclose(given.weights, law.weights * heights / (law.weights @ heights))


def test_values_may_be_given_one_by_one(law, records):
    x, known = records[0], np.array([6, 0, 3])
    together, step_by_step = law.given(x[known], known), law
    for column in known:
        step_by_step = step_by_step.given(x[[column]], np.array([column]))
    assert np.allclose(together.weights, step_by_step.weights)
    assert np.allclose(together.middles, step_by_step.middles)
    assert np.allclose(dense(together).covs, dense(step_by_step).covs)


def test_a_class_without_weight_keeps_none(law):
    weights = np.array([0.0, 0.5, 0.5, 0.0])
    given = replace(law, weights=weights).given(np.array([0.2]), np.array([1]))
    assert given.weights[[0, 3]].tolist() == [0, 0]
    assert given.weights.sum() == pytest.approx(1)


def test_the_divergence_of_every_class(law):
    rng = np.random.default_rng(5)
    other = replace(low_rank(1, law.basis.shape[1]), residual=rng.uniform(0.01, 0.1, D))
    one, two = dense(law), dense(other)
    slowly = [gaussian_kl(*parts) for parts in zip(one.means, one.covs, two.means, two.covs, strict=True)]
    assert np.allclose(law.kl(other), slowly)
    assert np.allclose(law.kl(law), 0, atol=1e-9)


def test_draws_have_the_moments(law):
    owner = np.repeat(np.arange(K), 20_000)
    drawn = law.draw(owner, np.random.default_rng(3))
    assert drawn.shape == (len(owner), D)
    full = dense(law)
    for c in range(K):
        mine = drawn[owner == c].astype(np.float64)
        assert np.allclose(mine.mean(axis=0), full.means[c], atol=5 * full.sds[c].max() / np.sqrt(len(mine)))
        assert np.allclose(np.cov(mine.T), full.covs[c], atol=0.05 * full.covs[c].diagonal().max())


def test_a_residual_of_nothing_is_not_drawn():
    law = replace(low_rank(), residual=np.where(EVERY == 2, 0.5, 0.0))
    drawn = law.draw(np.zeros(500, dtype=np.int64), np.random.default_rng(0)).astype(np.float64) - law.middles[0]
    inside = law.basis[EVERY != 2]
    u = np.linalg.lstsq(inside, drawn[:, EVERY != 2].T, rcond=None)[0]
    assert np.allclose(inside @ u, drawn[:, EVERY != 2].T, atol=1e-5)
    assert np.std(drawn[:, 2] - law.basis[2] @ u) == pytest.approx(np.sqrt(0.5), rel=0.15)


def test_normal_laws_in_the_subspace(law):
    rng = np.random.default_rng(2)
    directions = law.basis.shape[1]
    u = rng.standard_normal((6, directions))
    if not directions:
        assert np.array_equal(log_normals(u, law.centres, law.roots), np.zeros((6, K)))
        return
    slowly = [
        multivariate_normal(centre, root @ root.T).logpdf(u)
        for centre, root in zip(law.centres, law.roots, strict=True)
    ]
    assert np.allclose(log_normals(u, law.centres, law.roots), np.array(slowly).T)


@pytest.mark.parametrize("weights", [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.7, 0.3, 0.0]])
def test_classes_are_drawn_in_proportion(weights):
    owner = draw_stratified(np.array(weights), 1_000, np.random.default_rng(0))
    assert np.allclose(np.bincount(owner, minlength=3) / 1_000, weights, atol=0.0015)
    assert len(draw_stratified(np.array(weights), 0, np.random.default_rng(0))) == 0
