"""Labels for records that have none."""

import numpy as np
import pytest
from sfumato_papers.liu import fit, labels_by_em, labels_by_kmeans, release_as_published

from sfumato.errors import DataError
from tests.published.making import DELTA

pytest.importorskip("sklearn")

SIZES = (120, 60, 30)
BY = {"k-means": labels_by_kmeans, "EM": labels_by_em}


@pytest.fixture(scope="module")
def apart():
    """Three classes far from each other, the largest last."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], SIZES[::-1])
    return rng.standard_normal((len(y), 2)) + 20 * np.array([[0, 0], [1, 0], [0, 1]])[y], 2 - y


@pytest.mark.parametrize("way", BY)
def test_classes_far_apart_are_found_the_largest_first(apart, way):
    X, y = apart
    assert np.array_equal(BY[way](np.random.default_rng(1), X, 3), y)


@pytest.mark.parametrize("way", BY)
def test_the_generator_decides(way):
    X = np.random.default_rng(2).standard_normal((200, 3))
    one, same = (BY[way](np.random.default_rng(5), X, 4) for _ in range(2))
    assert np.array_equal(one, same)


def test_kmeans_takes_the_nearest_centre():
    X = np.random.default_rng(3).standard_normal((300, 2))
    y = labels_by_kmeans(np.random.default_rng(0), X, 3)
    centres = np.array([X[y == k].mean(axis=0) for k in range(3)])
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(nearest == y) > 0.99


def test_em_takes_the_most_responsible_component():
    """Two components with one centre, which only their spread tells apart: k-means could not."""
    rng = np.random.default_rng(4)
    spread = np.repeat([0.1, 5.0], [300, 200])
    X = spread[:, None] * rng.standard_normal((500, 3))
    y = labels_by_em(np.random.default_rng(0), X, 2)
    assert np.mean(y == (spread > 1)) > 0.97
    assert np.mean(labels_by_kmeans(np.random.default_rng(0), X, 2) == (spread > 1)) < 0.9


@pytest.mark.parametrize("way", BY)
def test_discretised_frequencies_are_released(apart, way):
    """Every released weight is a multiple of 1/N: the set S of (3)."""
    X, _ = apart
    y = BY[way](np.random.default_rng(6), X, 3)
    assert fit(X, y, 3).counts.tolist() == list(SIZES)
    release = release_as_published(np.random.default_rng(7), X, y, 3, 1.0, DELTA)
    counts = len(X) * release.weights
    assert np.allclose(counts, np.rint(counts))


@pytest.mark.parametrize("way", BY)
def test_what_is_not_finite_is_refused(way):
    with pytest.raises(DataError, match="finite"):
        BY[way](np.random.default_rng(0), np.array([[1.0], [np.nan], [2.0]]), 2)


def test_without_scikit_learn_it_says_what_to_install(monkeypatch):
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ImportError, match=r"sfumato\[sklearn\]"):
        labels_by_kmeans(np.random.default_rng(0), np.eye(3), 2)
