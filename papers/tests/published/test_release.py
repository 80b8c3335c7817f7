"""Algorithm 1 as one function, its noise, its divergence, and what it says of itself."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import kstest, norm
from sfumato_papers.liu import KNOWN_FAULTS, Mixture, divergence, draw, fit, release_as_published
from sfumato_papers.liu.noise import gaussian, wishart

from sfumato.errors import BudgetError, DataError, RequestError
from tests.published.making import DELTA, planned, synthetic


@pytest.mark.parametrize("adjacency", ["leave", "both"])
def test_a_release_is_a_mixture_with_a_claim_and_its_faults(adjacency):
    X, y = synthetic(0)
    release = release_as_published(np.random.default_rng(0), X, y, 5, 1.0, DELTA, adjacency=adjacency)
    assert release.weights.sum() == pytest.approx(1)
    assert release.means.shape == (5, 3)
    assert (np.linalg.eigvalsh(release.covariances) > 0).all()
    assert "guarantee: as claimed by the paper" in release.guarantee
    assert "(1, 1e-05)" in release.guarantee
    assert release.faults == KNOWN_FAULTS
    assert len(release.faults) == 12
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.guarantee = "proven"


def test_the_generator_decides_the_noise():
    X, y = synthetic(1)
    one, same, other = (release_as_published(np.random.default_rng(s), X, y, 5, 1.0, DELTA) for s in (3, 3, 4))
    assert np.array_equal(one.means, same.means)
    assert not np.array_equal(one.means, other.means)


def test_it_is_fit_then_optimise_then_draw():
    X, y = synthetic(2)
    whole = release_as_published(np.random.default_rng(5), X, y, 5, 2.0, DELTA, adjacency="both")
    parts = draw(np.random.default_rng(5), *planned(X, y, 2.0, "both"))
    for name in ("weights", "means", "covariances"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


def test_the_noise_has_the_moments_of_5_and_6():
    X, y = synthetic(3)
    fitted, plan = planned(X, y, 1.0, "leave")
    rng = np.random.default_rng(6)
    drawn = [draw(rng, fitted, plan) for _ in range(3_000)]
    moved = np.array([mixture.means[0] - fitted.means[0] for mixture in drawn])
    half = np.linalg.cholesky(plan.mean_covariances[0])
    assert kstest(np.linalg.solve(half, moved.T).ravel(), norm.cdf).pvalue > 1e-3
    added = np.mean([mixture.covariances - fitted.covariances for mixture in drawn], axis=0)
    expected = 4 / plan.gammas  # (d + 1) / gamma on the diagonal
    assert np.allclose(added / expected[:, None, None], np.eye(3), atol=0.1)
    seen = {tuple(np.rint(1_000 * mixture.weights).astype(int)) for mixture in drawn}
    assert seen == {tuple(row) for row in plan.outcomes}


def test_noise_scales_as_it_should():
    big, small = (wishart(np.random.default_rng(0), 3, gamma) for gamma in (1.0, 4.0))
    assert np.allclose(big, 4 * small)
    big, small = (gaussian(np.random.default_rng(0), scale * np.eye(2)) for scale in (9.0, 1.0))
    assert np.allclose(big, 3 * small)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_wishart_noise_makes_covariances_impossible_for_a_neighbour(epsilon):
    """One record of norm 1 more, under the assumptions of lemma 2: delta is 1 - exp(-epsilon / 3) instead of 0."""
    rng, records = np.random.default_rng(7), 500
    gamma = 2 * records * epsilon / 3
    noise = np.array([wishart(rng, 3, gamma) for _ in range(4_000)])
    change = np.diag([1 / records, 0, 0])
    impossible = np.mean(np.linalg.eigvalsh(noise - change)[:, 0] < 0)
    assert impossible == pytest.approx(1 - np.exp(-epsilon / 3), abs=0.03)


def test_the_divergence_is_what_records_say():
    rng = np.random.default_rng(8)
    fitted = fit(*synthetic(4, classes=2), 2)
    released = Mixture(np.array([0.4, 0.6]), fitted.means + 0.3, fitted.covariances * 1.5 + 0.1 * np.eye(3))
    y = rng.choice(2, size=100_000, p=released.weights)
    X = released.means[y] + np.einsum(
        "nij,nj->ni", np.linalg.cholesky(released.covariances)[y], rng.standard_normal((len(y), 3))
    )
    ratios = log_density(released, X, y) - log_density(fitted, X, y)
    assert divergence(released, fitted).total == pytest.approx(ratios.mean(), abs=5 * ratios.std() / len(y) ** 0.5)
    assert divergence(fitted, fitted).total == pytest.approx(0, abs=1e-12)


def log_density(mixture: Mixture, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    z = X - mixture.means[y]
    squares = np.einsum("ni,nij,nj->n", z, mixture.precisions[y], z)
    volume = np.linalg.slogdet(mixture.covariances)[1]
    return np.log(mixture.weights[y]) - (squares + volume[y]) / 2


def test_one_class_is_released_with_its_weight():
    X, y = synthetic(5, classes=1)
    for adjacency in ("leave", "both"):
        release = release_as_published(np.random.default_rng(0), X, y, 1, 1.0, DELTA, adjacency=adjacency)
        assert release.weights.tolist() == [1.0]


def test_other_questions_are_refused():
    X, y = synthetic(7)
    with pytest.raises(RequestError, match="adjacency"):
        release_as_published(np.random.default_rng(0), X, y, 5, 1.0, DELTA, adjacency="replace")
    with pytest.raises(BudgetError, match="lemma 1"):
        release_as_published(np.random.default_rng(0), X, y, 5, 15.0, DELTA)
    with pytest.raises(DataError, match="class 5 has 0 records"):
        release_as_published(np.random.default_rng(0), X, y, 6, 1.0, DELTA)
