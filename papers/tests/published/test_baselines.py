"""The three baselines, their sensitivities, and the projection back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import kstest, laplace, norm
from sfumato_papers.liu import BASELINE_FAULTS, divergence, fit, release_by_baseline
from sfumato_papers.liu.baselines import gaussian_factor
from sfumato_papers.liu.projection import nearest_covariance, nearest_weights
from sfumato_papers.liu.sensitivities import covariance_shifts, sensitivity

from sfumato.errors import BudgetError, DataError, RequestError
from tests.published.making import DELTA, synthetic

BASELINES = ("i.i.d. Laplace", "i.i.d. Gaussian", "colored Gaussian")
FOOTINGS = ("range", "neighbours", "unit ball")


def released(seed: int, baseline: str, epsilon: float = 1.0, **more: str):
    X, y = synthetic(0)
    return release_by_baseline(np.random.default_rng(seed), X, y, 5, epsilon, DELTA, baseline=baseline, **more)


# the projection


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8), st.floats(0, 1))
def test_weights_are_some(values, share):
    least = share / len(values)
    weights = nearest_weights(np.array(values), least)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= least - 1e-12).all()


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_the_nearest(seed):
    rng = np.random.default_rng(seed)
    values, least = rng.normal(0.25, 0.4, 4), 0.01
    slow = minimize(
        lambda w: ((w - values) ** 2).sum(),
        np.full(4, 0.25),
        bounds=[(least, None)] * 4,
        constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1}],
        options={"ftol": 1e-14},
    )
    assert np.allclose(nearest_weights(values, least), slow.x, atol=1e-5)


def test_what_is_feasible_stays():
    weights = np.array([0.2, 0.5, 0.3])
    assert np.allclose(nearest_weights(weights, 0.01), weights)
    covariance = np.array([[2.0, 0.3], [0.3, 1.0]])
    assert np.allclose(nearest_covariance(covariance), covariance)


def test_a_covariance_is_the_nearest_with_no_eigenvalue_below_a_millionth():
    found = nearest_covariance(np.diag([3.0, -2.0, 0.5]))
    assert np.allclose(found, np.diag([3.0, 1e-6, 0.5]), atol=1e-12)


# the sensitivities


@pytest.mark.parametrize("reading", ["leave", "both"])
def test_covariances_move_as_in_every_relabelled_table(reading):
    X, y = synthetic(1, records=60, classes=3, dimensions=2)
    fitted, places = fit(X, y, 3), np.triu_indices(2)
    for k in range(3):
        again = []
        for n in range(len(y)):
            if y[n] != k and reading == "leave":
                continue
            changed = y.copy()
            changed[n] = (k + 1) % 3 if y[n] == k else k
            again.append((fit(X, changed, 3).covariances[k] - fitted.covariances[k])[places])
        found = covariance_shifts(X, y, fitted, k, reading)
        assert np.allclose(found[np.lexsort(found.T)], np.array(again)[np.lexsort(np.transpose(again))])


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(["normal", "heavy", "corners"]))
def test_no_neighbour_moves_farther_than_the_range_says(seed, dimensions, kind):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [dimensions + 3, dimensions + 4])
    X = rng.standard_normal((len(y), dimensions))
    if kind == "heavy":
        X = rng.standard_t(1.1, X.shape)
    if kind == "corners":
        X = np.sign(X) + 1e-6 * X
    fitted = fit(X, y, 2)
    for k in (0, 1):
        bound, worst = (sensitivity(X, y, fitted, k, "both", footing) for footing in ("range", "neighbours"))
        assert all(one <= limit * (1 + 1e-9) for one, limit in zip(worst, bound, strict=True))


def test_the_unit_ball_is_as_lemma_2_has_it():
    """One x x' / N for another, both of length 1, at the worst."""
    rng = np.random.default_rng(0)
    X, y = synthetic(2)
    fitted, places = fit(X, y, 5), np.triu_indices(3)
    found = sensitivity(X, y, fitted, 0, "leave", "unit ball")
    units = rng.standard_normal((2, 200_000, 3))
    units /= np.linalg.norm(units, axis=2, keepdims=True)
    one, other = (unit[:, places[0]] * unit[:, places[1]] for unit in units)
    moved = (one - other) / fitted.counts[0]
    assert np.abs(moved).sum(axis=1).max() <= found.covariance_l1
    assert 0.99 * found.covariance_l2 <= np.linalg.norm(moved, axis=1).max() <= found.covariance_l2


def test_a_class_of_two_has_no_neighbour_with_a_covariance():
    X, y = np.array([[0.0], [1.0], [2.0], [4.0], [5.0]]), np.array([0, 0, 1, 1, 1])
    with pytest.raises(DataError, match="2 records"):
        covariance_shifts(X, y, fit(X, y, 2), 0, "leave")


# the mechanisms


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("footing", FOOTINGS)
def test_a_release_is_a_mixture_with_a_claim_and_its_faults(baseline, footing):
    release = released(0, baseline, footing=footing)
    assert release.weights.sum() == pytest.approx(1)
    assert release.weights.min() >= 1 / 1_000 - 1e-12
    assert (np.linalg.eigvalsh(release.covariances) > 0).all()
    assert "guarantee: as claimed by the paper" in release.guarantee
    assert ("(1, 0)" in release.guarantee) == (baseline == "i.i.d. Laplace")
    assert release.faults == BASELINE_FAULTS


@pytest.mark.parametrize(("baseline", "law"), [("i.i.d. Laplace", laplace), ("i.i.d. Gaussian", norm)])
def test_the_noise_on_means_is_what_the_sensitivity_asks_for(baseline, law):
    X, y = synthetic(0)
    fitted = fit(X, y, 5)
    reach = sensitivity(X, y, fitted, 2, "leave", "neighbours")
    scale = 3 * reach.mean_l1 if law is laplace else gaussian_factor(1 / 3, DELTA / 3) * reach.mean_l2
    moved = [released(s, baseline, footing="neighbours").means[2] - fitted.means[2] for s in range(400)]
    assert kstest(np.ravel(moved), law(scale=scale).cdf).pvalue > 1e-3
    assert np.mean(np.abs(moved)) == pytest.approx(law(scale=scale).expect(np.abs), rel=0.1)


def test_colored_noise_has_the_least_mean_square_error_of_those_that_keep_10():
    """Never more than the same noise in every direction, which keeps (10) as well."""
    X, y = synthetic(0)
    fitted = fit(X, y, 5)
    errors = {
        baseline: np.mean(
            [((released(s, baseline, footing="neighbours").means - fitted.means) ** 2).sum(axis=1) for s in range(100)],
            axis=0,
        )
        for baseline in BASELINES[1:]
    }
    assert (errors["colored Gaussian"] < 0.95 * errors["i.i.d. Gaussian"]).any()
    assert (errors["colored Gaussian"] < 1.15 * errors["i.i.d. Gaussian"]).all()


@pytest.mark.parametrize("baseline", BASELINES)
def test_more_budget_is_nearer(baseline):
    X, y = synthetic(0)
    kl = [
        np.median([divergence(released(s, baseline, epsilon), fit(X, y, 5)).total for s in range(9)])
        for epsilon in (0.5, 2, 8)
    ]
    assert kl[0] > kl[1] > kl[2]


@pytest.mark.parametrize(
    ("baseline", "footing", "expected"),
    [
        ("i.i.d. Laplace", "neighbours", 7.38),
        ("i.i.d. Gaussian", "neighbours", 13.9),
        ("colored Gaussian", "neighbours", 12.3),
        ("i.i.d. Laplace", "unit ball", 0.703),
        ("i.i.d. Gaussian", "unit ball", 2.49),
        ("colored Gaussian", "unit ball", 0.656),
    ],
)
def test_divergences_of_a_separate_study_are_found_again(baseline, footing, expected):
    """Medians over 40 tables of means over the noise, at epsilon 1; such medians vary by a quarter."""
    found = []
    for seed in range(40):
        X, y = synthetic(100 + seed)
        fitted, rng = fit(X, y, 5), np.random.default_rng(seed)
        noisy = (release_by_baseline(rng, X, y, 5, 1.0, DELTA, baseline=baseline, footing=footing) for _ in range(6))
        found.append(np.mean([divergence(one, fitted).total for one in noisy]))
    assert np.median(found) == pytest.approx(expected, rel=0.35)


def test_other_questions_are_refused():
    X, y = synthetic(3)
    rng = np.random.default_rng(0)
    with pytest.raises(RequestError, match="baseline is 'uniform'"):
        release_by_baseline(rng, X, y, 5, 1.0, DELTA, baseline="uniform")
    with pytest.raises(RequestError, match="footing is 'global'"):
        release_by_baseline(rng, X, y, 5, 1.0, DELTA, baseline="i.i.d. Laplace", footing="global")
    with pytest.raises(BudgetError, match="lemma 1"):
        release_by_baseline(rng, X, y, 5, 100.0, DELTA, baseline="i.i.d. Laplace")
