"""What the scores of a Gaussian class add up to, in closed form.

exp(-rate |z|^2) turns z ~ N(a, B) into another Gaussian, and the damping is a sum of such terms. With B = V diag(l) V'
and D = 1 / (1 + 2 rate l): mass Z = prod D^(1/2) exp(-rate sum D (V'a)^2), mean V D V'a, covariance V D l V'.
"""

import math

import numpy as np

from sfumato.fitting.mechanisms.mixture.symmetric import diagonal_of, svec
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import Hampel, Lift


def expected_score(one: Hampel | Lift, means: FloatArray, roots: FloatArray) -> FloatArray:
    """E g(x) of one record for x ~ N(m_s, A_s A_s'), one row for each s: means (s x d), roots (s x d x d)."""
    matrix, centre = one.whitening.exact_matrix, one.whitening.exact_centre
    a = (means - centre) @ matrix.T
    root = np.matmul(matrix, roots)
    values, vectors = np.linalg.eigh(np.matmul(root, root.transpose(0, 2, 1)))
    return _assembled(one, *_moments(one, a, np.maximum(values, 0.0), vectors))


def _moments(
    one: Hampel | Lift, a: FloatArray, values: FloatArray, vectors: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """E kappa, E kappa z, E kappa svec(zz'), E kappa t."""
    rates, coefficients = np.array(one.damping.rates), np.array(one.damping.coefficients)
    turned = np.einsum("sji,sj->si", vectors, a)
    shrunk = 1 / (1 + 2 * rates[:, None] * values[:, None, :])  # D: s x terms x d
    exponent = 0.5 * np.log(shrunk).sum(2) - np.einsum("sjd,sd->sj", shrunk, turned**2) * rates
    mass = coefficients * np.exp(exponent)
    middle = shrunk * turned[:, None, :]
    weighted = mass[:, :, None] * middle
    second = np.matmul(weighted.transpose(0, 2, 1), middle)
    diagonal = np.arange(a.shape[1])
    second[:, diagonal, diagonal] += np.einsum("sj,sjd->sd", mass, shrunk) * values
    trace = np.trace(second, axis1=1, axis2=2)
    second = np.matmul(np.matmul(vectors, second), vectors.transpose(0, 2, 1))
    return mass.sum(1), np.einsum("sij,sj->si", vectors, weighted.sum(1)), svec(second), trace


def _assembled(
    one: Hampel | Lift, zeroth: FloatArray, first: FloatArray, second: FloatArray, trace: FloatArray
) -> FloatArray:
    """The coordinates of the map, which are linear in these moments."""
    if isinstance(one, Lift):
        parts = [one.h**2 * zeroth[:, None], math.sqrt(2) * one.h * first, second]
    else:
        d = one.dimension
        traceless = second - (trace / d)[:, None] * diagonal_of(d)
        level = (trace - one.c * d * zeroth) / math.sqrt(d)
        parts = [np.full((len(zeroth), 1), one.w), one.a * first, one.b * traceless, one.e * level[:, None]]
    return np.concatenate(parts, axis=1)
