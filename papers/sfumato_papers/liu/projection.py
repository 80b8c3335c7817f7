"""Back to what a mixture may be: the nearest weights and covariances that are some."""

import numpy as np

from sfumato.trusted.arrays import FloatArray

_LEAST_EIGENVALUE = 1e-6  # the nearest positive semidefinite matrix is singular, and no Gaussian has such a covariance


def nearest_weights(values: FloatArray, least: float) -> FloatArray:
    """The nearest vector that adds up to 1 and has no entry below `least`: all are lowered alike and then cut."""
    room = 1 - len(values) * least
    falling = np.sort(values - least)[::-1]
    lowered = (np.cumsum(falling) - room) / np.arange(1, len(values) + 1)
    kept = np.flatnonzero(falling >= lowered)[-1]
    weights: FloatArray = np.maximum(values - least - lowered[kept], 0) + least
    return weights


def nearest_covariance(matrix: FloatArray) -> FloatArray:
    """The symmetric matrix with its eigenvalues raised to a millionth where they are below."""
    values, axes = np.linalg.eigh(matrix)
    covariance: FloatArray = (axes * np.maximum(values, _LEAST_EIGENVALUE)) @ axes.T
    return covariance
