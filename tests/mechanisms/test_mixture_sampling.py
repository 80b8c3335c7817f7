"""Draws from densities whose moments are known."""

import numpy as np
import pytest

from sfumato.fitting.mechanisms.mixture.sampling import draw
from sfumato.fitting.public_rng import public_rng


@pytest.mark.parametrize("parameters", [1, 5, 45])
@pytest.mark.parametrize(("off", "wider"), [(0.0, 1.0), (0.3, 1.3)])
def test_a_normal_density_is_drawn_though_its_approximation_is_off(parameters, off, wider):
    """Few parameters by importance, 45 by chains."""
    weights, theta = draw(
        lambda theta: 0.5 * (((theta - off) / wider) ** 2).sum(axis=1), np.eye(parameters), public_rng(1), 4_000
    )
    assert weights.sum() == pytest.approx(1)
    mean = weights @ theta
    assert np.abs(mean - off).max() < (0.15 if parameters < 40 else 0.5)
    assert mean.mean() == pytest.approx(off, abs=0.1)
    spread = np.sqrt(weights @ (theta - mean) ** 2)
    assert spread.mean() == pytest.approx(wider, rel=0.1)


def test_a_skewed_density_is_drawn():
    """log of a gamma variable, whose mean and variance are known."""
    weights, theta = draw(lambda theta: (np.exp(theta) - 2 * theta).sum(axis=1), 0.5 * np.eye(1), public_rng(0), 4_000)
    mean = weights @ theta[:, 0]
    assert mean == pytest.approx(0.4228, abs=0.05)
    assert weights @ (theta[:, 0] - mean) ** 2 == pytest.approx(0.6449, rel=0.12)


def test_the_same_chance_draws_the_same():
    first, second = (draw(lambda theta: (theta**2).sum(axis=1), np.eye(3), public_rng(4), 100) for _ in range(2))
    assert np.array_equal(first.theta, second.theta)
    assert np.array_equal(first.weights, second.weights)
