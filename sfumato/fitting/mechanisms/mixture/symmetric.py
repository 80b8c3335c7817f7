"""Symmetric matrices as vectors: `svec` keeps inner products, <svec A, svec B> = tr(AB)."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps.bounded_map import triangle

_triangle = cache(triangle)


def svec(matrix: FloatArray) -> FloatArray:
    """The upper triangle, off-diagonal entries times sqrt(2); any axes in front."""
    i, j, factor = _triangle(matrix.shape[-1])
    vector: FloatArray = matrix[..., i, j] * factor
    return vector


def smat(vector: FloatArray) -> FloatArray:
    """The inverse of `svec`."""
    d = (int(np.sqrt(8 * vector.shape[-1] + 1)) - 1) // 2
    i, j, factor = _triangle(d)
    matrix = np.zeros((*vector.shape[:-1], d, d))
    matrix[..., i, j] = matrix[..., j, i] = vector / factor
    return matrix


def diagonal_of(dimension: int) -> NDArray[np.bool_]:
    """Which coordinates of `svec` lie on the diagonal."""
    i, j, _ = _triangle(dimension)
    return np.equal(i, j)


def root_near_columns(covariance: FloatArray) -> FloatArray:
    """R with RR' = S whose coordinates stay as near to the columns as can be: diag(sd) corr^(1/2).

    Heavy tails live in columns.
    """
    sd = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(sd, sd))
    root: FloatArray = sd[:, None] * ((vectors * np.sqrt(np.maximum(values, 1e-10))) @ vectors.T)
    return root
