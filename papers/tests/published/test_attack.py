"""The best test between two tables: its arithmetic on cases with a known answer, and what it does to the paper."""

import dataclasses
import math

import numpy as np
import pytest
from sfumato_papers.liu import Fitted, fit
from sfumato_papers.liu.attack import Losses, attack, hockey_stick, largest_advantage, least_epsilon
from sfumato_papers.liu.release import Prepared, prepared

from sfumato.trusted.budget import delta_of, epsilon_of
from tests.published.making import DELTA, planned, synthetic


def gaussian_losses(mu: float, count: int, seed: int = 0) -> np.ndarray:
    """ln p/p' of x from p, for two unit Gaussians mu apart."""
    return np.random.default_rng(seed).normal(mu**2 / 2, mu, count)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_delta_is_that_of_two_gaussians(mu, epsilon):
    assert hockey_stick(gaussian_losses(mu, 400_000), epsilon) == pytest.approx(delta_of(epsilon, mu), abs=2e-3)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_epsilon_is_that_of_two_gaussians(mu):
    losses = Losses(gaussian_losses(mu, 400_000), gaussian_losses(mu, 400_000, 1))
    assert losses.epsilon(1e-2) == pytest.approx(epsilon_of(mu, 1e-2), rel=0.05)
    assert losses.delta(losses.epsilon(1e-2)) == pytest.approx(1e-2, rel=1e-6)


def test_delta_by_hand():
    losses = np.array([np.inf, math.log(4), 0.0, -1.0])
    assert hockey_stick(losses, 0.0) == pytest.approx((1 + 3 / 4) / 4)
    assert hockey_stick(losses, math.log(2)) == pytest.approx((1 + 1 / 2) / 4)
    assert hockey_stick(losses, 50.0) == pytest.approx(1 / 4)


def test_epsilon_is_infinite_where_impossible_releases_exceed_delta():
    losses = np.array([np.inf, 3.0, *[0.0] * 98])
    assert least_epsilon(losses, 0.009) == math.inf
    assert least_epsilon(losses, 0.01) == pytest.approx(3.0)
    assert least_epsilon(losses, 0.5) == 0
    assert Losses(losses, np.zeros(100)).epsilon(0.009) == math.inf


def test_the_worse_direction_counts():
    safe, open_ = np.zeros(10), np.full(10, 2.0)
    for losses in (Losses(safe, open_), Losses(open_, safe)):
        assert losses.delta(1.0) == pytest.approx(1 - math.exp(-1))
        assert losses.epsilon(1e-9) == pytest.approx(2.0)


def test_ties_count_half():
    assert Losses(np.zeros(7), np.zeros(7)).advantage == 0
    assert Losses(np.array([1.0, 0.0]), np.array([0.0, 0.0])).advantage == pytest.approx(0.25)
    assert Losses(np.array([np.inf, 2.0]), np.array([np.inf, 2.0])).advantage == 1
    assert Losses(np.array([-1.0, -1.0]), np.array([-1.0, -1.0])).advantage == -1


def test_what_is_impossible_is_counted_on_each_side():
    losses = Losses(np.array([np.inf, 0.0, 1.0, np.inf]), np.array([0.0, np.inf, 0.0, 0.0]))
    assert (losses.only_here, losses.only_there) == (0.5, 0.25)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 1e-5), (1.0, 0.2), (4.0, 0.01)])
def test_the_bound_is_reached_by_randomised_response_that_fails_with_probability_delta(epsilon, delta):
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert largest_advantage(epsilon, delta) == pytest.approx(delta + (1 - delta) * (2 * right - 1))


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_gaussians_keep_the_bound(mu):
    advantage = Losses(gaussian_losses(mu, 50_000), gaussian_losses(mu, 50_000, 1)).advantage
    for delta in (1e-6, 1e-3, 0.1):
        assert advantage <= largest_advantage(epsilon_of(mu, delta), delta) + 0.02


def test_a_table_cannot_be_told_from_itself():
    here = Prepared(*planned(*synthetic(0, records=300, classes=3), 1.0, "both"))
    for losses in attack(np.random.default_rng(0), here, here, 500).values():
        assert losses.advantage == 0
        assert losses.delta(0.0) == 0
        assert losses.epsilon(DELTA) == 0
        assert losses.only_here == losses.only_there == 0


def one_more_unit_vector(epsilon: float, records: int = 500) -> tuple[Prepared, Prepared]:
    """Lemma 2 on its own ground: the second moments of one class before and after a record of norm 1."""
    X, y = synthetic(1, records=records, classes=1)
    fitted, plan = planned(X, y, 1.0, "leave")
    plan = dataclasses.replace(plan, gammas=np.array([2 * records * epsilon / 3]))
    wider = fitted.covariances + np.diag([1 / records, 0, 0])
    return Prepared(fitted, plan), Prepared(Fitted(fitted.weights, fitted.means, wider, fitted.counts), plan)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_wishart_noise_proves_the_narrower_table(epsilon):
    losses = attack(np.random.default_rng(2), *one_more_unit_vector(epsilon), 20_000)["covariances"]
    delta = 1 - math.exp(-epsilon / 3)  # lemma 2 claims 0
    assert losses.only_here == pytest.approx(delta, abs=0.015)
    assert losses.only_there == 0
    assert losses.delta(100.0) == losses.only_here
    possible = losses.here[np.isfinite(losses.here)]
    assert np.allclose(possible, -epsilon / 3)  # what both tables can give is a little likelier under the other


@pytest.mark.parametrize(("classes", "delta"), [(3, 3 / 7), (5, 13 / 21)])
def test_the_weights_alone_rule_the_other_table_out(classes, delta):
    X, y = synthetic(3, classes=classes)
    changed = y.copy()
    changed[0] = (y[0] + 1) % classes
    here, there = (prepared(X, label, classes, 1.0, DELTA, "leave") for label in (y, changed))
    losses = attack(np.random.default_rng(4), here, there, 20_000)["weights"]
    assert losses.only_here == pytest.approx(delta, abs=0.015)
    assert losses.only_there == pytest.approx(delta, abs=0.015)
    assert losses.advantage == pytest.approx(delta, abs=0.02)
    assert losses.delta(50.0) == max(losses.only_here, losses.only_there)


def iris() -> tuple[np.ndarray, np.ndarray]:
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y.astype(np.int64)


@pytest.mark.parametrize("reading", ["leave", "both"])
@pytest.mark.parametrize("data", [lambda: synthetic(7), iris], ids=["synthetic", "iris"])
def test_it_tells_the_tables_of_the_paper_apart(data, reading):
    """Eight changes of a label; for Iris a separate study found 0.75 to 0.78."""
    X, y = data()
    classes, rng = int(y.max()) + 1, np.random.default_rng(5)
    here, advantages = prepared(X, y, classes, 1.0, DELTA, reading), []
    for record in rng.choice(len(y), 8, replace=False):
        changed = y.copy()
        changed[record] = (y[record] + rng.integers(1, classes)) % classes
        losses = attack(rng, here, prepared(X, changed, classes, 1.0, DELTA, reading), 1_000)["all"]
        advantages.append(losses.advantage)
        assert losses.epsilon(DELTA) == math.inf
    assert np.mean(advantages) > largest_advantage(1.0, DELTA) + 0.15


def test_prepared_is_the_fit_and_its_noise():
    X, y = synthetic(6, records=300, classes=3)
    found = prepared(X, y, 3, 2.0, DELTA, "both")
    fitted, plan = planned(X, y, 2.0, "both")
    assert np.array_equal(found.fitted.means, fit(X, y, 3).means)
    assert np.array_equal(found.fitted.covariances, fitted.covariances)
    assert np.array_equal(found.plan.mean_covariances, plan.mean_covariances)
