"""Remark 1: frequencies of expectation maximisation, discretised."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sfumato_papers.liu import discretised, draw, fit_by_em, prepared_by_em

from sfumato.errors import DataError
from tests.published.making import DELTA

pytest.importorskip("sklearn")


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=4), st.integers(4, 9))
def test_the_nearest_of_all_discrete_frequencies_is_taken(weights, records):
    frequencies = np.array(weights) / np.sum(weights)
    found = discretised(frequencies, records)
    every = [
        counts for counts in itertools.product(range(1, records + 1), repeat=len(weights)) if sum(counts) == records
    ]
    assert tuple(found) in every
    nearest = min(((np.array(counts) / records - frequencies) ** 2).sum() for counts in every)
    assert ((found / records - frequencies) ** 2).sum() == pytest.approx(nearest)


def test_what_is_discrete_stays_as_it_is():
    assert discretised(np.array([0.1, 0.25, 0.65]), 20).tolist() == [2, 5, 13]


def test_fewer_records_than_classes_are_refused():
    with pytest.raises(DataError, match="2 records are too few for 3 classes"):
        discretised(np.full(3, 1 / 3), 2)


@pytest.fixture(scope="module")
def blurred():
    """Three classes that overlap, so that responsibilities and labels disagree."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 400, p=[0.2, 0.5, 0.3])
    return rng.standard_normal((400, 2)) * (1 + y[:, None]) + 3 * np.array([[0, 0], [1, 0], [0, 1]])[y]


def test_it_is_the_mixture_of_the_method_but_for_its_frequencies(blurred):
    from sklearn.mixture import GaussianMixture

    fitted, frequencies, label = fit_by_em(np.random.default_rng(1), blurred, 3)
    seed = int(np.random.default_rng(1).integers(2**31))
    search = GaussianMixture(3, n_init=10, max_iter=1_000, random_state=seed).fit(blurred)
    order = np.argsort(-search.weights_)
    assert np.array_equal(frequencies, search.weights_[order])
    assert np.array_equal(fitted.means, search.means_[order])
    assert np.array_equal(fitted.covariances, search.covariances_[order])
    assert np.array_equal(order[label], search.predict(blurred))
    assert np.array_equal(fitted.counts, discretised(frequencies, 400))
    assert np.abs(fitted.weights - frequencies).max() < 1 / 400
    assert not np.array_equal(fitted.counts, np.bincount(label))  # the looser reading would have these


def test_released_frequencies_are_discrete(blurred):
    rng = np.random.default_rng(2)
    fitted, plan = prepared_by_em(rng, blurred, 3, 1.0, DELTA, "leave")
    counts = 400 * draw(rng, fitted, plan).weights
    assert np.allclose(counts, np.rint(counts))
    assert np.abs(counts - fitted.counts).sum() <= 2 + 1e-9


def test_a_component_of_too_few_records_is_refused():
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.standard_normal((60, 3)), 50 + rng.standard_normal((3, 3))])
    with pytest.raises(DataError, match="a component has 3 records"):
        prepared_by_em(rng, X, 2, 1.0, DELTA, "leave")
