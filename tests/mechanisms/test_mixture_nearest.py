"""The Gaussian that is nearest to draws, against a search."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sfumato.fitting.mechanisms.mixture.nearest import Tuning, floor_roots, nearest_gaussian
from sfumato.fitting.models.gaussian_mixture.gaussians import gaussian_kl


def draws(seed: int, size: int = 7):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(size))
    return weights, rng.normal(0, 1, (size, 2)), rng.normal(0, 0.4, (size, 2, 2)) + np.eye(2)


def expected_kl(mean, cov, weights, means, roots) -> float:
    each = [gaussian_kl(mean, cov, m, root @ root.T) for m, root in zip(means, roots, strict=True)]
    return float(weights @ each)


@pytest.mark.parametrize("seed", range(5))
def test_no_gaussian_is_nearer(seed):
    weights, means, roots = draws(seed)
    found = nearest_gaussian(weights, means, roots)

    def loss(theta):
        root = np.array([[np.exp(theta[2]), 0], [theta[3], np.exp(theta[4])]])
        return expected_kl(theta[:2], root @ root.T, weights, means, roots)

    searched = minimize(loss, np.zeros(5), method="BFGS")
    assert expected_kl(found.mean, found.cov, weights, means, roots) == pytest.approx(searched.fun, abs=1e-6)
    assert found.mean == pytest.approx(searched.x[:2], abs=1e-3)


def test_one_draw_is_its_own_nearest():
    _, means, roots = draws(1, size=1)
    found = nearest_gaussian(np.ones(1), means, roots)
    assert found.mean == pytest.approx(means[0])
    assert found.cov == pytest.approx(roots[0] @ roots[0].T)


def test_floored_covariances_keep_what_is_wide_and_lift_what_is_narrow():
    middle = np.diag([1.0, 2.0])
    floored = floor_roots(middle, np.array([np.diag([3.0, 1e-6])]))[0]
    assert floored @ floored.T == pytest.approx(np.diag([9.0, 4 * Tuning.narrowest]))
