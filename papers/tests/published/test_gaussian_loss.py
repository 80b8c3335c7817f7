"""The exact curve between two Gaussians: where the covariances agree, by slow integration, and by drawing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from sfumato_papers.liu.attack import hockey_stick
from sfumato_papers.liu.gaussian_loss import GaussianLoss

from sfumato.trusted.budget import delta_of, epsilon_of


def some(seed: int, dimensions: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    spreads = [rows.T @ rows for rows in rng.standard_normal((2, dimensions + 2, dimensions))]
    return rng.standard_normal(dimensions), spreads[0], rng.standard_normal(dimensions), spreads[1]


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_equal_covariances_have_the_curve_of_the_gaussian_mechanism(mu, epsilon):
    spread = some(0)[1]
    shift = mu * np.linalg.cholesky(spread) @ np.array([0.6, 0.0, 0.8])
    loss = GaussianLoss.between(shift, spread, np.zeros(3), spread)
    assert loss.delta(epsilon) == pytest.approx(delta_of(epsilon, mu), rel=1e-6, abs=1e-300)
    assert loss.epsilon(1e-5) == pytest.approx(epsilon_of(mu, 1e-5), rel=1e-5)
    assert loss.divergence == pytest.approx(mu**2 / 2)


def by_integration(mean: float, spread: float, other_mean: float, other_spread: float, epsilon: float) -> float:
    """The integral of max(0, p - e^epsilon p') over the line."""
    here, there = norm(mean, spread), norm(other_mean, other_spread)
    ends = (mean - 12 * spread, mean + 12 * spread)
    places = np.linspace(*ends, 2_001)
    above = here.logpdf(places) - there.logpdf(places) - epsilon
    edges = places[:-1][np.diff(np.sign(above)) != 0]
    area = quad(
        lambda x: max(0.0, here.pdf(x) - np.exp(epsilon) * there.pdf(x)), *ends, points=edges, limit=2_000, epsabs=1e-13
    )
    return float(area[0])


@pytest.mark.parametrize(
    ("mean", "spread", "other_mean", "other_spread"), [(0.0, 1.0, 0.3, 1.5), (0.0, 1.5, 0.3, 1.0), (1.0, 2.0, 0.0, 1.9)]
)
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
def test_one_dimension_is_what_integration_finds(mean, spread, other_mean, other_spread, epsilon):
    place, other_place = np.array([mean]), np.array([other_mean])
    loss = GaussianLoss.between(place, np.array([[spread**2]]), other_place, np.array([[other_spread**2]]))
    expected = by_integration(mean, spread, other_mean, other_spread, epsilon)
    assert loss.delta(epsilon) == pytest.approx(expected, rel=1e-3, abs=1e-10)


def drawn_losses(loss: GaussianLoss, seed: int, count: int) -> np.ndarray:
    z = np.random.default_rng(seed).standard_normal((count, len(loss.slopes)))
    return loss.constant + z @ loss.slopes + z**2 @ loss.bends / 2


@pytest.mark.parametrize("seed", range(4))
def test_many_dimensions_are_what_drawing_finds(seed):
    loss = GaussianLoss.between(*some(seed))
    drawn = drawn_losses(loss, seed, 200_000)
    for epsilon in (0.0, 0.5, 2.0, 8.0):
        assert loss.delta(epsilon) == pytest.approx(hockey_stick(drawn, epsilon), abs=5e-3)


def test_the_loss_is_the_ratio_of_the_densities():
    mean, spread, other_mean, other_spread = some(5)
    x = multivariate_normal(mean, spread).rvs(100_000, random_state=6)
    ratios = multivariate_normal(mean, spread).logpdf(x) - multivariate_normal(other_mean, other_spread).logpdf(x)
    loss = GaussianLoss.between(mean, spread, other_mean, other_spread)
    drawn = drawn_losses(loss, 7, 100_000)
    assert np.allclose(*(np.quantile(each, [0.1, 0.5, 0.9]) for each in (ratios, drawn)), rtol=0.05, atol=0.02)
    assert loss.divergence == pytest.approx(ratios.mean(), rel=0.02)


def test_independent_losses_add_up():
    """Two blocks at once are one Gaussian of block-diagonal covariance."""
    one, two = some(8), some(9)
    zero = np.zeros((3, 3))
    whole = GaussianLoss.between(
        np.concatenate((one[0], two[0])),
        np.block([[one[1], zero], [zero, two[1]]]),
        np.concatenate((one[2], two[2])),
        np.block([[one[3], zero], [zero, two[3]]]),
    )
    parts = GaussianLoss.between(*one) + GaussianLoss.between(*two)
    for epsilon in (0.1, 3.0):
        assert parts.delta(epsilon) == pytest.approx(whole.delta(epsilon), rel=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.floats(0.01, 30), st.floats(0.01, 30))
def test_delta_falls_and_epsilon_undoes_it(seed, dimensions, one, two):
    loss = GaussianLoss.between(*some(seed, dimensions))
    low, high = sorted((one, two))
    assert 0 <= loss.delta(high) <= loss.delta(low) * (1 + 1e-3) <= 1.001
    if 1e-9 < loss.delta(low) < 0.5:
        assert loss.epsilon(loss.delta(low)) == pytest.approx(low, rel=1e-2)


def test_a_narrower_gaussian_has_a_largest_loss():
    """p of variance 1/4 against p' of variance 1, both at 0: L is largest at 0, ln 2."""
    loss = GaussianLoss.between(np.zeros(1), np.eye(1) / 4, np.zeros(1), np.eye(1))
    assert loss.most == pytest.approx(np.log(2))
    assert loss.delta(0.5) > 0
    assert loss.delta(0.7) == loss.delta(50.0) == 0
    assert loss.epsilon(1e-12) <= np.log(2)


def test_no_difference_costs_nothing():
    mean, spread, _, _ = some(10)
    assert GaussianLoss.between(mean, spread, mean, spread).epsilon(1e-5) == 0
