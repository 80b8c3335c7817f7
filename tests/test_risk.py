"""What an attacker gains: the bounds against attackers who do their best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.artefact.risk import Risk, mu_of_advantage


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_the_best_test_of_a_gaussian_reaches_the_bound_and_not_more(mu):
    rng = np.random.default_rng(0)
    absent, present = rng.normal(0, 1, 400_000), rng.normal(mu, 1, 400_000)
    for threshold in (-1.0, mu / 2, 2.0):
        alarms, hits = (absent > threshold).mean(), (present > threshold).mean()
        assert hits == pytest.approx(Risk(mu).hits(float(alarms)), abs=0.005)
    thresholds = np.linspace(-4, 8, 200)
    gains = [(present > cut).mean() - (absent > cut).mean() for cut in thresholds]
    assert max(gains) == pytest.approx(Risk(mu).advantage, abs=0.005)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("values", [2, 10, 100])
def test_no_guess_at_a_secret_value_beats_the_bound(mu, values):
    """The record says one of several values, each as likely; the release is its counts with noise 1/mu."""
    rng = np.random.default_rng(0)
    secret = rng.integers(values, size=40_000)
    counts = rng.normal(0, 1 / mu, (len(secret), values))
    counts[np.arange(len(secret)), secret] += 1
    right = (counts.argmax(axis=1) == secret).mean()
    assert 1 / values < right <= Risk(mu).secret_guess(1 / values) + 0.005


def test_no_noise_at_all_is_certainty_and_nothing_released_is_nothing():
    assert Risk(60.0).advantage == Risk(60.0).membership_guess == 1
    assert Risk(0.0).advantage == 0
    assert Risk(0.0).membership_guess == 0.5
    assert Risk(0.0).secret_guess(0.2) == pytest.approx(0.2)
    assert Risk(1.0).hits(0.0) == 0
    assert Risk(1.0).hits(1.0) == 1


def test_what_a_list_of_values_may_give_away_adds_to_every_chance():
    assert Risk(1.0, 0.01).advantage == pytest.approx(Risk(1.0).advantage + 0.01)
    assert Risk(1.0, 0.01).hits(0.1) == pytest.approx(Risk(1.0).hits(0.1) + 0.01)
    assert Risk(1.0, 0.01).hits(0.0) == 0.01


@given(st.floats(0.001, 0.999))
def test_mu_can_be_chosen_by_the_advantage(advantage):
    assert Risk(mu_of_advantage(advantage)).advantage == pytest.approx(advantage, abs=1e-9)
