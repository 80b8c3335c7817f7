"""The same optimum as a general solver of semidefinite programs finds, on 200 random instances."""

import numpy as np
import pytest
from sfumato_papers.liu.design import optimal_design
from sfumato_papers.liu.fitting import fit
from sfumato_papers.liu.neighbours import mean_shifts

from tests.published.making import synthetic
from tests.published.test_design import metric

pytest.importorskip("clarabel")
from tests.published.semidefinite import farthest, rounded

INSTANCES = 20  # of each kind
EXACT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def normal(rng, d, count):
    return rng.standard_normal((count, d)), metric(rng, d)


def heavy(rng, d, count):
    return rng.standard_t(1.2, (count, d)), metric(rng, d)


def one_far(rng, d, count):
    shifts, A = normal(rng, d, count)
    shifts[0] *= 10 ** rng.uniform(2, 3)
    return shifts, A


def twice(rng, d, count):
    shifts, A = normal(rng, d, d + count // 2)
    return np.concatenate((shifts, shifts)), A


def few(rng, d, count):
    return normal(rng, d, d + count % 3)


def equally_long(rng, d, count):
    shifts, _ = normal(rng, d, count)
    return shifts / np.linalg.norm(shifts, axis=1, keepdims=True), np.eye(d)


def badly_scaled_metric(rng, d, count):
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return rng.standard_normal((count, d)), axes * np.logspace(-3, 3, d) @ axes.T


def badly_scaled_columns(rng, d, count):
    units = np.logspace(-4, 4, d)
    shifts, A = normal(rng, d, count)
    return shifts * units, A / np.outer(units, units)


def leave(rng, d, count, reading="leave"):
    X, y = synthetic(int(rng.integers(2**32)), records=count + 30, classes=3, dimensions=d)
    fitted = fit(X, y, 3)
    return mean_shifts(X, y, fitted, 0, reading), fitted.precisions[0]


def both(rng, d, count):
    return leave(rng, d, count, "both")


KINDS = [normal, heavy, one_far, twice, few, equally_long, badly_scaled_metric, badly_scaled_columns, leave, both]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_clarabel_finds_the_same(kind):
    for seed in range(INSTANCES):
        d = 1 + seed % 6
        shifts, A = kind(np.random.default_rng(seed), d, d + 3 * seed)
        ours, theirs = optimal_design(shifts, A).covariance, rounded(shifts, A, **EXACT)
        theirs *= farthest(shifts, theirs)
        least = np.trace(A @ theirs)
        assert np.trace(A @ ours) == pytest.approx(least, rel=1e-6), seed
        lower = np.linalg.cholesky(A)
        assert lower.T @ ours @ lower == pytest.approx(lower.T @ theirs @ lower, rel=0, abs=1e-4 * least), seed
