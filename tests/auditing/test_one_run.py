"""The bounds of an audit hold: a mechanism that spends exactly mu is told to spend more no oftener than stated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from sfumato.auditing.canaries import independent
from sfumato.auditing.gdp import most_provable, mu_lower_bound
from sfumato.auditing.one_run import most_provable as most_provable_by_guesses
from sfumato.auditing.one_run import mu_from_guesses

TRIALS = 250


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_a_gaussian_at_the_claim_exceeds_its_bound_no_oftener_than_stated(mu):
    """At nine in ten, so that a bound that is too bold would show."""
    rng = np.random.default_rng(0)
    above = [
        mu_lower_bound(rng.normal(0, 1, (300, 2)), rng.normal(mu / np.sqrt(2), 1, (300, 2)), 0.9) > mu
        for _ in range(TRIALS)
    ]
    assert binom.sf(sum(above) - 1, TRIALS, 0.1) > 1e-6


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("guesses", [60, 15])
def test_canaries_in_one_gaussian_release_do_not_exceed_it_either(mu, guesses):
    """Independent coordinates are the best an attacker can have; of some canaries only the surest are guessed."""
    rng = np.random.default_rng(0)
    above = 0
    for _ in range(TRIALS):
        coins = 2 * rng.integers(0, 2, 60) - 1
        scores = mu / 2 * coins + rng.normal(size=60)
        surest = np.argsort(-np.abs(scores))[:guesses]
        right = int((np.sign(scores[surest]) == coins[surest]).sum())
        above += mu_from_guesses(right, guesses, 60, 0.9) > mu
    assert binom.sf(above - 1, TRIALS, 0.1) > 1e-6


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
def test_canaries_that_share_their_noise_do_not_exceed_it(mu):
    """One answer that all coins move, so that guesses are right or wrong together."""
    rng, canaries = np.random.default_rng(0), 12
    above = 0
    for _ in range(TRIALS):
        coins = 2 * rng.integers(0, 2, canaries) - 1
        told = np.sign(mu / 2 * coins.sum() + rng.normal())
        above += mu_from_guesses(int((told == coins).sum()), canaries, canaries, 0.9) > mu
    assert binom.sf(above - 1, TRIALS, 0.1) > 1e-6


@given(st.integers(1, 200), st.integers(0, 200), st.floats(0.9, 0.9999))
def test_more_right_guesses_never_lower_the_bound(canaries, right, confidence):
    right = min(right, canaries - 1)
    less, more = (mu_from_guesses(one, canaries, canaries, confidence) for one in (right, right + 1))
    assert 0 <= less <= more + 1e-9
    assert more <= most_provable_by_guesses(canaries, confidence) + 1e-9


def test_the_bound_is_of_use():
    assert mu_from_guesses(5_000, 10_000, 10_000) == 0
    assert mu_from_guesses(200, 200, 200) > 1
    assert mu_from_guesses(100, 100, 1_000) > mu_from_guesses(75, 100, 1_000) > 0
    with pytest.raises(ValueError, match="cannot be"):
        mu_from_guesses(3, 2, 5)


def test_what_never_looks_alike_reaches_what_can_be_proved():
    rng = np.random.default_rng(0)
    quiet, loud = rng.normal(0, 1, (500, 1)), rng.normal(100, 1, (500, 1))
    assert mu_lower_bound(quiet, loud, 0.999) == pytest.approx(most_provable(500, 0.999))


def test_one_noise_in_two_answers_is_seen():
    rng = np.random.default_rng(0)
    sides = []
    for move in (0.0, 1.0):
        noise = rng.normal(size=(4_000, 1))
        sides.append(noise * [1.0, 1.001] + move * np.array([1.0, 0.5]))
    assert mu_lower_bound(*sides) > 4


def test_independent_canaries_are_chosen():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(6, 4))
    vectors = np.vstack([vectors, vectors[0] + vectors[1], np.zeros(4)])
    chosen = independent(vectors @ vectors.T)
    assert len(chosen) == 4
    assert np.linalg.matrix_rank(vectors[chosen]) == 4
    assert len(independent(np.zeros((3, 3)))) == 0
