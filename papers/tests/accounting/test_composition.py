import builtins
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from sfumato_papers.accounting import SlicingProfile, privacy_loss

from sfumato.errors import BudgetError, RequestError
from sfumato.trusted.budget import epsilon_of
from sfumato.trusted.random_directions import OrthonormalFrame

DELTA = 1e-5
FRAMES = [OrthonormalFrame(100, 1, 1), OrthonormalFrame(20, 5), OrthonormalFrame(20, 1, 5), OrthonormalFrame(9, 1, 9)]


@pytest.mark.parametrize(
    ("frame", "clip", "epsilon"),
    [
        (FRAMES[0], None, 1.0),
        (FRAMES[1], None, 1.0),
        (FRAMES[1], 0.3, 4.0),
        (FRAMES[2], None, 0.5),
        (FRAMES[3], None, 1.0),
    ],
)
def test_the_loss_of_one_release_lies_just_above_the_exact_curve(frame, clip, epsilon):
    profile = SlicingProfile(frame, clip)
    sigma = profile.sigma(epsilon, DELTA).upper
    loss = privacy_loss(profile, sigma)
    exact = profile.epsilon(sigma, DELTA).upper
    assert exact <= loss.get_epsilon_for_delta(DELTA) <= exact * 1.01
    for other in np.linspace(0.0, 1.2 * epsilon, 5):
        assert profile.delta(other, sigma).upper <= loss.get_delta_for_epsilon(other) * (1 + 1e-9)


def test_a_whole_frame_composes_as_the_gaussian_mechanism_does():
    loss = privacy_loss(SlicingProfile(OrthonormalFrame(9, 1, 9)), 5.0)
    together = loss.compose(pld.from_gaussian_mechanism(4.0))
    exact = epsilon_of(math.hypot(1 / 5, 1 / 4), DELTA)
    assert exact <= together.get_epsilon_for_delta(DELTA) <= exact * 1.005


@pytest.mark.parametrize("frame", FRAMES[1:3], ids=str)
def test_with_another_release_it_costs_more_than_each_and_less_than_their_sum(frame):
    profile = SlicingProfile(frame)
    sigma = profile.sigma(1.0, DELTA).upper
    loss, other = privacy_loss(profile, sigma), pld.from_gaussian_mechanism(4.0)
    together = loss.compose(other).get_epsilon_for_delta(2 * DELTA)
    assert 1.0 < together < 1.0 + other.get_epsilon_for_delta(DELTA)


def test_two_releases_are_never_cheaper_than_a_simulation_of_them():
    profile = SlicingProfile(OrthonormalFrame.orthonormal(10, 3))
    rng, sigma, epsilon = np.random.default_rng(3), 0.7, 1.0
    squares = rng.beta(1.5, 3.5, size=(2, 200_000)).sum(axis=0) / sigma**2
    losses = squares / 2 + np.sqrt(squares) * rng.normal(size=squares.size)
    seen = np.maximum(0.0, -np.expm1(epsilon - losses))
    claim = privacy_loss(profile, sigma).self_compose(2).get_delta_for_epsilon(epsilon)
    assert seen.mean() - 4 * seen.std() / math.sqrt(seen.size) <= claim
    assert seen.mean() == pytest.approx(claim, rel=0.02)


def test_another_grid_is_kept():
    loss = privacy_loss(SlicingProfile(OrthonormalFrame(20, 1, 5)), 2.0, interval=1e-3)
    loss.compose(pld.from_gaussian_mechanism(4.0, value_discretization_interval=1e-3))


def test_noise_that_promises_nothing_is_refused():
    for sigma in (0.0, math.nan, 0.05):
        with pytest.raises(BudgetError, match="sigma"):
            privacy_loss(SlicingProfile(OrthonormalFrame(9, 1, 9)), sigma)


def test_a_missing_package_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("dp_accounting"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RequestError, match="dp-accounting"):
        privacy_loss(SlicingProfile(OrthonormalFrame(9, 1, 9)), 2.0)
