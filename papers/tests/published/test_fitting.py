"""The fit (2), and what one changed label does to it."""

import numpy as np
import pytest
from sfumato_papers.liu import fit
from sfumato_papers.liu.neighbours import mean_shifts, neighbouring_counts

from sfumato.errors import DataError, RequestError
from tests.published.making import synthetic


def test_it_is_the_moments_of_each_class():
    X, y = synthetic(0, records=200, classes=3)
    fitted = fit(X, y, 3)
    assert fitted.counts.sum() == 200
    assert fitted.dimensions == 3
    for k in range(3):
        members = X[y == k]
        assert fitted.counts[k] == len(members)
        assert fitted.weights[k] == len(members) / 200
        assert np.allclose(fitted.means[k], members.mean(axis=0))
        assert np.allclose(fitted.covariances[k], np.cov(members.T))
        assert np.allclose(fitted.precisions[k] @ fitted.covariances[k], np.eye(3), atol=1e-8)


@pytest.mark.parametrize("reading", ["leave", "both"])
def test_shifts_are_those_of_every_relabelled_table(reading):
    X, y = synthetic(1, records=60, classes=3, dimensions=2)
    fitted = fit(X, y, 3)
    for k in range(3):
        again = []
        for n in range(len(y)):
            if y[n] != k and reading == "leave":
                continue
            changed = y.copy()
            changed[n] = (k + 1) % 3 if y[n] == k else k
            again.append(fitted.means[k] - fit(X, changed, 3).means[k])
        shifts = mean_shifts(X, y, fitted, k, reading)
        assert np.allclose(shifts[np.lexsort(shifts.T)], np.array(again)[np.lexsort(np.transpose(again))])


def test_neighbouring_counts_are_those_of_14():
    counts = np.array([5, 9, 2, 7])
    rows = neighbouring_counts(counts)
    assert len(rows) == 4 * 3 + 1
    assert np.array_equal(rows[0], counts)
    assert len({tuple(row) for row in rows}) == len(rows)
    assert (rows.sum(axis=1) == counts.sum()).all()
    assert (np.abs(rows[1:] - counts).sum(axis=1) == 2).all()


def test_no_class_loses_its_last_record():
    rows = neighbouring_counts(np.array([1, 4]))
    assert rows.tolist() == [[1, 4], [2, 3]]


def test_a_reading_that_is_none_is_refused():
    X, y = synthetic(2, records=60, classes=2, dimensions=2)
    with pytest.raises(RequestError, match="one of leave, both"):
        mean_shifts(X, y, fit(X, y, 2), 0, "enter")


GOOD_X, GOOD_Y = synthetic(3, records=60, classes=2, dimensions=2)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (GOOD_X[:, 0], GOOD_Y, "a matrix with a finite number"),
        (GOOD_X, GOOD_Y[1:], "59 labels for 60 records; the paper assumes one for each"),
        (np.where(np.arange(60)[:, None] == 3, np.nan, GOOD_X), GOOD_Y, "the paper assumes records of real numbers"),
        (GOOD_X, GOOD_Y.astype(float), "whole numbers from 0 to 1"),
        (GOOD_X, GOOD_Y + 1, "whole numbers from 0 to 1"),
        (GOOD_X, GOOD_Y - 1, "whole numbers from 0 to 1"),
        (GOOD_X, np.minimum(GOOD_Y, 0), "class 1 has 0 records. The paper assumes one at least.* needs 3"),
        (GOOD_X[:, [0, 0]], GOOD_Y, "singular"),
    ],
)
def test_what_cannot_be_fitted_is_refused(X, y, message):
    with pytest.raises(DataError, match=message):
        fit(X, y, 2)
