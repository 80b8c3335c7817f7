"""From noisy counts of kinds to a unit and weights; and which cells of a tail were seen."""

import numpy as np
import pytest

from sfumato.fitting.mechanisms.counts.assembly import unseen_tail
from sfumato.fitting.mechanisms.counts.rates import add_silent, finest_unit, rates_of, region_starts


@pytest.mark.parametrize(
    ("counts", "sigma", "unit"),
    [
        ([0, 0, 800, 150, 50], 1.0, 2),  # all are multiples of the second unit
        ([5, 3, 800, 150, 50], 1.0, 2),  # but for less than a hundredth
        ([40, 0, 800, 150, 50], 1.0, 0),  # four of a hundred are multiples of none
        ([0, 60, 800, 150, 50], 1.0, 1),
        ([0, 0, 800, 150, 50], 200.0, 0),  # too noisy to believe
        ([1000], 1.0, 0),
        ([-50, -40, -30], 1.0, 0),
    ],
)
def test_the_unit_is_the_coarsest_that_almost_all_values_are_multiples_of(counts, sigma, unit):
    assert finest_unit(np.array(counts, dtype=float), sigma) == unit


def test_noise_alone_is_no_excess():
    rng = np.random.default_rng(0)
    codes = np.array([800.0, 100.0, 80.0, 20.0])
    seen = 10 * codes + rng.normal(0, 30, 4)
    assert np.array_equal(rates_of(seen, 30.0, codes, np.ones(4, dtype=bool)), np.ones(4))


def test_an_excess_is_measured_against_the_usual_kinds():
    codes = np.array([800.0, 100.0, 80.0, 20.0])
    rates = rates_of(np.array([8_000.0, 1_000.0, 9_000.0, 200.0]), 5.0, codes, np.ones(4, dtype=bool))
    assert rates[2] == pytest.approx(9_000 / 80 / 10, rel=0.01)
    assert rates[[0, 1, 3]].tolist() == [1, 1, 1]


def test_what_is_off_the_unit_gets_next_to_nothing_but_never_nothing():
    codes = np.array([800.0, 100.0, 80.0, 20.0])
    possible = np.array([False, True, True, True])
    rates = rates_of(np.array([3.0, 500.0, 400.0, 100.0]), 5.0, codes, possible)
    assert rates.tolist() == [0, 1, 1, 1]
    every = add_silent(rates[None], codes)
    assert (every > 0).all()
    assert every[0, 0] * codes[0] < 1e-5 * (every[0, 1:4] @ codes[1:])


def test_nothing_seen_leaves_possible_kinds_alike():
    possible = np.array([False, True, True])
    assert rates_of(np.array([5.0, -3.0, -1.0]), 10.0, np.array([10.0, 5.0, 5.0]), possible).tolist() == [0, 1, 1]


def test_regions_hold_about_the_same():
    starts = region_starts(list(range(10, 101, 10)), np.ones(10), 5, 100)
    assert starts == [0, 20, 40, 60, 80]
    assert region_starts([10, 20], np.zeros(2), 5, 20) == [0]


def test_a_tail_ends_where_more_than_noise_was_seen():
    assert unseen_tail(np.array([1.0, -1.0, 0.5, 50.0, 90.0]), 1.0, 1e6) == 3
    assert unseen_tail(np.array([3.5, 0.0, 0.0]), 1.0, 1e6) == 0  # alone
    assert unseen_tail(np.array([1.0, 1.4, 1.4, 1.4]), 1.0, 1e6) == 2  # together
    assert unseen_tail(np.zeros(4), 1.0, 1e6) == 4
    assert unseen_tail(np.array([1.0, 1.0, 1.4]), 1.0, 150.0) == 1  # more than a hundredth of all
