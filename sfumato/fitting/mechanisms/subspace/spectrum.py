"""Which directions of a noisy second moment stand above its noise, and what is left outside them."""

import math
from typing import NamedTuple

import numpy as np

from sfumato.trusted.arrays import FloatArray


class Spikes(NamedTuple):
    """Orthonormal directions (columns x spikes), the strongest first, and the variance along each."""

    directions: FloatArray
    variances: FloatArray


def spikes(noisy: FloatArray, noise: float) -> Spikes:
    """The eigenvectors above the edge of the noise, a symmetric matrix with this deviation off the diagonal.

    Its spectrum is a semicircle that ends at 2 noise sqrt(d). A spike of variance v is seen at v + noise^2 d / v.
    """
    values, vectors = np.linalg.eigh(noisy)
    values, vectors = values[::-1], vectors[:, ::-1]
    edge = 2 * noise * math.sqrt(len(values))
    seen = values[values > edge]
    variances = (seen + np.sqrt(seen * seen - edge * edge)) / 2
    return Spikes(fix_signs(vectors[:, : len(seen)]), variances)


def fix_signs(directions: FloatArray) -> FloatArray:
    """Each turned so that its largest entry is positive: an eigenvector has no sign of its own."""
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
    return np.where(largest < 0, -directions, directions)


def discriminants(means: FloatArray, weights: FloatArray, known: FloatArray) -> FloatArray:
    """Orthonormal directions (columns x at most K - 1), outside the known ones, that part the class means most."""
    away = means - weights @ means
    away = np.sqrt(weights)[:, None] * (away - (away @ known) @ known.T)
    lengths, directions = np.linalg.svd(away, full_matrices=False)[1:]
    kept = lengths[: len(means) - 1] > 1e-9
    return fix_signs(directions[: len(means) - 1][kept].T)


def estimate_residual(noisy: FloatArray, basis: FloatArray, noise: float) -> FloatArray:
    """The variance of each column outside the subspace, pulled to the average by what is known of its noise.

    The diagonal has deviation sqrt(2) noise. No column is left with less than a tenth of the average: one that looks
    exact would be all that a learner sees.
    """
    rest = np.diag(noisy) - (basis * basis).sum(axis=1)
    average = max(float(rest.mean()), 1e-8)
    gain = max(0.0, 1 - 2 * noise * noise / max(float(rest.var()), 1e-300))
    shrunk: FloatArray = np.maximum(average + gain * (rest - average), 0.1 * average)
    return shrunk
