"""The Gaussian that loses least, by KL(it || truth), where the truth is known by draws. Post-processing."""

import math
from typing import NamedTuple

import numpy as np

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray


class Tuning(TuningConstants, group="mixture.nearest"):
    """See `sfumato.fitting.tuning`."""

    narrowest = math.exp(-2)  # variance that is believed, relative to that of the middle


class Nearest(NamedTuple):
    """Mean and covariance of the Gaussian, and the precisions of the draws."""

    mean: FloatArray
    cov: FloatArray
    precisions: FloatArray


def nearest_gaussian(weights: FloatArray, means: FloatArray, roots: FloatArray) -> Nearest:
    """argmin over Q of the mean of KL(Q || N(m, S)) over weighted draws of m and S = AA', given the roots A.

    cov = E[S^-1]^-1, mean = cov E[S^-1 m], by setting the derivatives to zero.
    """
    inverse = np.linalg.inv(roots)
    precisions = np.matmul(inverse.transpose(0, 2, 1), inverse)
    cov = np.linalg.inv(np.einsum("s,sab->ab", weights, precisions))
    return Nearest(cov @ np.einsum("s,sab,sb->a", weights, precisions, means), cov, precisions)


def floor_roots(middle: FloatArray, roots: FloatArray) -> FloatArray:
    """Roots of the covariances AA', nowhere much narrower than the middle one, whose root is given.

    Few narrow draws would rule E[S^-1].
    """
    turned = np.matmul(np.linalg.inv(middle), roots)
    values, vectors = np.linalg.eigh(np.matmul(turned, turned.transpose(0, 2, 1)))
    floored: FloatArray = middle @ (vectors * np.sqrt(np.maximum(values, Tuning.narrowest))[:, None, :])
    return floored
