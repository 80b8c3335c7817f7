import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from sfumato_papers.accounting import SlicingProfile, law
from sfumato_papers.accounting.profile import gaussian_deltas

from sfumato.trusted.budget import delta_of, mu_of
from sfumato.trusted.random_directions import OrthonormalFrame
from tests.accounting.simulation import simulated_delta

ORTHONORMAL, INDEPENDENT = (
    SlicingProfile(OrthonormalFrame.orthonormal(20, 5)),
    SlicingProfile(OrthonormalFrame.independent(20, 5)),
)


def slow_delta(frame: OrthonormalFrame, epsilon: float, sigma: float) -> float:
    """Gauss and Jacobi's rule over the Beta law of each block, block by block, and the curve of `accounting`."""
    nodes, weights = special.roots_jacobi(60, (frame.dimension - frame.block) / 2 - 1, frame.block / 2 - 1)
    shares, masses = (1 + nodes) / 2, weights / weights.sum()
    total, mass = shares, masses
    for _ in range(frame.blocks - 1):
        total, mass = (total[:, None] + shares).ravel(), (mass[:, None] * masses).ravel()
    return sum(p * delta_of(epsilon, math.sqrt(t) / sigma) for t, p in zip(total, mass, strict=True))


@pytest.mark.parametrize(
    "frame",
    [
        OrthonormalFrame(20, 1, 1),
        OrthonormalFrame(20, 1, 5),
        OrthonormalFrame(2, 1, 1),
        OrthonormalFrame(100, 1, 20),
        OrthonormalFrame(20, 2, 1),
        OrthonormalFrame(30, 2, 4),
    ],
)
@pytest.mark.parametrize(("epsilon", "sigma"), [(0.3, 1.0), (3.0, 0.4)])
def test_the_bracket_holds_the_slow_and_obvious_integral(frame, epsilon, sigma):
    slow = slow_delta(frame, epsilon, sigma)
    lower, upper = SlicingProfile(frame).delta(epsilon, sigma)
    assert lower <= slow * (1 + 1e-9)
    assert slow * (1 - 1e-9) <= upper
    assert upper / lower < 1.01


@pytest.mark.parametrize(
    ("frame", "clip", "sigma", "epsilon"),
    [
        (OrthonormalFrame.independent(10, 3), None, 1 / 3, 1.0),
        (OrthonormalFrame.orthonormal(10, 3), None, 1 / 3, 1.0),
        (OrthonormalFrame.independent(12, 2, 3), None, 0.4, 0.5),
        (OrthonormalFrame.orthonormal(10, 3), 0.35, 0.3, 1.0),
        (OrthonormalFrame.independent(10, 4), 0.4, 0.3, 0.5),
    ],
)
def test_no_simulation_of_the_mechanism_beats_the_claim_and_the_claim_is_not_slack(frame, clip, sigma, epsilon):
    seen, error = simulated_delta(frame, sigma, epsilon, clip)
    claim = SlicingProfile(frame, clip).delta(epsilon, sigma).upper
    assert seen - 4 * error <= claim
    assert seen == pytest.approx(claim, rel=0.02)


@pytest.mark.parametrize("wrong", [0.9, 1.1])
def test_the_simulation_sees_noise_that_is_off_by_a_tenth(wrong):
    frame = OrthonormalFrame.orthonormal(10, 3)
    seen, error = simulated_delta(frame, wrong / 3, 1.0)
    assert abs(seen - SlicingProfile(frame).delta(1.0, 1 / 3).upper) > 8 * error


@pytest.mark.parametrize(
    ("frame", "sigma"),
    [
        (OrthonormalFrame.orthonormal(100, 1), 0.774),
        (OrthonormalFrame.orthonormal(100, 20), 1.84),
        pytest.param(OrthonormalFrame.independent(100, 20), 1.881, marks=pytest.mark.slow),
        pytest.param(OrthonormalFrame.independent(100, 10, 2), 1.879, marks=pytest.mark.slow),
        pytest.param(OrthonormalFrame.independent(100, 4, 5), 1.872, marks=pytest.mark.slow),
    ],
)
def test_known_noise_at_epsilon_one(frame, sigma):
    bracket = SlicingProfile(frame).sigma(1.0, 1e-5)
    assert bracket.upper == pytest.approx(sigma, rel=3e-3)
    assert bracket.lower < bracket.upper <= bracket.lower * (1 + 2e-4)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="the machine has no long doubles")
@pytest.mark.parametrize(
    "frame",
    [OrthonormalFrame.independent(20, 5), OrthonormalFrame.independent(100, 20), OrthonormalFrame.orthonormal(784, 2)],
)
@pytest.mark.parametrize(("epsilon", "delta"), [(20.0, 1e-12), (10.0, 1e-10), (0.01, 1e-12), (1.0, 1e-15)])
def test_brackets_are_narrow_at_extreme_budgets_too(frame, epsilon, delta):
    lower, upper = SlicingProfile(frame).sigma(epsilon, delta)
    assert 1 < upper / lower <= 1 + 2e-4


@pytest.mark.parametrize("dimension", [1, 2, 20, 784])
def test_a_whole_frame_is_the_gaussian_mechanism(dimension):
    bracket = SlicingProfile(OrthonormalFrame.orthonormal(dimension, dimension)).sigma(1.0, 1e-5)
    assert bracket.lower <= 1 / mu_of(1.0, 1e-5) <= bracket.upper * (1 + 1e-9)
    assert bracket.upper / bracket.lower < 1 + 1e-7


@pytest.mark.parametrize("delta", [1e-12, 1e-5])
@pytest.mark.parametrize("profile", [ORTHONORMAL, INDEPENDENT], ids=["orthonormal", "independent"])
def test_sigma_and_epsilon_are_inverse(profile, delta):
    sigma = profile.sigma(1.0, delta).upper
    assert profile.delta(1.0, sigma).upper <= delta
    lower, upper = profile.epsilon(sigma, delta)
    assert lower <= upper <= 1.0 + 1e-9
    assert upper == pytest.approx(1.0, abs=1e-6)


def test_much_noise_needs_no_epsilon():
    assert ORTHONORMAL.epsilon(1e4, 1e-3) == (0.0, 0.0)


def test_fewer_orthonormal_directions_and_a_clip_need_less_noise():
    sigmas = [SlicingProfile(OrthonormalFrame.orthonormal(20, width)).sigma(1.0, 1e-5).upper for width in (1, 5, 20)]
    assert sigmas == sorted(sigmas)
    frame = ORTHONORMAL.frame
    clipped = [SlicingProfile(frame, clip).sigma(1.0, 1e-5).upper for clip in (0.1, 0.4, 1.0)]
    assert clipped == sorted(clipped)
    assert clipped[-1] == ORTHONORMAL.sigma(1.0, 1e-5).upper
    assert clipped[0] == pytest.approx(math.sqrt(0.1) / mu_of(1.0, 1e-5), rel=0.05)


@settings(max_examples=20)
@given(st.floats(0, 6), st.floats(0, 6), st.floats(0.2, 5), st.floats(0.2, 5))
def test_delta_falls_with_epsilon_and_with_noise(epsilon, other_epsilon, sigma, other_sigma):
    low, high = sorted((epsilon, other_epsilon))
    little, much = sorted((sigma, other_sigma))
    most, least = ORTHONORMAL.delta(low, little), ORTHONORMAL.delta(high, much)
    assert most.upper >= least.upper
    assert most.lower >= least.lower
    assert most.upper >= most.lower


@given(st.floats(0.01, 8), st.floats(0.05, 8))
def test_many_curves_at_once_are_those_of_the_accounting(epsilon, mu):
    (curve,), (slack,) = gaussian_deltas(epsilon, np.array([mu]))
    assert abs(curve - delta_of(epsilon, mu)) <= slack + 1e-12 * curve + 1e-300  # below it floats lose their digits


def test_the_slack_of_the_curve_covers_its_rounding():
    mus = np.geomspace(0.02, 50, 40)
    for epsilon in (0.0, 0.1, 1.0, 5.0):
        curve, slack = gaussian_deltas(epsilon, mus)
        with mpmath.workdps(60):
            exact = [
                mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)
                for mu in map(mpmath.mpf, mus)
            ]
        assert all(abs(c - e) <= s + 1e-300 for c, e, s in zip(curve, exact, slack, strict=True))
    assert gaussian_deltas(1.0, np.zeros(1))[0] == gaussian_deltas(0.0, np.zeros(1))[0] == 0


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_the_curve_is_convex_in_the_square_up_to_its_threshold(epsilon):
    """mu^2 <= 2 (sqrt(1 + epsilon^2) - 1): below it a law that is less spread has the smaller delta."""
    threshold = 2 * (math.sqrt(1 + epsilon**2) - 1)
    step = 1e-3 * threshold

    def bend(square):
        left, middle, right = (delta_of(epsilon, math.sqrt(square + shift)) for shift in (-step, 0.0, step))
        return left - 2 * middle + right

    assert bend(0.9 * threshold) > 0 > bend(1.1 * threshold)


def test_orthonormal_is_better_at_small_delta_and_not_at_every_delta():
    assert ORTHONORMAL.sigma(1.0, 1e-5).upper < INDEPENDENT.sigma(1.0, 1e-5).lower
    assert ORTHONORMAL.delta(1.0, 1.0).upper < INDEPENDENT.delta(1.0, 1.0).lower
    assert ORTHONORMAL.delta(1.0, 0.5).lower > INDEPENDENT.delta(1.0, 0.5).upper


def test_a_transform_is_no_rougher_than_it_says(monkeypatch):
    monkeypatch.setattr(law, "_STEP", 0.05)
    monkeypatch.setattr(law, "RATIO", 1 + 1e-13)
    frame = OrthonormalFrame.independent(6, 7)
    step = 0.05 / 6
    one = -np.diff(law._survival(frame, step * np.arange(round(1 / step) + 1)))
    direct = one
    for _ in range(frame.blocks - 1):
        direct = np.convolve(direct, one)
    found = law._of_blocks(frame)
    size = min(found.mass.size, direct.size)
    assert found.members[:-1].max() == 1
    assert np.linalg.norm(found.mass[: size - 1] - direct[: size - 1]) <= found.roughness + 1e-15 < 1e-12


def test_a_coarse_law_is_a_wider_bracket_of_the_same_mass():
    fine = INDEPENDENT.law
    coarse = fine.coarse(1.01)
    assert coarse.mass.size < fine.mass.size / 20
    assert coarse.mass.sum() == pytest.approx(fine.mass.sum(), rel=1e-12)
    assert coarse.mass @ coarse.low <= fine.mass @ fine.low
    assert fine.mass @ fine.high <= coarse.mass @ coarse.high <= 1.01 * (fine.mass @ fine.high)
    assert coarse.misplaced == pytest.approx(fine.misplaced)
