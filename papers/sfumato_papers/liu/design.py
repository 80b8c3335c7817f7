"""The semidefinite program (23) without a solver of such programs.

    min tr(A P)  so that  v' P^-1 v <= 1 for every shift v

With A = L L', u = L' v and Q = L' P L this is the smallest ellipsoid around the points u. Few of them hold it, at most
d (d + 1) / 2: solve for a few, look for points outside, and add them.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular

from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.dual import Ellipsoid, holding_weights, relative_gap

_PASSES = 100
_NEW_POINTS, _NEW_POINTS_FOR_EACH_DIMENSION = 8, 2


@dataclass(frozen=True, eq=False)
class Design:
    """The covariance P of the noise; tr(A P) is at most 1 + gap times the least."""

    covariance: FloatArray
    gap: float


def optimal_design(shifts: FloatArray, metric: FloatArray, tolerance: float = 1e-9) -> Design:
    """The P of (23) for the bound 1. For the bound c it is P / c, so that one solution serves every budget.

    P satisfies every constraint wherever the search stops. The shifts must span the space.
    """
    lower = np.linalg.cholesky(metric)
    points = shifts @ lower
    squares = np.einsum("ni,ni->n", points, points)
    scale = float(np.sqrt(squares.max()))
    points = points / scale
    active = _spanning(points)
    weights = squares[active]  # the answer, if these are orthogonal and hold the rest
    for _ in range(_PASSES):
        ellipsoid = Ellipsoid.of(points[active], weights)
        distances = ellipsoid.distances(points)
        farthest = float(distances.max())
        gap = relative_gap(ellipsoid, weights, farthest)
        if gap <= tolerance:
            break
        active = np.union1d(active, _outermost(distances, points.shape[1]))  # none leaves, so that no set comes back
        weights = holding_weights(points[active], tolerance / 10)
    half = solve_triangular(lower, ellipsoid.axes * np.sqrt(farthest * ellipsoid.roots), lower=True, trans="T")
    return Design(scale**2 * half @ half.T, gap)


def _spanning(points: FloatArray) -> AnyIntArray:
    """As many points as dimensions, each the farthest from the span of those before it."""
    order: AnyIntArray = qr(points.T, mode="r", pivoting=True)[1]
    return order[: points.shape[1]]


def _outermost(distances: FloatArray, dimensions: int) -> AnyIntArray:
    count = min(max(_NEW_POINTS, _NEW_POINTS_FOR_EACH_DIMENSION * dimensions), len(distances))
    return np.argpartition(-distances, count - 1)[:count]
