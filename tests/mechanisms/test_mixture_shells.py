"""Moments from shells: what is read, what is shrunk, and how it is weighed against a Gaussian."""

import numpy as np
import pytest

from sfumato.fitting.mechanisms.mixture.combining import Estimate, bias, combine_estimates
from sfumato.fitting.mechanisms.mixture.shell_moments import ShellMoments, Variances, parts_of, read_shells, shell_risk
from sfumato.fitting.mechanisms.mixture.shrinkage import filter_noise, shrink_matrix, shrink_vector, towards
from sfumato.fitting.mechanisms.mixture.symmetric import smat, svec
from sfumato.fitting.models.gaussian_mixture.gaussians import gaussian_kl
from sfumato.trusted.feature_maps import Shells, Whitening
from sfumato.trusted.feature_maps.bounded_map import UNIT
from tests.mechanisms.test_mixture_posterior import a_posterior, truth

RECORDS = 40_000
SCALE = 0.002  # so narrow that no tail meets the bounds


def records(d: int, tails: float) -> np.ndarray:
    """Whitened records that are off in place and shape, their tails heavier the smaller the number."""
    rng = np.random.default_rng(d)
    mix = np.eye(d) + 0.3 * np.tri(d, k=-1)
    z = rng.standard_normal((RECORDS, d)) / np.sqrt(rng.chisquare(tails, RECORDS) / tails)[:, None]
    return 0.2 + 0.8 * z @ mix.T / np.sqrt(d)


def sums(z: np.ndarray, noise: float, seed: int = 0) -> tuple[Shells, np.ndarray]:
    """The shells of whitened records, and their noisy sums in units."""
    d = z.shape[1]
    one = Shells.of(Whitening.of(np.eye(d) / SCALE, np.full(d, 0.5)))
    values, shell = one(np.rint(2.0**21 * (0.5 + SCALE * z.T)))
    total = np.stack([values[:, shell == j].sum(axis=1) for j in range(one.blocks)]) / UNIT
    return one, total + noise * np.random.default_rng(seed).standard_normal(total.shape)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("tails", [3.0, 6.0, 1e6])
def test_without_noise_the_moments_are_those_of_the_records(d, tails):
    z = records(d, tails)
    one, value = sums(z, 0.0)
    found = read_shells(one, value, 1e-3, RECORDS, 1e-3)
    assert found.count.sum() == pytest.approx(RECORDS, rel=1e-4)
    assert gaussian_kl(found.mean, found.cov, z.mean(axis=0), np.cov(z.T).reshape(d, d)) < 1e-4


def noise_of(value: np.ndarray, seed: int) -> np.ndarray:
    return 20.0 * np.random.default_rng(seed).standard_normal(value.shape)


def test_noise_costs_what_the_variances_say():
    """The mean KL divergence over noises, against what the reading says of itself; no tails that are left out."""
    z = records(3, 1e6)
    one, clean = sums(z, 0.0)
    read = [read_shells(one, clean + noise_of(clean, seed), 20.0, RECORDS, 30.0) for seed in range(40)]
    lost = np.mean([gaussian_kl(found.mean, found.cov, z.mean(axis=0), np.cov(z.T)) for found in read])
    assert 0.4 < lost / np.mean([found.variances.expected_kl(3) for found in read]) < 2


def test_heavy_tails_show_and_gaussian_ones_do_not():
    for z, heavy in ((records(2, 3.0), True), (np.random.default_rng(0).standard_normal((RECORDS, 2)), False)):
        one, value = sums(z, 20.0)
        assert (read_shells(one, value, 20.0, RECORDS, 30.0).excess > 5) == heavy


@pytest.mark.parametrize("count", [0.0, 2.0, -40.0])
def test_shells_of_nothing_are_read_as_something_finite(count):
    one, value = sums(np.empty((0, 3)), 30.0)
    found = read_shells(one, value, 30.0, count, 30.0)
    assert np.isfinite(found.mean).all()
    assert np.linalg.eigvalsh(found.cov).min() > 0
    assert np.isfinite(found.variances).all()


def test_the_risk_of_the_first_shell_grows_with_noise_and_falls_with_records():
    one, _ = sums(np.empty((0, 3)), 0.0)
    assert shell_risk(one, 20.0, 1_000.0) == pytest.approx(4 * shell_risk(one, 10.0, 1_000.0))
    assert shell_risk(one, 10.0, 2_000.0) == pytest.approx(shell_risk(one, 10.0, 1_000.0) / 4)


def test_the_risk_of_the_first_shell_is_that_of_a_class_read_off_it():
    """Noise of the sums, turned into noise of mean and covariance by hand."""
    one, nothing = sums(np.empty((0, 2)), 0.0)
    lost = []
    for seed in range(200):
        both = smat(noise_of(nothing, seed)[0]) * (1 + one.g) / RECORDS
        mean, cov = both[0, 1:] * np.sqrt(one.edges[0] / one.g), both[1:, 1:] * one.edges[0]
        lost.append(0.5 * (mean**2).sum() + 0.25 * (cov**2).sum())
    assert np.mean(lost) == pytest.approx(shell_risk(one, 20.0, RECORDS), rel=0.3)


@pytest.mark.parametrize("tails", [3.0, 1e6])
def test_parts_have_the_moments_of_the_whole(tails):
    one, value = sums(records(3, tails), 5.0)
    found = read_shells(one, value, 5.0, RECORDS, 5.0)
    parts = parts_of(found)
    assert 1 <= len(parts) <= 3
    assert sum(part.share for part in parts) == pytest.approx(1, abs=1e-3)
    mean = sum(part.share * part.mean for part in parts)
    cov = sum(part.share * (part.cov + np.outer(part.mean, part.mean)) for part in parts) - np.outer(mean, mean)
    assert np.allclose(mean, found.mean, atol=0.01)
    assert gaussian_kl(mean, cov, found.mean, found.cov) < 0.01


def test_heavier_tails_have_a_wide_part():
    one, value = sums(records(2, 3.0), 5.0)
    spread = [np.trace(part.cov) for part in parts_of(read_shells(one, value, 5.0, RECORDS, 5.0))]
    assert len(spread) > 1
    assert max(spread) > 4 * min(spread)


class TestShrinkage:
    def test_without_noise_nothing_is_shrunk(self):
        rng = np.random.default_rng(0)
        vector, matrix = rng.standard_normal(5), smat(rng.standard_normal(10))
        assert np.allclose(shrink_vector(vector, 0.0), vector)
        assert np.allclose(shrink_matrix(matrix, 0.0), matrix)

    @pytest.mark.parametrize("size", [0.0, 1.0, 5.0])
    def test_shrinking_loses_no_more_than_the_noise(self, size):
        rng = np.random.default_rng(1)
        vector, direction = rng.standard_normal(12), rng.standard_normal(6)
        few = np.outer(direction, direction) / (direction @ direction)
        lost, kept = [], []
        for _ in range(200):
            noisy = size * vector + rng.standard_normal(12)
            matrix = smat(svec(size * few) + rng.standard_normal(21))
            lost.append([((noisy - size * vector) ** 2).sum(), ((matrix - size * few) ** 2).sum()])
            found = shrink_vector(noisy, 1.0), shrink_matrix(matrix, 1.0)
            kept.append([((found[0] - size * vector) ** 2).sum(), ((found[1] - size * few) ** 2).sum()])
        assert (np.mean(kept, axis=0) < np.mean(lost, axis=0) * 1.02).all()
        if size == 0.0:
            assert (np.mean(kept, axis=0) < 0.5 * np.mean(lost, axis=0)).all()

    def test_noise_alone_is_nothing(self):
        assert (shrink_vector(np.array([0.5, -0.5]), 1.0) == 0).all()
        assert (shrink_matrix(np.array([[0.3, 0.1], [0.1, -0.3]]), 1.0) == 0).all()

    def test_a_symmetric_matrix_stays_one(self):
        found = shrink_matrix(smat(3 * np.random.default_rng(0).standard_normal(10)), 0.5)
        assert np.allclose(found, found.T)

    def test_equal_targets_are_weighed_by_precision(self):
        move = np.full(4, 0.1)
        followed, variance, gain = towards(move, 2.0, 6.0, lambda values, _: 0 * values)
        assert np.allclose(followed, move / 4)
        assert gain == pytest.approx(0.25)
        assert variance == pytest.approx(1 / (1 / 2.0 + 1 / 6.0))

    def test_a_move_beyond_all_noise_is_followed(self):
        move = np.array([100.0, -80.0])
        assert np.allclose(towards(move, 1.0, 1.0, shrink_vector)[0], move, rtol=1e-3)

    def test_the_noise_of_a_filtered_sum_is_that_of_its_linear_map(self):
        """With no shrinking the filter is linear, so unit vectors show what each observation adds to the sum."""
        variances, weights = np.array([1.0, 2.0, 0.5, 4.0]), np.array([1.0, 3.0, 2.0, 0.5])
        values, noise = filter_noise(np.eye(4), variances, weights, lambda move, _: 0 * move)
        assert noise == pytest.approx((weights @ values) ** 2 @ variances)
        assert np.allclose(values[-1] @ np.ones(4), 1)


def shells_like(mean: np.ndarray, cov: np.ndarray, variances: Variances) -> ShellMoments:
    d = len(mean)
    nothing = np.zeros(1)
    return ShellMoments(nothing, nothing, np.zeros((1, d)), np.zeros((1, d, d)), mean, cov, variances, variances, 0.0)


class TestCombining:
    d = 3
    before = Estimate(np.zeros(3), np.eye(3), Variances(1e-3, 2e-3, 1e-3))

    def test_shells_that_agree_change_nothing(self):
        same = shells_like(np.zeros(3), np.eye(3), Variances(1e-3, 1e-3, 1e-3))
        found = combine_estimates(self.before, np.zeros(3), np.eye(3), same)
        assert np.allclose(found.mean, 0)
        assert np.allclose(found.cov, np.eye(3))
        assert all(new <= old for new, old in zip(found.variances, self.before.variances, strict=True))

    @pytest.mark.parametrize(("noise", "follows"), [(1e-8, 1.0), (1e6, 0.0)])
    def test_shells_are_followed_as_far_as_noise_allows(self, noise, follows):
        mean, cov = np.array([0.5, -0.2, 0.1]), np.diag([2.0, 1.0, 3.0])
        seen = shells_like(mean, cov, Variances(noise, noise, noise))
        found = combine_estimates(self.before, np.zeros(3), np.eye(3), seen)
        assert np.allclose(found.mean, follows * mean, atol=0.01)
        assert np.allclose(found.cov, follows * cov + (1 - follows) * np.eye(3), atol=0.05)

    def test_the_units_of_the_shells_do_not_matter(self):
        rng = np.random.default_rng(0)
        root, centre = np.eye(3) + 0.2 * rng.standard_normal((3, 3)), rng.standard_normal(3)
        seen = shells_like(np.full(3, 0.2), np.diag([2.0, 1.0, 1.5]), Variances(1e-4, 1e-4, 1e-4))
        inverse = np.linalg.inv(root)
        turned = shells_like(inverse @ (seen.mean - centre), inverse @ seen.cov @ inverse.T, seen.variances)
        here = combine_estimates(self.before, np.zeros(3), np.eye(3), seen)
        there = combine_estimates(self.before, centre, root, turned)
        assert np.allclose(here.mean, there.mean)
        assert np.allclose(here.cov, there.cov)

    def test_without_a_bias_the_excess_is_nothing_but_its_deviation(self):
        rng, pairs = np.random.default_rng(0), 6
        along = svec(np.eye(3)) / np.sqrt(3)
        seen_with = Variances(3e-3, 4e-3, 2e-3)
        mean, shape, trace = (a + b for a, b in zip(self.before.variances, seen_with, strict=True))
        found = []
        for _ in range(2_000):
            off = np.sqrt(shape) * rng.standard_normal(pairs)
            traceless = smat(off - (off @ along) * along)
            level = np.sqrt(trace / 3) * rng.standard_normal()
            cov = np.exp(level) * (np.eye(3) + traceless)
            seen = shells_like(np.sqrt(mean) * rng.standard_normal(3), cov, seen_with)
            found.append(bias(self.before, np.zeros(3), np.eye(3), seen))
        excess, said = np.array(found).T
        assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(len(excess))
        assert said.mean() == pytest.approx(excess.std(), rel=0.1)

    def test_a_bias_is_a_divergence(self):
        mean, cov = np.array([0.05, 0.0, -0.05]), np.diag([1.1, 0.95, 1.0])
        exact = Estimate(np.zeros(3), np.eye(3), Variances(0.0, 0.0, 0.0))
        excess, sd = bias(exact, np.zeros(3), np.eye(3), shells_like(mean, cov, Variances(0.0, 0.0, 0.0)))
        assert sd == 0
        assert excess == pytest.approx(gaussian_kl(mean, cov, np.zeros(3), np.eye(3)), rel=0.1)

    def test_the_estimate_of_a_posterior_knows_its_noise(self):
        small, large = (a_posterior(3, noise) for noise in (1.0, 10.0))
        for posterior in (small, large):
            posterior.solve(60)
        little, much = Estimate.of(small), Estimate.of(large)
        assert gaussian_kl(little.mean, little.cov, *truth(3)) < 1e-4
        assert all(a < b for a, b in zip(little.variances, much.variances, strict=True))
        assert little.variances.expected_kl(3) >= small.expected_kl() * 0.999


def test_what_shrinkage_leaves_in_doubt_is_more_than_noise():
    """Heavy tails: the moments are farther off than their noise after shrinkage says, and within the doubt."""
    rng = np.random.default_rng(0)
    z = rng.standard_t(4, (3, 40_000))
    one = Shells.of(Whitening.of(100 * np.eye(3), np.full(3, 0.5)))
    values, block = one(np.rint(2.0**21 * (0.5 + z / 100)).clip(0, 2**21))
    sums = np.stack([values[:, block == j].sum(axis=1) for j in range(one.blocks)]) / UNIT
    off = []
    for _ in range(40):
        moments = read_shells(one, sums + 20 * rng.standard_normal(sums.shape), 20.0, 40_000.0, 50.0)
        assert moments.doubt.shape > moments.variances.shape
        assert moments.doubt.mean > moments.variances.mean
        off.append(np.log(np.diag(moments.cov) / np.diag(np.cov(z))) ** 2 / (2 * moments.doubt.shape))
    assert np.mean(off) < 1.5
