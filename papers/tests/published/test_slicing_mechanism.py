"""Noisy slices: the ball, the directions, the noise that is really added, and what is refused."""

import math

import numpy as np
import pytest
from scipy import stats
from sfumato_papers.baselines import Layout
from sfumato_papers.slicing import Ball, Slicing
from sfumato_papers.slicing.mechanism import FRAMES, clipped

from sfumato.errors import DataError, RequestError
from sfumato.trusted.budget import mu_of
from tests.published.rival_tables import KINDS, mixed

every_frame = pytest.mark.parametrize("frame", FRAMES)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# the ball


@pytest.mark.parametrize("kinds", [KINDS, (0, 0), (4, 2)])
@pytest.mark.parametrize("radius", [1.0, 0.3])
def test_no_record_leaves_the_ball_and_some_record_touches_it(kinds, radius):
    layout = Layout(kinds, 3)
    table = mixed(records=200, kinds=kinds)
    corners = table.X.copy()
    corners[:, [place for place, kind in enumerate(kinds) if not kind]] = 1.0
    ball = Ball.of(layout, radius)
    assert np.linalg.norm(ball(layout.encode(table)), axis=1).max() <= radius * (1 + 1e-12)
    longest = np.linalg.norm(ball(layout.encode(type(table)(corners, table.y, kinds, 3))), axis=1)
    assert longest == pytest.approx(radius)


def test_the_ball_maps_tensors_as_it_maps_arrays():
    import torch

    layout = Layout.of(mixed())
    rows = layout.encode(mixed())
    ball = Ball.of(layout, 2.0)
    assert ball.of_tensor(torch.from_numpy(rows)).numpy() == pytest.approx(ball(rows))


def test_long_rows_are_shortened_and_others_stay():
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [1e200, -1e200], [0.0, 1.0]])
    inside = clipped(rows, 1.0)
    assert inside[0] == pytest.approx([0.6, 0.8])
    assert np.array_equal(inside[[1, 2, 4]], rows[[1, 2, 4]])
    assert np.linalg.norm(inside, axis=1).max() <= 1


def test_clipped_rows_are_inside_after_rounding():
    rows = rng().standard_normal((20_000, 7)) * 10
    assert np.linalg.norm(clipped(rows, 0.7), axis=1).max() <= 0.7


# directions


def test_orthonormal_directions_are():
    U = FRAMES["orthonormal"](rng(), 9, 4)
    products = U.T @ U
    assert products == pytest.approx(np.eye(4))


@every_frame
def test_directions_have_length_one_and_are_uniform(frame):
    """The share of a fixed vector that one direction sees is Beta(1/2, (d - 1)/2)."""
    seen = [FRAMES[frame](rng(seed), 6, 3)[:, 1] for seed in range(1_000)]
    assert np.linalg.norm(seen, axis=1) == pytest.approx(1)
    assert stats.kstest(np.square(seen)[:, 2], stats.beta(0.5, 2.5).cdf).pvalue > 1e-3
    assert abs(np.mean(np.sign(seen))) < 0.05


@every_frame
def test_one_dimension(frame):
    release = Slicing(frame=frame)(rng(), np.array([[0.5], [3.0]]), 0.0)
    assert abs(release.directions) == pytest.approx(1)
    assert release.values * release.directions == pytest.approx(np.array([[0.5], [1.0]]))


def test_how_many_directions():
    assert Slicing().count(7) == 7
    assert Slicing().count(500) == 20
    assert Slicing(slices=500).count(500) == 500


# noise


@every_frame
@pytest.mark.parametrize("claimed", [1.0, 0.9, 1.1], ids=["as claimed", "less", "more"])
def test_the_noise_has_the_claimed_deviation(frame, claimed):
    rows = clipped(rng(1).standard_normal((4_000, 6)), 1.0)
    release = Slicing(slices=5, frame=frame)(rng(2), rows, 0.8)
    away = (release.values - rows @ release.directions) / (0.8 * claimed)
    squares = float((away**2).sum())
    both_sides = 2 * min(stats.chi2(away.size).cdf(squares), stats.chi2(away.size).sf(squares))
    assert (both_sides > 1e-3) == (claimed == 1.0)
    assert release.sigma == 0.8


def test_noise_is_independent_of_records_and_slices():
    away = Slicing(slices=4)(rng(), np.zeros((20_000, 4)), 1.0).values
    assert np.cov(away.T) == pytest.approx(np.eye(4), abs=0.05)
    assert abs(np.corrcoef(away[:-1, 0], away[1:, 0])[0, 1]) < 0.03


def test_a_whole_orthonormal_frame_is_the_gaussian_mechanism():
    assert Slicing(slices=9, radius=0.5).sigma(9, 1.0, 1e-5) == pytest.approx(1 / mu_of(1.0, 1e-5))
    assert Slicing().sigma(1, 1.0, 1e-5) == pytest.approx(2 / mu_of(1.0, 1e-5))


@pytest.mark.parametrize(
    ("frame", "width", "slices", "sigma"),
    [("independent", 20, 5, 2.49), ("orthonormal", 20, 5, 2.35), ("orthonormal", 100, 20, 1.84)],
)
def test_the_least_noise_in_units_of_the_sensitivity(frame, width, slices, sigma):
    found = Slicing(slices, 3.0, frame).sigma(width, 1.0, 1e-5) / 6
    assert found == pytest.approx(sigma, rel=5e-3)


def test_a_release_says_what_it_is():
    release = Slicing()(rng(), np.zeros((3, 2)), 1.0)
    assert release.guarantee.startswith("guarantee: as claimed by the paper")
    assert any("seeds the generator" in fault for fault in release.faults)


def test_constant_columns_and_no_rows():
    rows = np.column_stack((np.full(10, 0.5), np.zeros(10)))
    release = Slicing()(rng(), rows, 0.0)
    assert np.ptp(release.values, axis=0) == pytest.approx(0)
    assert Slicing()(rng(), np.zeros((0, 3)), 1.0).values.shape == (0, 3)


# what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slices": 0}, "at least one direction"),
        ({"slices": 2.5}, "whole number"),
        ({"slices": True}, "whole number"),
        ({"slices": math.nan}, "whole number"),
        ({"radius": 0.0}, "radius is 0.0"),
        ({"radius": math.inf}, "radius is inf"),
        ({"frame": "skew"}, "one of orthonormal, independent"),
        ({"seed": 7}, "exact privacy profile invalid"),
    ],
)
def test_settings_that_are_none(change, message):
    with pytest.raises(RequestError, match=message):
        Slicing(**change)


@every_frame
def test_more_directions_than_entries(frame):
    with pytest.raises(RequestError, match="need more noise and tell nothing that 3 orthonormal ones do not"):
        Slicing(slices=4, frame=frame)(rng(), np.zeros((5, 3)), 1.0)


@pytest.mark.parametrize("rows", [np.zeros(3), np.zeros((3, 0)), np.array([[np.nan]]), np.array([[np.inf]])])
def test_rows_that_are_none(rows):
    with pytest.raises(DataError, match="rows of finite numbers"):
        Slicing()(rng(), rows, 1.0)


@pytest.mark.parametrize("sigma", [-1.0, math.nan, math.inf])
def test_noise_that_is_none(sigma):
    with pytest.raises(RequestError, match="sigma is"):
        Slicing()(rng(), np.zeros((2, 2)), sigma)
