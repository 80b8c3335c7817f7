import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sfumato_papers.accounting.shuffling import (
    Clone,
    blanket,
    blanket_delta,
    ceiling,
    ceiling_delta,
    clones,
    clones_delta,
    unlinked,
    unlinked_delta,
    unshuffled,
)
from sfumato_papers.accounting.shuffling.excess import mean_excess

from sfumato.errors import BudgetError, RequestError
from sfumato.trusted.budget import delta_of

N, EPSILON, DELTA = 10**4, 1.0, 1e-5


def test_one_row_of_accounts_stands_in_its_order():
    accounts = [
        unshuffled(EPSILON, DELTA),
        clones(N, EPSILON, DELTA),
        clones(N, EPSILON, DELTA, Clone.STRONGER),
        blanket(N, EPSILON, DELTA, 1),
        ceiling(N, EPSILON, DELTA),
    ]
    kappas = [account.kappa for account in accounts]
    assert kappas == sorted(kappas)
    assert kappas == pytest.approx([0.268, 0.738, 0.83, 1.95, 1.96], rel=5e-3)
    assert [account.proven for account in accounts] == [True, True, False, False, False]
    assert all(account.because for account in accounts)
    assert accounts[0].sigma == pytest.approx(3.73, rel=1e-3)


def slow_clones_delta(n: int, local: float, epsilon: float, probability: float) -> float:
    """Every number of clones and of coins, one by one."""
    w = math.exp(local) / (math.exp(local) + 1)
    total = 0.0
    for clones_, zeros in itertools.product(range(n), range(n + 1)):
        weight = binom.pmf(clones_, n - 1, probability)
        without, with_own = binom.pmf(zeros, clones_, 0.5), binom.pmf(zeros - 1, clones_, 0.5)
        here, there = w * with_own + (1 - w) * without, (1 - w) * with_own + w * without
        total += weight * max(0.0, here - math.exp(epsilon) * there)
    return total


@pytest.mark.parametrize("clone", Clone)
@pytest.mark.parametrize(("n", "local", "epsilon"), [(2, 1.0, 0.2), (12, 2.0, 0.5), (30, 1.5, 0.3)])
def test_clones_are_counted_as_the_slow_count_does(clone, n, local, epsilon):
    slow = slow_clones_delta(n, local, epsilon, clone.probability(local))
    assert slow <= clones_delta(n, local, epsilon, clone) * (1 + 1e-9) <= slow + 1e-9


def test_the_premise_of_the_stronger_clones_fails_for_shadows_of_two_numbers():
    """Two opposite records, a third beside them, and a point where they are e^local times as likely as it."""
    c, local = 1.0, 1.5
    point = np.array([0.0, local / c])
    first, second, third = (
        math.exp(-((point - place) ** 2).sum() / 2) for place in np.array([[c, 0.0], [-c, 0.0], [0.0, -c]])
    )
    assert first == second == pytest.approx(math.exp(local) * third)
    assert third < (first + second) * Clone.STRONGER.probability(local) / 2 * 0.7
    assert third >= (first + second) * Clone.PROVEN.probability(local) / 2 * (1 - 1e-12)


@settings(max_examples=10)
@given(st.floats(0.1, 3), st.floats(0.1, 2), st.integers(2, 60))
def test_stronger_clones_are_more_clones(local, epsilon, n):
    assert clones_delta(n, local, epsilon, Clone.STRONGER) <= clones_delta(n, local, epsilon) + 1e-12


@pytest.mark.parametrize(("values", "masses"), [([-1.0, 0.5, 4.0], [0.6, 0.3, 0.1]), ([-2.0, 2.0], [0.5, 0.5])])
def test_the_positive_part_of_a_sum_is_that_of_a_simulation(values, masses):
    count = 50
    draws = np.random.default_rng(4).choice(values, p=masses, size=(100_000, count)).sum(axis=1)
    seen = np.maximum(draws, 0) / count
    found = mean_excess(np.array(values), np.array(masses), count)
    assert abs(found - seen.mean()) < 5 * seen.std() / math.sqrt(seen.size)


def test_draws_that_do_not_vary_are_their_mean():
    assert mean_excess(np.full(2, 0.5), np.full(2, 0.5), 10) == pytest.approx(0.5)
    assert mean_excess(np.full(2, -0.5), np.full(2, 0.5), 10) == 0


def simulated_shuffle(n: int, kappa: float, epsilon: float, count: int = 100_000) -> tuple[float, float]:
    """Real shuffled tables of the pair at the ceiling: one record at kappa, the others at 0, and the best test."""
    rng = np.random.default_rng(5)
    table = rng.permuted(rng.normal(size=(count, n)) + kappa * (np.arange(n) == 0), axis=1)
    ratio = np.exp(kappa * table - kappa**2 / 2).mean(axis=1)
    seen = np.maximum(0.0, 1 - math.exp(epsilon) / ratio)
    return seen.mean(), seen.std() / math.sqrt(count)


@pytest.mark.parametrize(("n", "kappa", "epsilon"), [(20, 1.5, 0.3), (50, 2.0, 0.3)])
def test_a_shuffled_table_is_told_apart_as_well_as_the_ceiling_says_and_no_account_claims_less(n, kappa, epsilon):
    seen, error = simulated_shuffle(n, kappa, epsilon)
    limit = ceiling_delta(n, epsilon, kappa)
    assert seen - 5 * error <= limit
    assert seen == pytest.approx(limit, abs=5 * error + 0.01 * limit)
    assert seen - 5 * error <= blanket_delta(n, epsilon, kappa, 1)
    assert seen - 5 * error <= blanket_delta(n, epsilon, kappa, 3)


@pytest.mark.parametrize("width", [1, 4])
def test_the_blanket_is_the_simulated_bound(width):
    """Every record is drawn whole; with the blanket's share of its density it counts."""
    n, kappa, epsilon, count = 40, 1.2, 0.2, 20_000
    c, rng = kappa / 2, np.random.default_rng(6)
    seen = rng.normal(size=(count, n, width))
    seen[..., 0] -= c
    radius, along = np.linalg.norm(seen, axis=2), seen[..., 0]
    kept = rng.random((count, n)) < np.exp(
        -((radius + c) ** 2) / 2 + ((seen**2).sum(axis=2) + 2 * c * along + c * c) / 2
    )
    loss = np.exp(c * (radius + along)) - math.exp(epsilon) * np.exp(c * (radius - along))
    bound = np.maximum((kept * loss).sum(axis=1), 0) / n
    assert blanket_delta(n, epsilon, kappa, width) == pytest.approx(
        bound.mean(), abs=5 * bound.std() / math.sqrt(count) + 0.01 * bound.mean()
    )


@pytest.mark.slow
def test_the_integral_of_a_blanket_is_fine_enough(monkeypatch):
    coarse = blanket(N, EPSILON, DELTA, 20).kappa
    module = sys.modules["sfumato_papers.accounting.shuffling.blanket"]  # the package has a function of its name
    monkeypatch.setattr(module, "_SHELLS", 2 * module._SHELLS)
    monkeypatch.setattr(module, "_ANGLES", 2 * module._ANGLES)
    assert blanket(N, EPSILON, DELTA, 20).kappa == pytest.approx(coarse, rel=1e-4)


@settings(max_examples=15)
@given(st.floats(0.2, 3), st.floats(0.2, 2), st.sampled_from([100, 10**4]))
def test_the_blanket_never_claims_less_than_the_ceiling(kappa, epsilon, n):
    limit, claim = ceiling_delta(n, epsilon, kappa), blanket_delta(n, epsilon, kappa, 1)
    assert limit <= claim * 1.02 + 1e-9
    assert limit <= delta_of(epsilon, kappa) * 1.02 + 1e-9


def test_wider_shadows_gain_less():
    deltas = [blanket_delta(N, EPSILON, 1.5, width) for width in (1, 5, 20)]
    assert deltas == sorted(deltas)


def test_one_unlinked_slice_is_a_blanket_and_more_cost_more():
    one = blanket_delta(N, EPSILON, 1.9, 1)
    assert one <= unlinked_delta(N, EPSILON, 1.9, 1) <= 1.1 * one
    assert unlinked_delta(N, EPSILON, 1.9, 5) > 2 * one


@pytest.mark.slow
@pytest.mark.parametrize(("slices", "kappa"), [(1, 1.94), (5, 1.82), (20, 1.67), (100, 1.24)])
def test_known_unlinked_kappas(slices, kappa):
    found = unlinked(N, EPSILON, DELTA, slices)
    assert kappa <= found.kappa <= 1.03 * kappa
    assert not found.proven


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "delta", "stronger", "blankets", "limit"),
    [
        (10**4, 1e-5, 0.83, (1.95, 1.88, 1.66, 1.13), 1.96),
        (10**5, 1e-5, 1.08, (2.32, 2.24, 2.01, 1.44), 2.32),
        (10**6, 1e-5, 1.32, (2.66, 2.58, 2.34, 1.72), 2.66),
        (10**4, 1e-6, 0.76, (1.80, 1.74, 1.56, 1.10), 1.81),
        (10**5, 1e-6, 1.01, (2.15, 2.09, 1.89, 1.39), 2.16),
        (10**6, 1e-6, 1.24, (2.48, 2.41, 2.21, 1.66), 2.48),
    ],
)
def test_known_kappas(n, delta, stronger, blankets, limit):
    assert clones(n, EPSILON, delta, Clone.STRONGER).kappa == pytest.approx(stronger, rel=8e-3)
    assert ceiling(n, EPSILON, delta).kappa == pytest.approx(limit, rel=8e-3)
    for width, kappa in zip((1, 5, 20, 100), blankets, strict=True):
        assert kappa * 0.995 <= blanket(n, EPSILON, delta, width).kappa <= kappa * 1.03


def test_bad_questions_are_refused():
    for records in (1, 0, 2.5, True):
        with pytest.raises(RequestError, match="records"):
            clones(records, 1.0, 1e-5)
    with pytest.raises(RequestError, match="width"):
        blanket(100, 1.0, 1e-5, 0)
    with pytest.raises(BudgetError, match="epsilon"):
        ceiling(100, 0.0, 1e-5)
    with pytest.raises(BudgetError, match="delta"):
        unlinked(100, 1.0, 1.0, 2)


def test_a_shuffle_never_costs_anything():
    """Of two records there is little to hide among, and still no less than the mechanism alone gives."""
    alone = unshuffled(EPSILON, DELTA).kappa
    assert clones(2, EPSILON, DELTA).kappa == alone
    assert blanket(2, EPSILON, DELTA, 3).kappa >= alone
