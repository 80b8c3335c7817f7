"""What classes have in common: correlations that lie around those of the other classes. Post-processing.

The correlations R_k of a class have a normal prior around the mean of the other classes',

    svec log(C^-1/2 R_k C^-1/2) ~ N(0, tau^2 I),    log C = the mean of log R_j over j != k, weighed by precision,

whose tau is fitted to what was released by MacKay's rule (1992): the squares of what lies apart, over how many
coordinates the answers, and not the priors, determine. Where tau is not small there is no such prior.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from sfumato.fitting.mechanisms.mixture.symmetric import diagonal_of, svec
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray


class Tuning(TuningConstants, group="mixture.pooling"):
    """See `sfumato.fitting.tuning`."""

    least_tau = 0.05
    alike = 0.6  # largest tau of classes that have something in common
    deviations = 2.0  # of its own error that the variance is raised by: too much in common is worse than too little
    least_determined = 0.01  # share of a class's coordinates
    least_value = 1e-6  # of the eigenvalues of correlations


class SharedShape(NamedTuple):
    """C^-1/2, and tau."""

    whitening: FloatArray
    tau: float

    def residuals(self, roots: FloatArray) -> FloatArray:
        """How far the correlations of covariances AA' are off, in units of tau: one row for each A (s x d x d)."""
        rows = roots / np.sqrt(np.einsum("sij,sij->si", roots, roots))[:, :, None]
        turned = np.matmul(self.whitening, rows)
        return svec(_log(np.matmul(turned, turned.swapaxes(-1, -2)))) / self.tau


class _Shaped(Protocol):
    """What is known of a class: see `ClassPosterior`."""

    laplace: FloatArray

    @property
    def dimension(self) -> int: ...

    @property
    def cov(self) -> FloatArray: ...


def shared_shapes(classes: Sequence[_Shaped], before: float | None) -> list[SharedShape] | None:
    """The prior of every class from all others; `before` is the last tau. None if there is nothing to share."""
    d = classes[0].dimension
    if len(classes) < 2 or d < 2:
        return None
    off = np.flatnonzero(~diagonal_of(d)) + 1 + d
    doubt = np.array([np.trace(one.laplace[np.ix_(off, off)]) / len(off) for one in classes])
    correlations = np.array([_correlation(one.cov) for one in classes])
    weights = 1 / (doubt + (before or 0.0) ** 2)
    whitenings = _exp(-0.5 * _means_of_others(_log(correlations), weights))
    apart = svec(_log(np.matmul(np.matmul(whitenings, correlations), whitenings)))
    precision = (d + 1) / 2 + (0.0 if before is None else before**-2)  # of the priors: of correlations, and this one
    determined = np.clip(1 - doubt * precision, Tuning.least_determined, 1)
    squares = np.einsum("kc,kc->k", apart, apart) / len(off)
    variance = float(weights @ squares / (weights @ determined))
    variance *= 1 + Tuning.deviations * np.sqrt(2 / (len(off) * determined.sum()))
    tau = max(float(np.sqrt(variance)), Tuning.least_tau)
    return [SharedShape(one, tau) for one in whitenings] if tau < Tuning.alike else None


def _means_of_others(values: FloatArray, weights: FloatArray) -> FloatArray:
    """For each class the weighted mean of all others."""
    weighed = weights[:, None, None] * values
    means: FloatArray = (weighed.sum(axis=0) - weighed) / (weights.sum() - weights)[:, None, None]
    return means


def _correlation(cov: FloatArray) -> FloatArray:
    sd = np.sqrt(np.diag(cov))
    correlation: FloatArray = cov / np.outer(sd, sd)
    return correlation


def _log(matrices: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(matrices)
    logs: FloatArray = np.matmul(
        vectors * np.log(np.maximum(values, Tuning.least_value))[..., None, :], vectors.swapaxes(-1, -2)
    )
    return logs


def _exp(matrices: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(matrices)
    powers: FloatArray = np.matmul(vectors * np.exp(values)[..., None, :], vectors.swapaxes(-1, -2))
    return powers
