"""Scales of a component's tails, read off noisy counts by distance."""

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.fitting.mechanisms.mixture.scale_law import ScaleLaw, fit_scales, radii_around
from tests.statistics.making import a_whitening


def counts_of(law: ScaleLaw, d: int, records: float, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """What a law puts at every distance, one record after the other."""
    rng = np.random.default_rng(seed)
    scale = rng.choice(law.scales, int(records), p=law.shares)
    t = scale * chi2.rvs(d, size=int(records), random_state=rng)
    edges = radii_around(a_whitening(d)).edges
    return np.bincount(np.searchsorted(edges, t), minlength=len(edges) + 1) + noise * rng.standard_normal(
        len(edges) + 1
    )


def fitted(law: ScaleLaw, d: int, records: float, noise: float, seed: int = 0) -> ScaleLaw:
    return fit_scales(radii_around(a_whitening(d)), counts_of(law, d, records, noise, seed), noise)


ONE = ScaleLaw(np.ones(1), np.ones(1))
TAILS = ScaleLaw(np.array([0.8, 0.2]), np.array([0.7, 6.0]))


@pytest.mark.parametrize("d", [1, 3, 12])
def test_a_gaussian_has_one_scale(d):
    laws = [fitted(ONE, d, 2_000, 10.0, seed) for seed in range(10)]
    assert sum(law.is_gaussian for law in laws) >= 9
    assert all(abs(law.level - 1) < 0.2 for law in laws)


@pytest.mark.parametrize("d", [2, 6, 12])
def test_heavy_tails_are_seen(d):
    law = fitted(TAILS, d, 20_000, 5.0)
    assert not law.is_gaussian
    assert law.level == pytest.approx(TAILS.level, rel=0.1)
    distances = chi2.ppf([0.3, 0.7, 0.95, 0.999], d)
    seen, true = (one.shares @ chi2.cdf(distances / one.scales[:, None], d) for one in (law, TAILS))
    assert np.allclose(seen, true, atol=0.02)


def test_a_wrong_scale_is_corrected():
    wide = ScaleLaw(np.ones(1), np.array([2.0]))
    law = fitted(wide, 4, 5_000, 5.0)
    assert law.level == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("noise", [20.0, 1e3, 1e6])
def test_noise_alone_says_nothing(noise):
    laws = [fitted(ONE, 4, 100, noise, seed) for seed in range(20)]
    assert sum(law.is_gaussian for law in laws) >= 18
    assert all(np.isfinite(law.level) and law.level > 0 for law in laws)


def test_counts_that_noise_can_explain_are_taken_for_nothing():
    """Some units far away, below three deviations of the noise, would multiply the covariance."""
    one = radii_around(a_whitening(3))
    counts = counts_of(ONE, 3, 2_000)
    far = counts.copy()
    far[-1] += 25.0
    assert fit_scales(one, far, 10.0).level == pytest.approx(fit_scales(one, counts, 10.0).level, rel=1e-6)


@pytest.mark.parametrize("counts", [np.zeros(13), -np.ones(13), np.eye(1, 13)[0] * 1e6, np.full(13, 1e9)])
def test_whatever_comes_is_a_law(counts):
    law = fit_scales(radii_around(a_whitening(2)), counts, 3.0)
    assert law.shares.sum() == pytest.approx(1)
    assert (law.scales > 0).all()
    assert np.isfinite(law.scales).all()
