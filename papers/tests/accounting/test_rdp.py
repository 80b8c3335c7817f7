import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import hyp1f1
from sfumato_papers.accounting import SlicingProfile, epsilon_by_renyi, log_moment, renyi, sigma_by_renyi
from sfumato_papers.accounting.rdp import log_kummer

from sfumato.errors import BudgetError, RequestError
from sfumato.trusted.random_directions import OrthonormalFrame

DELTA = 1e-5


@given(st.floats(0.5, 30), st.floats(0.5, 400), st.floats(0, 400))
def test_the_series_is_kummers_function(a, b, c):
    a, b = sorted((a, b))
    assert log_kummer(a, b, c) == pytest.approx(math.log(hyp1f1(a, b, c)), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(("a", "b", "c"), [(0.5, 392.0, 1e3), (0.5, 392.0, 2e4), (10.0, 50.0, 5e3)])
def test_the_series_is_kummers_function_where_that_overflows(a, b, c):
    assert log_kummer(a, b, c) == pytest.approx(float(mpmath.log(mpmath.hyp1f1(a, b, c))), rel=1e-9)


@pytest.mark.parametrize(
    "frame",
    [OrthonormalFrame(20, 5), OrthonormalFrame(20, 1, 5), OrthonormalFrame(20, 3, 4), OrthonormalFrame(100, 20)],
)
@pytest.mark.parametrize("c", [0.1, 1.0, 3.0])
def test_the_moment_is_that_of_the_law(frame, c):
    rng = np.random.default_rng(2)
    shares = rng.beta(frame.block / 2, (frame.dimension - frame.block) / 2, size=(frame.blocks, 200_000)).sum(axis=0)
    draws = np.exp(c * shares)
    error = draws.std() / math.sqrt(draws.size) / draws.mean()
    assert abs(math.log(draws.mean()) - log_moment(frame, c)) < 5 * error


@given(
    st.integers(2, 60).flatmap(lambda d: st.tuples(st.just(d), st.integers(1, d))),
    st.floats(1.01, 60),
    st.floats(0.3, 5),
)
def test_orthonormal_directions_are_never_worse_than_independent_ones(shape, order, sigma):
    orthonormal = renyi(OrthonormalFrame.orthonormal(*shape), order, sigma)
    assert orthonormal <= renyi(OrthonormalFrame.independent(*shape), order, sigma) * (1 + 1e-9)


@given(st.floats(1.01, 60), st.floats(0.3, 5), st.floats(0.01, 1.0))
def test_a_clip_only_helps(order, sigma, clip):
    frame = OrthonormalFrame.orthonormal(20, 5)
    assert renyi(frame, order, sigma, clip) <= renyi(frame, order, sigma)
    assert renyi(frame, order, sigma, clip) <= order * clip / (2 * sigma**2) * (1 + 1e-9)


@pytest.mark.parametrize(
    "frame",
    [OrthonormalFrame(20, 5), OrthonormalFrame(20, 1, 5), OrthonormalFrame(100, 1, 1), OrthonormalFrame(7, 1, 7)],
)
@pytest.mark.parametrize("sigma", [0.6, 2.0, 6.0])
def test_the_exact_epsilon_is_below_that_of_the_curve(frame, sigma):
    exact = SlicingProfile(frame).epsilon(sigma, DELTA).upper
    assert exact <= epsilon_by_renyi(frame, sigma, DELTA)


@pytest.mark.parametrize(("frame", "sigma"), [(OrthonormalFrame(20, 5), 2.9), (OrthonormalFrame(100, 1, 1), 0.986)])
def test_known_noise_by_the_curve(frame, sigma):
    found = sigma_by_renyi(frame, 1.0, DELTA)
    assert found == pytest.approx(sigma, rel=5e-3)
    assert epsilon_by_renyi(frame, found, DELTA) <= 1.0


def test_the_mean_of_the_divergences_over_the_directions_is_no_bound():
    """The curve with E[T] in place of the moment promises less than what is true."""
    frame = OrthonormalFrame.orthonormal(100, 1)
    sigma = SlicingProfile(frame).sigma(1.0, DELTA).upper
    orders = np.geomspace(1.01, 400, 200)
    wrong = min(
        order * frame.mean / (2 * sigma**2) + math.log1p(-1 / order) - math.log(DELTA * order) / (order - 1)
        for order in orders
    )
    assert wrong < 0.7 * SlicingProfile(frame).epsilon(sigma, DELTA).lower


def test_bad_questions_are_refused():
    frame = OrthonormalFrame(20, 5)
    for order in (1.0, 0.5, math.nan, math.inf):
        with pytest.raises(RequestError, match="order"):
            renyi(frame, order, 1.0)
    for sigma in (0.0, -1.0, math.nan):
        with pytest.raises(RequestError, match="sigma"):
            renyi(frame, 2.0, sigma)
    with pytest.raises(RequestError, match="c is"):
        log_moment(frame, -1.0)
    with pytest.raises(BudgetError, match="delta"):
        epsilon_by_renyi(frame, 1.0, 0.0)
    with pytest.raises(BudgetError, match="epsilon"):
        sigma_by_renyi(frame, 0.0, DELTA)
