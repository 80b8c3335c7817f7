"""The divergences that a separate study of the paper found, found again."""

import numpy as np
import pytest
from sfumato_papers.liu import divergence, draw

from tests.published.making import EPSILONS, planned, synthetic


def mean_divergence(X: np.ndarray, y: np.ndarray, epsilon: float, reading: str, draws: int) -> float:
    rng = np.random.default_rng(0)
    fitted, plan = planned(X, y, epsilon, reading)
    return float(np.mean([divergence(draw(rng, fitted, plan), fitted).total for _ in range(draws)]))


@pytest.fixture(scope="module")
def tables():
    return [synthetic(100 + seed) for seed in range(40)]


@pytest.mark.parametrize(
    ("epsilon", "expected", "rel"),
    [(0.5, 1.30, 0.25), (1, 0.867, 0.1), (2, 0.771, 0.1), (4, 0.735, 0.1), (8, 0.732, 0.1)],
)
def test_synthetic_data(tables, epsilon, expected, rel):
    """Medians over 40 tables. Between such sets of tables they vary: `rel` is about the middle nine tenths."""
    found = np.median([mean_divergence(X, y, epsilon, "leave", 8) for X, y in tables])
    assert found == pytest.approx(expected, rel=rel)


def test_no_budget_removes_the_floor(tables):
    """(22) adds noise that nothing asks for."""
    floor = np.median([mean_divergence(X, y, 1_000.0, "leave", 4) for X, y in tables[:15]])
    assert 0.6 < floor < 0.9


@pytest.fixture(scope="module")
def iris():
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y.astype(np.int64)


@pytest.mark.parametrize(
    ("reading", "expected"),
    [("leave", (60.1, 26.9, 12.1, 5.34, 2.31)), ("both", (171, 54.8, 19.1, 7.11, 2.75))],
)
def test_iris(iris, reading, expected):
    """Means over the noise."""
    found = [mean_divergence(*iris, epsilon, reading, 400) for epsilon in EPSILONS]
    assert found == pytest.approx(expected, rel=0.08)
