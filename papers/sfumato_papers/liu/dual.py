"""Which points hold the smallest ellipsoid around a few points.

    min tr Q  so that  u' Q^-1 u <= 1 for every point u                             the ellipsoid
    max 2 tr M(w)^(1/2) - sum of w,  w >= 0,  M(w) = sum over the points of w u u'  its dual: Q = M(w)^(1/2)

The dual is the optimal design for Kiefer's criterion with p = 1/2. A point outside the ellipsoid calls for weight; a
point inside has none.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import FloatArray

_NEWTON_STEPS = 80
_CENTRING = 0.03  # of the complementarity, left after a step
_SHORT_OF_THE_BOUNDARY = 0.995


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """M(w)^(1/2), by its eigenvalues and axes."""

    roots: FloatArray
    axes: FloatArray

    @classmethod
    def of(cls, points: FloatArray, weights: FloatArray) -> "Ellipsoid":
        """The one that these weights describe."""
        _, roots, axes = np.linalg.svd(points * np.sqrt(weights)[:, None], full_matrices=False)
        return cls(roots, axes.T)

    @property
    def trace(self) -> float:
        """tr M(w)^(1/2)."""
        return float(self.roots.sum())

    def distances(self, points: FloatArray) -> FloatArray:
        """u' M(w)^(-1/2) u: above 1 outside. Also the gradient of 2 tr M(w)^(1/2) in the weights."""
        along = points @ (self.axes / np.sqrt(self.roots))
        distances: FloatArray = np.einsum("ni,ni->n", along, along)
        return distances

    def curvature(self, points: FloatArray) -> FloatArray:
        """Phi (a row for each point), where -Phi Phi' is the Hessian of 2 tr M(w)^(1/2) in the weights.

        The divided difference of 1 / sqrt at squares of roots r and s is -1 / (r s (r + s)).
        """
        along = points @ self.axes
        r, s = self.roots[:, None], self.roots
        phi: FloatArray = along[:, :, None] * along[:, None, :] / np.sqrt(r * s * (r + s))
        return phi.reshape(len(points), -1)


def relative_gap(ellipsoid: Ellipsoid, weights: FloatArray, farthest: float) -> float:
    """By what share tr Q exceeds the least at most, if no point is farther out than `farthest`.

    Blown up by `farthest`, the ellipsoid holds every point. The dual value of t w is largest, tr^2 / sum of w, at the
    best t; what is between the two is the gap.
    """
    return farthest * float(weights.sum()) / ellipsoid.trace - 1


def holding_weights(points: FloatArray, tolerance: float) -> FloatArray:
    """The dual weights of the smallest ellipsoid around all points, to a relative gap of `tolerance`.

    A primal-dual interior point method: Newton's on  distance - 1 + slack = 0  and  weight slack = centre, where the
    centre shrinks. The points must span the space.
    """
    weights = np.full(len(points), 1 / len(points))
    weights *= Ellipsoid.of(points, weights).trace ** 2
    slacks = np.maximum(1 - Ellipsoid.of(points, weights).distances(points), 0.1)
    for _ in range(_NEWTON_STEPS):
        ellipsoid = Ellipsoid.of(points, weights)
        distances = ellipsoid.distances(points)
        if relative_gap(ellipsoid, weights, distances.max()) <= tolerance:
            break
        centre = _CENTRING * (weights @ slacks) / len(points)
        step = _newton(ellipsoid.curvature(points), weights / slacks, distances - 1 + centre / weights)
        slack_step = (centre - slacks * step) / weights - slacks
        weights = weights + _length(weights, step) * step
        slacks = slacks + _length(slacks, slack_step) * slack_step
    return weights


def _newton(phi: FloatArray, ratio: FloatArray, pull: FloatArray) -> FloatArray:
    """x of  (phi phi' + 1 / ratio) x = pull, scaled so that a ratio near 0 or infinity loses no digits."""
    root = np.sqrt(ratio)
    scaled = phi * root[:, None]
    step: FloatArray = root * np.linalg.solve(np.eye(len(root)) + scaled @ scaled.T, root * pull)
    return step


def _length(values: FloatArray, step: FloatArray) -> float:
    """The longest step, up to 1, that keeps the values above 0."""
    falling = step < 0
    return float(np.min(-_SHORT_OF_THE_BOUNDARY * values[falling] / step[falling], initial=1.0))
