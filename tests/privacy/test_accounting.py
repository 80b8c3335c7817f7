import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, NeighboringRelation
from dp_accounting.gaussian_mechanism import get_epsilon_gaussian, get_sigma_gaussian
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import BudgetError, BudgetExceededError
from sfumato.trusted.budget import Budget, delta_of, epsilon_of, mu_of, noise_scale
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED, PrivacyFilter, mu_of_units, units_of

EPSILONS = (0.01, 0.1, 0.5, 1, 2, 5, 10, 20)
DELTAS = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)


def slow_delta(epsilon: float, mu: float) -> mpmath.mpf:
    with mpmath.workdps(80):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
class TestTheCurve:
    def test_delta_agrees_with_80_digits(self, epsilon, delta):
        mu = mu_of(epsilon, delta)
        assert abs(delta_of(epsilon, mu) / slow_delta(epsilon, mu) - 1) < 1e-12

    def test_mu_keeps_the_claim_and_wastes_nothing(self, epsilon, delta):
        mu = mu_of(epsilon, delta)
        assert slow_delta(epsilon, mu) <= delta
        assert slow_delta(epsilon, mu * (1 + 1e-9)) > delta

    def test_epsilon_is_the_inverse(self, epsilon, delta):
        assert epsilon_of(mu_of(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)

    def test_dp_accounting_agrees(self, epsilon, delta):
        mu = mu_of(epsilon, delta)
        assert 1 / mu == pytest.approx(get_sigma_gaussian(epsilon, delta, tol=1e-14), rel=1e-9)
        assert epsilon_of(mu, delta) == pytest.approx(get_epsilon_gaussian(1 / mu, delta, tol=1e-14), rel=1e-9)


@pytest.mark.parametrize("shares", [(1.0,), (0.35, 0.45, 0.2), (0.1,) * 10])
@pytest.mark.parametrize("epsilon", [0.2, 1, 4])
def test_composition_agrees_with_the_pld_accountant(shares, epsilon):
    budget = Budget(epsilon, 1e-6)
    accountant = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE)
    mus = budget.split(shares)
    for mu in mus:
        accountant.compose(GaussianDpEvent(1 / mu))
    exact = epsilon_of(math.hypot(*mus), budget.delta)
    assert exact <= epsilon
    assert -1e-9 <= accountant.get_epsilon(budget.delta) / exact - 1 <= 1e-4


def test_extremes_neither_overflow_nor_vanish():
    assert delta_of(0.0, 100.0) == pytest.approx(1.0)
    assert delta_of(1000.0, 60.0) == pytest.approx(float(slow_delta(1000.0, 60.0)), rel=1e-9)
    assert 0 < delta_of(1e-4, 1e-5) < 1e-9
    assert epsilon_of(1e-6, 0.01) == 0.0


@given(st.floats(1e-5, 50))
def test_a_cost_is_the_square_rounded_up(mu):
    exact = Fraction(mu) ** 2 * UNITS_PER_MU_SQUARED
    assert exact <= units_of(mu) < exact + 1


@given(st.integers(1, 10**15))
def test_the_mu_of_a_cost_costs_just_that(units):
    assert units_of(mu_of_units(units)) == units


@given(st.floats(0.01, 20), st.sampled_from(DELTAS), st.lists(st.floats(0.01, 1), min_size=1, max_size=8))
def test_a_split_never_costs_more_than_the_budget(epsilon, delta, shares):
    budget = Budget(epsilon, delta)
    spent = sum(map(units_of, budget.split(shares)))
    assert budget.units - len(shares) <= spent <= budget.units


@given(st.lists(st.floats(0.001, 0.5), max_size=40))
def test_a_filter_is_never_overdrawn_and_a_refusal_costs_nothing(mus):
    privacy_filter, taken = PrivacyFilter(Budget(1.0, 1e-6).units), 0
    for mu in mus:
        if units_of(mu) <= privacy_filter.units - taken:
            privacy_filter.spend(mu)
            taken += units_of(mu)
        else:
            with pytest.raises(BudgetExceededError) as refusal:
                privacy_filter.spend(mu)
            assert refusal.value.requested > refusal.value.remaining
        assert privacy_filter.spent == taken <= privacy_filter.units


def test_noise_is_sensitivity_over_mu_and_rounds_up():
    for sensitivity, mu in ((1.0, 0.3), (math.sqrt(14), 0.2938), (math.sqrt(2), 1e-3)):
        assert Fraction(noise_scale(sensitivity, mu)) >= Fraction(sensitivity) / Fraction(mu)
        assert noise_scale(sensitivity, mu) == pytest.approx(sensitivity / mu, rel=1e-13)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(BudgetError, match="epsilon"):
        Budget(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [0, -1, 1, 2, math.nan])
def test_a_delta_that_is_none_is_refused(delta):
    with pytest.raises(BudgetError, match="delta"):
        Budget(1.0, delta)


def test_a_budget_too_small_to_count_or_to_split_is_refused():
    with pytest.raises(BudgetError, match="buys nothing"):
        Budget(1e-9, 1e-12)
    with pytest.raises(BudgetError, match="too small to split"):
        Budget(1e-9, 1e-6).split((0.05, 0.95))


def test_a_budget_beyond_meaning_is_refused():
    with pytest.raises(BudgetError, match="promises nothing"):
        Budget(1e7, 1e-6)


def test_numbers_of_other_types_are_numbers():
    assert Budget(np.float32(1), "1e-6") == Budget(1.0, 1e-6)
    for epsilon in ("much", None, 10**400):
        with pytest.raises(BudgetError, match="must be a number"):
            Budget(epsilon, 1e-6)


@pytest.mark.parametrize("mu", [0, -1, math.nan, math.inf])
def test_a_filter_refuses_a_mu_that_is_none(mu):
    with pytest.raises(BudgetError, match="mu"):
        PrivacyFilter(Budget(1, 1e-6).units).spend(mu)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_mu_is_the_last_float_that_keeps_the_claim_with_its_margin(epsilon, delta):
    mu = mu_of(epsilon, delta)
    assert delta_of(epsilon, mu) * (1 + 1e-12) <= delta
    assert delta_of(epsilon, math.nextafter(mu, math.inf)) * (1 + 1e-12) > delta


@pytest.mark.parametrize("mu", [0.05, 0.4, 1.3, 4.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_is_rounded_to_the_side_that_holds(mu, delta):
    assert delta_of(epsilon_of(mu, delta), mu) <= delta


@given(st.floats(0.05, 20), st.integers(1, 50), st.lists(st.floats(0.01, 1), min_size=1, max_size=5))
def test_all_records_of_a_person_cost_no_more_than_the_budget(epsilon, records, shares):
    """mu-GDP for one record is k mu-GDP for k of them: k squared times the cost."""
    budget = Budget(epsilon, 1e-6, records)
    assert records**2 * units_of(budget.mu) <= budget.units
    assert budget.mu == pytest.approx(Budget(epsilon, 1e-6).mu / records, rel=1e-3)
    assert records**2 * sum(map(units_of, budget.split(shares))) <= budget.units


def test_a_budget_that_buys_nothing_for_so_many_records_is_refused():
    assert Budget(1e-5, 1e-6, 1).units < 100**2
    with pytest.raises(BudgetError, match="buys nothing"):
        Budget(1e-5, 1e-6, 100)


@given(st.floats(0.1, 10.0), st.floats(1e-9, 1e-3), st.floats(1e-3, 0.999))
def test_delta_that_is_set_aside_buys_no_mu(epsilon, delta, share):
    aside = share * delta
    budget = Budget(epsilon, delta, delta_keys=aside)
    mu = math.sqrt(budget.units / UNITS_PER_MU_SQUARED)
    assert Fraction(delta_of(epsilon, mu)) + Fraction(aside) <= Fraction(delta)
    assert budget.units < Budget(epsilon, delta).units


def test_more_than_delta_cannot_be_set_aside():
    for aside in (1e-6, 2e-6, -1e-9, math.nan):
        with pytest.raises(BudgetError, match="set aside"):
            Budget(1.0, 1e-6, delta_keys=aside)


def test_what_goes_to_earlier_measurements_is_not_split():
    whole = Budget(1.0, 1e-6, 2)
    rest = Budget(1.0, 1e-6, 2, earlier=whole.units // 3)
    assert 4 * sum(map(units_of, rest.split((1.0, 2.0)))) <= whole.units - whole.units // 3
    assert rest.mu < whole.mu
