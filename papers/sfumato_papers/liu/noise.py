"""Draws of the noise on means and covariances."""

import numpy as np

from sfumato.trusted.arrays import FloatArray


def gaussian(rng: np.random.Generator, covariance: FloatArray) -> FloatArray:
    """w of (5): mean 0 and this covariance, Gamma^-1."""
    w: FloatArray = np.linalg.cholesky(covariance) @ rng.standard_normal(len(covariance))
    return w


def wishart(rng: np.random.Generator, dimensions: int, gamma: float) -> FloatArray:
    """W of (6): d + 1 degrees of freedom and scale I / gamma. The line after (6) has gamma for 1 / gamma."""
    rows = rng.standard_normal((dimensions + 1, dimensions))
    W: FloatArray = rows.T @ rows / gamma
    return W
