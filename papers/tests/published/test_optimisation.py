"""The alternating search: its budget, its noise, and that it does not search."""

import math

import numpy as np
import pytest
from sfumato_papers.liu.budget import claimed_epsilon, covariance_epsilons, largest_gammas, mean_bounds
from sfumato_papers.liu.neighbours import mean_shifts
from sfumato_papers.liu.objective import objective

from tests.published.making import DELTA, planned, synthetic


@pytest.fixture(scope="module", params=["leave", "both"])
def reading(request):
    return request.param


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_theorem_1_is_used_up(reading, epsilon):
    X, y = synthetic(0)
    fitted, plan = planned(X, y, epsilon, reading)
    claimed = claimed_epsilon(plan.map_epsilon, plan.mean_epsilons, plan.gammas, fitted.counts)
    assert claimed == pytest.approx(epsilon)
    each = plan.mean_epsilons + covariance_epsilons(plan.gammas, fitted.counts) + plan.map_epsilon
    assert np.allclose(each, epsilon)  # (20b) is tight in every class: nothing is left for (25)


def test_every_mean_keeps_10_and_uses_it_up(reading):
    X, y = synthetic(1)
    fitted, plan = planned(X, y, 1.0, reading)
    for k in range(5):
        shifts = mean_shifts(X, y, fitted, k, reading)
        lengths = np.einsum("ni,ni->n", shifts, np.linalg.solve(plan.mean_covariances[k], shifts.T).T)
        assert lengths.max() == pytest.approx(plan.mean_epsilons[k] ** 2 / (2 * math.log(2 / DELTA)), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_budget_never_moves(reading, seed, epsilon):
    _, plan = planned(*synthetic(seed), epsilon, reading)
    assert plan.map_epsilon == pytest.approx(epsilon / 3, abs=1e-12)
    assert len(plan.objectives) == 2
    assert plan.objectives[0] == pytest.approx(plan.objectives[1], abs=1e-9)


def test_rounds_are_limited(monkeypatch):
    monkeypatch.setattr("sfumato_papers.liu.optimisation._ROUNDS", 1)
    assert len(planned(*synthetic(0), 1.0, "leave")[1].objectives) == 1


def test_gammas_are_those_of_22(reading):
    fitted, plan = planned(*synthetic(2), 1.0, reading)
    stationary = 4 / 3 * np.trace(fitted.precisions, axis1=1, axis2=2)
    largest = 2 * fitted.counts / 9  # epsilon_0 = epsilon_k = 1/3 at the start
    assert np.allclose(plan.gammas, np.minimum(stationary, largest))
    assert (plan.gammas < largest - 1e-9).any()


def test_gammas_are_the_least_of_the_objective():
    fitted, plan = planned(*synthetic(2), 100.0, "leave")
    least = objective(fitted, plan.gammas, plan.mean_covariances, plan.outcomes[:1])
    for factor in (0.9, 1.1):
        assert objective(fitted, factor * plan.gammas, plan.mean_covariances, plan.outcomes[:1]) > least


def test_prices_and_bounds():
    counts = np.array([30, 60])
    assert covariance_epsilons(np.array([10.0, 10.0]), counts).tolist() == [0.5, 0.25]
    assert largest_gammas(np.array([0.5, 0.25]), counts).tolist() == [10.0, 10.0]
    assert mean_bounds(np.array([2.0]), 2 / math.e**2).tolist() == pytest.approx([1.0])
    assert claimed_epsilon(0.1, np.array([0.2, 0.3]), np.array([10.0, 10.0]), counts) == pytest.approx(0.8)


def test_the_means_get_less_noise_for_more_budget():
    data = synthetic(3)
    noise = [np.trace(planned(*data, epsilon, "leave")[1].mean_covariances[0]) for epsilon in (0.5, 1, 2)]
    assert noise[0] > noise[1] > noise[2]


def test_guarding_the_class_that_is_entered_costs_noise():
    data = synthetic(4)
    fitted, leave = planned(*data, 1.0, "leave")
    _, both = planned(*data, 1.0, "both")
    costs = [np.einsum("kij,kji->k", fitted.precisions, plan.mean_covariances) for plan in (leave, both)]
    assert (costs[0] <= costs[1] * (1 + 1e-9)).all()
