import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sfumato_papers.accounting import SlicingProfile, renyi

from sfumato.errors import BudgetError, RequestError
from sfumato.trusted.budget import delta_of, mu_of
from sfumato.trusted.random_directions import Directions, OrthonormalFrame, require_fresh, sigma_for_fixed
from tests.accounting.simulation import draw_frames, simulated_delta


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "3", None])
@pytest.mark.parametrize("place", range(3))
def test_what_is_no_number_of_directions_is_refused(bad, place):
    numbers = [5, 2, 1]
    numbers[place] = bad
    with pytest.raises(RequestError, match="whole number"):
        OrthonormalFrame(*numbers)


def test_whole_numbers_of_any_kind_are_plain_numbers():
    frame = OrthonormalFrame(np.int64(10), np.uint8(2), np.int32(3))
    assert frame == OrthonormalFrame(10, 2, 3)
    assert {type(part) for part in (frame.dimension, frame.blocks, frame.block)} == {int}


@pytest.mark.parametrize("when", ["nonsense", None, 3, ["fresh"]])
def test_directions_that_are_neither_fresh_nor_fixed_are_refused(when):
    with pytest.raises(RequestError, match="one of fresh, fixed"):
        SlicingProfile(OrthonormalFrame(10, 2), directions=when)


def test_directions_may_be_named():
    assert SlicingProfile(OrthonormalFrame(10, 2), directions="fresh").delta(1.0, 1.0).upper < 1
    with pytest.raises(RequestError, match="sigma_for_fixed"):
        SlicingProfile(OrthonormalFrame(10, 2), directions="fixed")


def test_more_orthonormal_directions_than_dimensions_are_refused_with_the_cure():
    with pytest.raises(RequestError, match=r"release X \+ noise itself"):
        OrthonormalFrame.orthonormal(20, 21)
    with pytest.raises(RequestError, match="cannot be orthonormal"):
        OrthonormalFrame.independent(3, 2, block=4)
    with pytest.raises(RequestError, match="repeats all 1 dimensions"):
        OrthonormalFrame.independent(1, 5)


def test_one_dimension_is_the_gaussian_mechanism():
    bracket = SlicingProfile(OrthonormalFrame.orthonormal(1, 1)).delta(1.0, 2.0)
    assert bracket.lower <= delta_of(1.0, 0.5) <= bracket.upper


@given(st.integers(2, 40).flatmap(lambda d: st.tuples(st.just(d), st.integers(1, 6), st.integers(1, d - 1))))
def test_a_frame_knows_its_mean_and_its_most(shape):
    frame = OrthonormalFrame(*shape)
    assert frame.mean == pytest.approx(frame.width / frame.dimension)
    assert frame.most() == frame.blocks
    assert frame.most(0.25) == 0.25
    assert frame.most(1e9) == frame.blocks


@pytest.mark.parametrize("frame", [OrthonormalFrame(7, 4), OrthonormalFrame(7, 1, 4), OrthonormalFrame(8, 2, 3)])
def test_the_share_that_is_seen_has_its_mean_and_deviation_along_any_direction(frame):
    rng = np.random.default_rng(1)
    frames = draw_frames(frame, 20_000, rng)
    for along in (np.eye(frame.dimension)[0], np.full(frame.dimension, frame.dimension**-0.5)):
        share = (np.einsum("d,ndm->nm", along, frames) ** 2).sum(axis=1)
        assert abs(share.mean() - frame.mean) < 5 * frame.deviation / math.sqrt(share.size)
        assert share.std() == pytest.approx(frame.deviation, rel=0.05)


def test_fixed_directions_are_refused_and_what_holds_is_named():
    frame = OrthonormalFrame.independent(20, 5)
    for ask in (
        lambda: SlicingProfile(frame, directions=Directions.FIXED),
        lambda: renyi(frame, 2.0, 1.0, directions=Directions.FIXED),
        lambda: require_fresh(Directions.FIXED, frame),
    ):
        with pytest.raises(RequestError, match=r"T can be 5.*sigma_for_fixed"):
            ask()
    with pytest.raises(RequestError, match=r"T can be 0\.3"):
        require_fresh(Directions.FIXED, frame, 0.3)


@pytest.mark.parametrize(
    ("frame", "clip", "most"),
    [
        (OrthonormalFrame.orthonormal(20, 5), None, 1.0),
        (OrthonormalFrame.independent(20, 5), None, 5.0),
        (OrthonormalFrame(20, 5), 0.4, 0.4),
    ],
)
def test_the_noise_for_fixed_directions_is_that_of_the_worst_case(frame, clip, most):
    assert sigma_for_fixed(frame, 1.0, 1e-5, clip) == pytest.approx(math.sqrt(most) / mu_of(1.0, 1e-5))


def test_a_seed_that_is_known_breaks_the_average_and_not_the_worst_case():
    """The record that a fixed direction sees whole: a hundred thousand times the delta that fresh directions give."""
    frame, epsilon, delta = OrthonormalFrame.orthonormal(100, 1), 1.0, 1e-5
    known = draw_frames(frame, 1, np.random.default_rng(0))[0]
    fresh = SlicingProfile(frame).sigma(epsilon, delta).upper
    broken, error = simulated_delta(frame, fresh, epsilon, fixed=known, along=known[:, 0], count=20_000)
    assert broken - 4 * error > 1e4 * delta
    safe = sigma_for_fixed(frame, epsilon, 0.05)
    held, error = simulated_delta(frame, safe, epsilon, fixed=known, along=known[:, 0], count=200_000)
    assert held - 4 * error <= 0.05
    assert held == pytest.approx(0.05, rel=0.02)


@pytest.mark.parametrize("clip", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_clip_is_refused(clip):
    with pytest.raises(RequestError, match="clip"):
        _ = SlicingProfile(OrthonormalFrame(20, 1, 20), clip).law


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_budget_is_refused(bad):
    profile = SlicingProfile(OrthonormalFrame(20, 1, 20))
    for ask in (
        lambda: profile.sigma(bad, 1e-5),
        lambda: profile.sigma(1.0, bad),
        lambda: profile.epsilon(bad, 1e-5),
        lambda: profile.epsilon(1.0, bad),
        lambda: profile.delta(1.0, bad),
    ):
        with pytest.raises(BudgetError):
            ask()
    with pytest.raises(BudgetError, match="epsilon"):
        profile.delta(-1.0, 1.0)


def test_a_delta_that_the_arithmetic_does_not_resolve_is_refused():
    with pytest.raises(BudgetError, match="resolves"):
        SlicingProfile(OrthonormalFrame.independent(20, 2)).sigma(1.0, 1e-20)
