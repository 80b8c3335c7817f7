"""Spikes above noise, shrunken means and covariances, what is left over: against slow and obvious versions."""

import math

import numpy as np
import pytest

from sfumato.fitting.mechanisms.subspace.classes import Counts, shrunk_covariances, shrunk_means
from sfumato.fitting.mechanisms.subspace.clipping_radius import Spread, without_noisy_tail
from sfumato.fitting.mechanisms.subspace.latent import posterior_centres
from sfumato.fitting.mechanisms.subspace.spectrum import discriminants, estimate_residual, spikes


def symmetric_noise(rng: np.random.Generator, d: int, deviation: float) -> np.ndarray:
    """Deviation off the diagonal, sqrt(2) times it on the diagonal."""
    upper = np.triu(rng.standard_normal((d, d)), 1)
    return deviation * (upper + upper.T + math.sqrt(2) * np.diag(rng.standard_normal(d)))


def test_noise_alone_has_no_spikes():
    """The edge is that of large matrices; a smaller one oversteps it now and then, and not by much."""
    rng = np.random.default_rng(0)
    found = [len(spikes(symmetric_noise(rng, 200, 0.3), 0.3).variances) for _ in range(20)]
    assert np.mean(found) < 1


def test_spikes_are_found_and_the_push_of_the_noise_is_undone():
    rng, d, noise = np.random.default_rng(1), 300, 0.05
    directions = np.linalg.qr(rng.standard_normal((d, 3)))[0]
    true = np.array([9.0, 5.0, 3.0])
    seen = np.array(
        [spikes((directions * true) @ directions.T + symmetric_noise(rng, d, noise), noise)[1][:3] for _ in range(10)]
    )
    raw = true + noise**2 * d / true
    assert np.allclose(seen.mean(axis=0), true, rtol=0.02)
    assert (np.abs(seen.mean(axis=0) - true) < np.abs(raw - true)).all()
    found = spikes((directions * true) @ directions.T + symmetric_noise(rng, d, noise), noise)
    assert len(found.variances) == 3
    assert (np.abs(np.einsum("ij,ij->j", found.directions, directions)) > 0.9).all()
    assert np.allclose(found.directions.T @ found.directions, np.eye(3), atol=1e-10)


def test_no_direction_changes_its_sign_with_the_solver():
    matrix = np.diag([4.0, 1.0, 0.1])
    assert (spikes(matrix, 1e-3).directions.max(axis=0) > 0.99).all()


def test_discriminants_part_the_means_outside_what_is_known():
    rng = np.random.default_rng(2)
    means, weights = rng.standard_normal((4, 10)), np.array([0.1, 0.2, 0.3, 0.4])
    known = np.linalg.qr(rng.standard_normal((10, 2)))[0]
    found = discriminants(means, weights, known)
    assert found.shape == (10, 3)
    assert np.allclose(found.T @ found, np.eye(3), atol=1e-10)
    assert np.allclose(known.T @ found, 0, atol=1e-10)
    together = np.hstack((known, found))
    away = means - weights @ means
    assert np.allclose(away @ together @ together.T, away, atol=1e-10)


def test_means_that_do_not_differ_have_no_discriminants():
    assert discriminants(np.ones((3, 5)), np.full(3, 1 / 3), np.zeros((5, 0))).shape == (5, 0)
    assert discriminants(np.ones((1, 5)), np.ones(1), np.zeros((5, 0))).shape == (5, 0)


def test_shrunken_means_are_nearer_than_noisy_ones():
    rng, weights, noise = np.random.default_rng(3), np.full(5, 0.2), np.full(5, 0.1)
    true = np.where(rng.random(400) < 0.2, 1.0, 0.0) * rng.standard_normal((5, 400))
    noisy = true + 0.1 * rng.standard_normal(true.shape)
    found = shrunk_means(noisy, noise, weights)
    assert ((found.values - true) ** 2).mean() < 0.5 * ((noisy - true) ** 2).mean()
    ratios = (found.values - true) / found.deviations
    assert 0.6 < ratios.std() < 1.25


def test_intervals_of_few_classes_count_what_the_pull_takes_off():
    """Of two classes each column says little: a gain of its own is often too small."""
    rng, weights, noise = np.random.default_rng(13), np.array([0.2, 0.8]), np.array([0.2, 0.05])
    true = np.array([[0.8], [-0.2]]) * 0.15 * rng.standard_normal(4_000)
    found = shrunk_means(true + noise[:, None] * rng.standard_normal(true.shape), noise, weights)
    held = (np.abs(found.values - true) < 1.645 * found.deviations).mean(axis=1)
    assert (held > 0.8).all()


def test_means_without_noise_stay():
    rng = np.random.default_rng(4)
    moves = rng.standard_normal((3, 6))
    found = shrunk_means(moves, np.zeros(3), np.array([0.2, 0.3, 0.5]))
    assert np.allclose(found.values, moves)
    assert np.allclose(found.deviations, 0)


def test_covariances_that_differ_by_noise_alone_become_one():
    rng, weights = np.random.default_rng(5), np.full(4, 0.25)
    noisy = np.array([np.eye(8) + symmetric_noise(rng, 8, 0.1) for _ in range(4)])
    apart = shrunk_covariances(noisy, np.full(4, 0.1), weights)
    assert np.abs(apart - apart.mean(axis=0)).max() < 0.5 * np.abs(noisy - noisy.mean(axis=0)).max()


def test_covariances_without_noise_stay_but_for_the_floor():
    ones = np.array([np.diag([1.0, 2.0]), np.diag([3.0, 0.01])])
    found = shrunk_covariances(ones, np.zeros(2), np.array([0.5, 0.5]))
    assert np.allclose(found, [np.diag([1.0, 2.0]), np.diag([3.0, 0.05])])


def test_no_variance_is_believed_that_noise_could_have_made():
    ones = np.array([np.diag([1.0, 2.0, 0.01]), np.diag([3.0, 0.01, 0.01])])
    for noise, least in ((0.1, 0.1 * math.sqrt(3)), (10.0, 0.5)):
        found = shrunk_covariances(ones, np.full(2, noise), np.array([0.5, 0.5]))
        assert np.linalg.eigvalsh(found).min() == pytest.approx(least)


def test_left_over_variances_are_those_outside_the_basis():
    rng = np.random.default_rng(6)
    basis, rest = rng.standard_normal((30, 3)), rng.uniform(0.5, 2, 30)
    matrix = basis @ basis.T + np.diag(rest)
    assert np.allclose(estimate_residual(matrix, basis, 0.0), rest)
    pooled = estimate_residual(matrix + symmetric_noise(rng, 30, 5.0), basis, 5.0)
    assert pooled.min() > 0
    assert pooled.std() < 5.0


def test_counts_are_shares_of_their_total():
    counts = Counts(np.array([1.0, 3.0]), 0.5)
    assert counts.total == 4
    assert counts.weights.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("d", [2, 50])
def test_a_matrix_of_noise_far_below_zero_is_no_spike(d):
    assert len(spikes(-np.eye(d), 0.1).variances) == 0


def test_what_pulling_back_leaves_is_what_records_say():
    """A small move of records in many dimensions, and their squares, after the pull and before."""
    rng, d = np.random.default_rng(7), 400
    records = rng.standard_normal((4_000, d)) * rng.uniform(0.5, 1.5, (4_000, 1))
    lengths = np.linalg.norm(records, axis=1)
    radius = float(np.quantile(lengths, 0.6))
    reach = Spread(lengths, np.ones(len(lengths))).reach(radius)

    def pulled(rows: np.ndarray) -> np.ndarray:
        return rows * np.minimum(1, radius / np.linalg.norm(rows, axis=1))[:, None]

    move = np.zeros(d)
    move[3] = 0.5
    left = (pulled(records + move) - pulled(records)).mean(axis=0)
    assert left[3] / 0.5 == pytest.approx(reach.move, rel=0.02)
    assert (pulled(records) ** 2).sum() / (records**2).sum() == pytest.approx(reach.square, rel=1e-9)


def cells_of(lengths: np.ndarray, width: float, cells: int) -> Spread:
    counts = np.bincount((lengths / width).astype(int).clip(max=cells - 1), minlength=cells)
    return Spread((np.arange(cells) + 0.5) * width, counts.astype(float))


def test_a_radius_holds_the_share_that_it_should():
    lengths = np.random.default_rng(8).gamma(9.0, 1.0, 50_000)
    reach = cells_of(lengths, 0.25, 100).holding(0.6)
    assert 0.6 <= (lengths <= reach.radius).mean() < 0.64
    assert reach.move == pytest.approx(np.minimum(1, reach.radius / lengths).mean(), rel=0.01)


def test_the_balanced_radius_grows_as_noise_falls():
    spread = cells_of(np.random.default_rng(9).gamma(9.0, 1.0, 50_000), 0.25, 100)
    radii = [spread.balance(noise).radius for noise in (1.0, 0.1, 0.01, 0.0)]
    assert radii == sorted(radii)
    assert radii[-1] >= 20


def test_the_balanced_radius_has_the_least_error():
    """Of the mean of skewed records in one direction, pulled back, over the noise that comes with the radius."""
    rng, noise = np.random.default_rng(10), 0.05
    records = rng.standard_normal((100_000, 20))
    records[:, 0] = 3 * rng.exponential(1.0, 100_000)
    lengths = np.linalg.norm(records, axis=1)
    spread = cells_of(lengths, 0.25, 120)

    def error(radius: float) -> float:
        reach = spread.reach(radius)
        pulled = records * np.minimum(1, radius / lengths)[:, None]
        away = np.linalg.norm(pulled.mean(axis=0) / reach.move - records.mean(axis=0))
        return float(away**2 + (noise * radius / reach.move) ** 2)

    best = min(error(radius) for radius in np.arange(1.0, 25.0, 0.5))
    assert error(spread.balance(noise).radius) < 1.5 * best


def test_a_noisy_tail_is_cut_and_what_is_left_keeps_its_sign():
    rng = np.random.default_rng(11)
    true = np.concatenate((1_000 * np.exp(-((np.arange(30) - 12) ** 2) / 20), np.zeros(60)))
    sums, ends = [], []
    for _ in range(200):
        found = without_noisy_tail(true + 20 * rng.standard_normal(90), 20.0)
        sums.append(found @ np.arange(90) ** 2)
        ends.append(int(np.flatnonzero(found)[-1]))
    assert np.mean(sums) == pytest.approx(true @ np.arange(90) ** 2, rel=0.03)
    assert np.median(ends) < 30
    assert not without_noisy_tail(np.array([-5.0, 3.0, -8.0]), 20.0).any()


def test_no_records_leave_everything():
    assert Spread(np.array([0.5, 1.5]), np.zeros(2)).reach(1.5) == (1.5, 1.0, 1.0)
    assert Spread(np.array([0.5, 1.5]), np.zeros(2)).balance(0.1).radius in (1.0, 2.0)


def test_centres_that_are_noise_are_not_believed():
    """Along spikes; along directions that part the means they are all that is known."""
    rng, weights = np.random.default_rng(14), np.full(5, 0.2)
    kinds, noise = np.array([0] * 40 + [1] * 3 + [2] * 5), np.full((5, 1), 0.5)
    centres = noise * rng.standard_normal((5, 48))
    centres[:, 43:] += 2 * rng.standard_normal((5, 5))
    gains = posterior_centres(centres, noise, weights, kinds)
    assert gains[:40].max() < 0.3
    assert (gains[40:43] == 1).all()
    assert gains[43:].min() > 0.8
