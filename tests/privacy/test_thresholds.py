"""The threshold above which a discovered value is named: the exact tail, for all keys that one change creates."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.noise import SeededNoise
from sfumato.trusted.thresholds import tail, threshold

SIGMAS = st.floats(0.05, 1e6)
DELTAS = st.floats(1e-15, 0.4)


def exact_tail(distance: float, sigma: float) -> mpmath.mpf:
    """P(sigma N >= distance) to sixty digits."""
    with mpmath.workdps(60):
        return mpmath.erfc(mpmath.mpf(distance) / (mpmath.mpf(sigma) * mpmath.sqrt(2))) / 2


def partitions(total: int, most: int):
    """All ways to write a number as a sum of numbers up to `most`, largest first."""
    if total == 0:
        yield ()
    for first in range(min(total, most), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


@given(st.floats(-5, 30), SIGMAS)
def test_the_tail_is_never_below_the_exact_one(sigmas, sigma):
    distance = sigmas * sigma
    assert tail(distance, sigma) >= exact_tail(distance, sigma)
    assert tail(distance, sigma) <= exact_tail(distance, sigma) * (1 + 1e-9)


@given(SIGMAS, st.integers(1, 6), DELTAS)
def test_a_key_of_one_person_is_shown_with_probability_delta_at_most(sigma, records, delta):
    above = threshold(sigma, records, delta)
    for held in partitions(records, records):
        assert sum(exact_tail(above + mpmath.mpf("0.5") - count, sigma) for count in held) <= delta


@given(SIGMAS, st.integers(1, 6), DELTAS)
def test_the_threshold_is_no_higher_than_the_bound_asks_for(sigma, records, delta):
    below = threshold(sigma, records, delta) - 2
    assert records * exact_tail(below + mpmath.mpf("0.5") - records, sigma) > delta * (1 - 1e-9)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.5])
def test_the_tail_is_the_sum_of_what_the_noise_draws(sigma):
    """P(noise = n) is the normal mass of [n - 1/2, n + 1/2): the sum over all n above T is the tail from T + 1/2 on."""
    for above in range(4):
        mass = [exact_tail(n - 0.5, sigma) - exact_tail(n + 0.5, sigma) for n in range(above + 1, above + 400)]
        assert float(mpmath.fsum(mass)) == pytest.approx(float(exact_tail(above + 0.5, sigma)), rel=1e-12)


def test_the_noise_crosses_as_often_as_the_bound_says():
    sigma, delta, draws = 3.0, 0.02, 400_000
    above = threshold(sigma, 1, delta)
    crossed = np.mean(1 + SeededNoise(0).rounded_gaussian(sigma, draws) > above)
    expected = float(exact_tail(above - 0.5, sigma))
    assert expected <= delta
    assert crossed == pytest.approx(expected, abs=5 * math.sqrt(expected / draws))
