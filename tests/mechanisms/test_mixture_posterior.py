"""What is known of one class, against slow and obvious versions: differences, grids, and answers without noise."""

import numpy as np
import pytest
from scipy.linalg import expm

from sfumato.fitting.mechanisms.mixture.design import build_design
from sfumato.fitting.mechanisms.mixture.expectation import expected_score
from sfumato.fitting.mechanisms.mixture.posterior import ClassPosterior, Prior, Score
from sfumato.fitting.mechanisms.mixture.symmetric import diagonal_of, root_near_columns, smat, svec
from sfumato.fitting.models.gaussian_mixture.gaussians import gaussian_kl
from sfumato.fitting.public_rng import public_rng
from sfumato.trusted.feature_maps import Whitening

COUNT = 2_000.0


def truth(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of a class."""
    rng = np.random.default_rng(d)
    root = 0.06 * (np.eye(d) + 0.4 * np.tri(d, k=-1)) * rng.uniform(0.7, 1.4, (d, 1))
    return rng.uniform(0.4, 0.6, d), root @ root.T


def a_posterior(d: int, noise: float, *, kind: str = "hampel", seed: int | None = None) -> ClassPosterior:
    """A class after rough waves and one round of scores with noise in units of a record's norm."""
    mean, cov = truth(d)
    prior = Prior(
        COUNT, 20 * noise, mean + 0.01, np.full(d, 0.02**2), np.log(np.diag(cov)) / 2 + 0.1, np.full(d, 0.3**2)
    )
    wide = 1.3 * cov + 1e-4 * np.eye(d)
    values, vectors = np.linalg.eigh(wide)
    one = build_design(kind, Whitening.of((vectors / np.sqrt(values)) @ vectors.T, mean + 0.01), COUNT, 1 / noise)
    answer = COUNT * expected_score(one, mean[None], np.linalg.cholesky(cov)[None])[0]
    if seed is not None:
        answer = answer + noise * np.random.default_rng(seed).standard_normal(len(answer))
    return ClassPosterior(prior, [Score(one, answer, noise)])


def surprise(posterior: ClassPosterior, theta: np.ndarray) -> float:
    """Minus the log posterior as the module's first lines have it, at local coordinates."""
    d, prior = posterior.dimension, posterior.prior
    count, mean = posterior.count * np.exp(theta[0]), posterior.mean + posterior.root @ theta[1 : 1 + d]
    root = posterior.root @ expm(smat(theta[1 + d :]) / 2)
    cov = root @ root.T
    sd = np.sqrt(np.diag(cov))
    total = 0.5 * ((prior.count - count) / prior.count_sd) ** 2
    total += 0.5 * ((prior.mean - mean) ** 2 / prior.mean_var).sum()
    total += 0.5 * ((prior.log_sd - np.log(sd)) ** 2 / prior.log_sd_var).sum()
    for one, value, noise in posterior.scores:
        total += 0.5 * ((value - count * expected_score(one, mean[None], root[None])[0]) ** 2).sum() / noise**2
    return total - (d + 1) / 2 * np.linalg.slogdet(cov / np.outer(sd, sd))[1]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_point_is_the_exponential_of_its_coordinates(d):
    posterior = a_posterior(d, 3.0)
    theta = 0.4 * np.random.default_rng(0).standard_normal((3, len(posterior.laplace)))
    points = posterior.at(theta)
    for one, count, mean, root, volume in zip(theta, *points[:4], strict=True):
        moved = posterior.root @ expm(smat(one[1 + d :])) @ posterior.root.T
        assert np.allclose(root @ root.T, moved, rtol=1e-10)
        assert count == pytest.approx(posterior.count * np.exp(one[0]))
        assert np.allclose(mean, posterior.mean + posterior.root @ one[1 : 1 + d])
        assert volume == pytest.approx(np.trace(smat(one[1 + d :])))


@pytest.mark.parametrize("d", [2, 3])
def test_the_bend_is_the_volume_of_the_exponential(d):
    """|d svec exp(E) / d svec E| = bend |exp E|^((d+1)/2), by differences."""
    posterior = ClassPosterior(Prior(9.0, 1.0, np.full(d, 0.5), np.ones(d), np.zeros(d), np.ones(d)))
    size = d * (d + 1) // 2
    place = np.random.default_rng(1).standard_normal(size)
    jacobian = np.column_stack(
        [(svec(expm(smat(place + 1e-5 * one))) - svec(expm(smat(place - 1e-5 * one)))) / 2e-5 for one in np.eye(size)]
    )
    points = posterior.at(np.concatenate([np.zeros(1 + d), place])[None])
    expected = np.linalg.slogdet(jacobian)[1] - (d + 1) / 2 * np.trace(smat(place))
    assert points.bends[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["hampel", "lift"])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_mode_is_where_the_log_posterior_is_flat(kind, d):
    posterior = a_posterior(d, 5.0, kind=kind, seed=1)
    posterior.solve(60)
    here = surprise(posterior, np.zeros(len(posterior.laplace)))
    steps = np.sqrt(np.diag(posterior.laplace))
    slopes = []
    for step, axis in zip(steps, np.eye(len(steps)), strict=True):
        above, below = (surprise(posterior, sign * 0.1 * step * axis) for sign in (1, -1))
        slopes.append((above - below) / 0.2)  # per deviation of the posterior
        assert min(above, below) > here - 1e-3
    assert np.abs(slopes).max() < 0.02


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_curvature_at_the_mode_is_that_of_the_log_posterior(d):
    """Gauss and Newton leave out the curvature of the scores, which is small where the noise is small."""
    posterior = a_posterior(d, 0.5)
    posterior.solve(60)
    precision = np.linalg.inv(posterior.laplace)
    rng, here = np.random.default_rng(0), surprise(posterior, np.zeros(len(precision)))
    for _ in range(5):
        move = 0.3 * np.linalg.cholesky(posterior.laplace) @ rng.standard_normal(len(precision))
        both = surprise(posterior, move) + surprise(posterior, -move) - 2 * here
        assert both == pytest.approx(move @ precision @ move, rel=0.05)


@pytest.mark.parametrize("kind", ["hampel", "lift"])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_answers_without_noise_give_the_moments_back(kind, d):
    posterior = a_posterior(d, 1e-3, kind=kind)
    posterior.solve(60)
    mean, cov = truth(d)
    assert posterior.count == pytest.approx(COUNT, rel=1e-4)
    assert gaussian_kl(posterior.mean, posterior.cov, mean, cov) < 1e-6
    assert posterior.expected_kl() < 1e-3


def test_without_scores_the_mode_is_what_the_waves_say():
    posterior = ClassPosterior(Prior(50.0, 5.0, np.array([0.3, 0.7]), np.full(2, 1e-4), np.full(2, -3.0), np.ones(2)))
    posterior.solve(20)
    assert posterior.count == pytest.approx(50.0, rel=0.02)
    assert np.allclose(posterior.mean, [0.3, 0.7], atol=1e-4)
    assert np.allclose(posterior.cov, np.exp(-6) * np.eye(2), rtol=0.05)


def test_draws_are_those_of_a_grid():
    """One column, so that the posterior of log n, mean and log variance fits on a grid."""
    posterior = a_posterior(1, 60.0, seed=2)
    posterior.solve(60)
    sd = np.sqrt(np.diag(posterior.laplace))
    axes = [np.linspace(-5 * one, 5 * one, 19) for one in sd]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    log = -np.array([surprise(posterior, theta) for theta in grid])
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    weights, counts, means, roots = posterior.draw(public_rng(1), 20_000)
    drawn = np.column_stack(
        [
            np.log(counts / posterior.count),
            (means[:, 0] - posterior.mean[0]) / posterior.root[0, 0],
            2 * np.log(roots[:, 0, 0] / posterior.root[0, 0]),
        ]
    )
    assert weights.sum() == pytest.approx(1)
    middle, expected = weights @ drawn, mass @ grid
    assert np.abs((middle - expected) / sd).max() < 0.06
    spread = np.sqrt(weights @ (drawn - middle) ** 2)
    assert np.allclose(spread, np.sqrt(mass @ (grid - expected) ** 2), rtol=0.06)


@pytest.mark.parametrize("d", [2, 10])
def test_draws_spread_as_the_laplace_approximation_where_noise_is_small(d):
    """Two columns are drawn by importance, ten by chains."""
    posterior = a_posterior(d, 2.0)
    posterior.solve(60)
    weights, counts, means, _ = posterior.draw(public_rng(0), 4_000)
    z = (means - posterior.mean) @ np.linalg.inv(posterior.root).T
    seen = weights @ (z - weights @ z) ** 2
    assert np.allclose(seen / np.diag(posterior.laplace)[1 : 1 + d], 1, atol=0.15 if d == 2 else 0.6)
    assert weights @ np.log(counts / posterior.count) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("d", [1, 3])
def test_the_action_loses_least_under_the_posterior(d):
    posterior = a_posterior(d, 150.0, seed=3)
    posterior.solve(60)
    assert not posterior.certain
    draws = posterior.draw(public_rng(7), 400)
    action = posterior.action(draws)
    weights, counts, means, _ = draws
    roots = posterior.believed(draws.roots)
    covs = roots @ roots.transpose(0, 2, 1)

    def loss(mean: np.ndarray, cov: np.ndarray) -> float:
        return float(weights @ [gaussian_kl(mean, cov, *one) for one in zip(means, covs, strict=True)])

    def wide_loss(mean: np.ndarray, cov: np.ndarray) -> float:
        return float(weights @ [gaussian_kl(*one, mean, cov) for one in zip(means, covs, strict=True)])

    assert action.count == pytest.approx(np.exp(weights @ np.log(counts)))
    assert action.expected_kl == pytest.approx(loss(action.mean, action.cov))
    wide = (action.wide_mean, action.wide_cov)
    rng = np.random.default_rng(0)
    for _ in range(10):
        off = 0.05 * rng.standard_normal(d)
        turn = np.eye(d) + 0.05 * rng.standard_normal((d, d))
        for lost, (mean, cov) in ((loss, (action.mean, action.cov)), (wide_loss, wide)):
            assert lost(mean, cov) <= lost(mean + np.sqrt(np.diag(cov)) * off, turn @ cov @ turn.T)
    assert np.linalg.slogdet(action.wide_cov)[1] > np.linalg.slogdet(action.cov)[1]


@pytest.mark.parametrize("rough", [True, False])
def test_a_whitening_is_near_the_class_and_no_narrower(rough):
    posterior = a_posterior(3, 5.0)
    posterior.solve(60)
    centre, scale = posterior.whitening(public_rng(0), rough)
    mean, cov = truth(3)
    assert gaussian_kl(mean, cov, centre, scale) < 0.02


@pytest.mark.parametrize("d", [1, 2, 5])
def test_symmetric_matrices_as_vectors_keep_their_products(d):
    rng = np.random.default_rng(d)
    one, other = (part + part.T for part in rng.standard_normal((2, d, d)))
    assert svec(one) @ svec(other) == pytest.approx(np.trace(one @ other))
    assert np.allclose(smat(svec(one)), one)
    assert np.array_equal(svec(np.eye(d)) == 1, diagonal_of(d))


def test_a_root_near_columns_leaves_them_alone_where_they_are_apart():
    cov = truth(3)[1]
    root = root_near_columns(cov)
    assert np.allclose(root @ root.T, cov)
    assert np.allclose(root_near_columns(np.diag([1.0, 4.0, 9.0])), np.diag([1.0, 2.0, 3.0]))


def test_variances_far_below_the_mode_are_not_believed():
    posterior = a_posterior(2, 150.0, seed=3)
    posterior.solve(60)
    shares = np.array([[1.0, 4.0], [0.5, 1e-9]])
    believed = posterior.believed(posterior.root * np.sqrt(shares)[:, None, :])
    relative = np.linalg.inv(posterior.root) @ believed
    seen = np.linalg.eigvalsh(relative @ relative.transpose(0, 2, 1))
    assert np.allclose(seen, [[1.0, 4.0], [np.exp(-2), 0.5]])
