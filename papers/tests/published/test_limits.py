"""Where the paper can be followed, and what it says where it cannot."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy.stats import norm
from sfumato_papers.liu import fit, release_as_published, release_by_baseline
from sfumato_papers.liu.limits import check_budget, check_size, largest_mean_epsilon, needed_bytes

from sfumato.errors import BudgetError, DataError
from tests.published.making import DELTA, synthetic


def exact_delta(epsilon: float, delta: float) -> float:
    """Of the Gaussian mechanism with the noise of lemma 1."""
    mu = epsilon / math.sqrt(2 * math.log(2 / delta))
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-2, 0.3])
def test_lemma_1_holds_up_to_there(delta):
    largest = largest_mean_epsilon(delta)
    below = np.linspace(largest / 50, largest, 50)[:-1]
    assert all(exact_delta(epsilon, delta) <= delta for epsilon in below)
    assert all(exact_delta(epsilon, delta) > delta for epsilon in largest * np.array([1.001, 1.1, 2]))


def test_at_the_delta_of_the_paper_it_is_nine():
    assert largest_mean_epsilon(DELTA) == pytest.approx(9.39, abs=0.01)


def test_a_mean_gets_two_thirds_at_most():
    check_budget(14, DELTA)
    with pytest.raises(BudgetError, match=r"lemma 1 holds at any epsilon.* up to 9\.39 .* ask for 14\.08 at most"):
        check_budget(14.2, DELTA)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, DELTA), (-1, DELTA), (math.inf, DELTA), (math.nan, DELTA), (1, 0), (1, 1), (1, math.nan)]
)
def test_a_budget_that_is_none_is_refused(epsilon, delta):
    with pytest.raises(BudgetError, match="the paper assumes an epsilon above 0"):
        check_budget(epsilon, delta)


def test_a_table_too_large_for_memory_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("sfumato_papers.liu.limits.memory_bytes", lambda: 2**20)
    X, y = synthetic(0)
    with pytest.raises(DataError, match=r"1,000,000 records in 50 classes .* N K\^2 = 2\.5e\+09 constraints"):
        check_size(1_000_000, 3, 50)
    monkeypatch.setattr("sfumato_papers.liu.limits.memory_bytes", lambda: 2**16)
    with pytest.raises(DataError, match="fewer records or classes"):
        release_as_published(np.random.default_rng(0), X, y, 5, 1.0, DELTA)
    with pytest.raises(DataError, match="fewer records or classes"):
        release_by_baseline(np.random.default_rng(0), X, y, 5, 1.0, DELTA, baseline="i.i.d. Laplace")


@pytest.mark.parametrize(("records", "dimensions", "classes"), [(60_000, 6, 2), (900, 2, 60)])
def test_no_release_needs_more_than_said(records, dimensions, classes):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((records, dimensions)), np.arange(records) % classes
    fit(X, y, classes)
    tracemalloc.start()
    release_as_published(rng, X, y, classes, 1.0, DELTA, adjacency="both")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < needed_bytes(records, dimensions, classes) < 8 * peak
