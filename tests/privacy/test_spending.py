"""The privacy_filter of one release: to the last unit, for one record and for all records of a person."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import BudgetError, BudgetExceededError
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED, PrivacyFilter, mu_of_units, units_of


@given(st.floats(1e-6, 90.0))
def test_a_cost_is_never_rounded_down(mu):
    assert Fraction(units_of(mu)) >= Fraction(mu) ** 2 * UNITS_PER_MU_SQUARED


@given(st.integers(1, 2**53))
def test_the_mu_of_units_does_not_cost_more(units):
    mu = mu_of_units(units)
    assert units_of(mu) <= units < units_of(math.nextafter(mu, math.inf)) + 1


def test_some_roots_are_rounded_up_and_taken_back():
    """The check above would not see it, were there none."""
    assert any(units_of(math.sqrt(units / UNITS_PER_MU_SQUARED)) > units for units in range(1, 10_000))


@pytest.mark.parametrize("records", [1, 2, 3, 10])
def test_a_measurement_costs_what_it_lets_out_of_all_records_of_a_person(records):
    mu = 0.1
    cost = records**2 * units_of(mu)
    privacy_filter = PrivacyFilter(cost, records)
    privacy_filter.spend(mu)
    assert privacy_filter.spent == cost
    with pytest.raises(BudgetExceededError):
        PrivacyFilter(cost - 1, records).spend(mu)


def test_a_filter_that_is_empty_pays_for_nothing():
    privacy_filter = PrivacyFilter(units_of(0.1))
    privacy_filter.spend(0.1)
    with pytest.raises(BudgetExceededError) as refusal:
        privacy_filter.spend(1e-6)
    assert refusal.value.remaining == 0
    assert privacy_filter.spent == units_of(0.1)


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan, math.inf])
def test_a_mu_that_is_none_costs_nothing_and_is_refused(mu):
    privacy_filter = PrivacyFilter(10**12)
    with pytest.raises(BudgetError, match="above 0"):
        privacy_filter.spend(mu)
    assert privacy_filter.spent == 0


def test_a_delta_is_spent_once_and_to_the_last_digit():
    privacy_filter = PrivacyFilter(10**12, 1, 3 * 2.0**-20)
    for _ in range(3):
        privacy_filter.spend(0.1, 2.0**-20)
    with pytest.raises(BudgetExceededError, match="delta"):
        privacy_filter.spend(0.1, 1e-300)
    assert privacy_filter.spent == 3 * units_of(0.1)
    with pytest.raises(BudgetError, match="between 0 and 1"):
        privacy_filter.spend(0.1, -1e-9)


def test_a_measurement_that_is_refused_for_its_mu_costs_no_delta():
    privacy_filter = PrivacyFilter(units_of(0.1), 1, 1e-7)
    with pytest.raises(BudgetExceededError):
        privacy_filter.spend(0.2, 1e-7)
    privacy_filter.spend(0.1, 1e-7)
