"""A Gaussian estimate of a class and what its shells say, weighed against each other."""

from typing import NamedTuple

import numpy as np

from sfumato.fitting.mechanisms.mixture.posterior import ClassPosterior
from sfumato.fitting.mechanisms.mixture.shell_moments import ShellMoments, Variances
from sfumato.fitting.mechanisms.mixture.shrinkage import shrink_matrix, shrink_vector, towards
from sfumato.fitting.mechanisms.mixture.symmetric import root_near_columns, svec
from sfumato.trusted.arrays import FloatArray


class Estimate(NamedTuple):
    """Mean and covariance of a class, and the variances of their coordinates in units of the covariance."""

    mean: FloatArray
    cov: FloatArray
    variances: Variances

    @classmethod
    def of(cls, posterior: ClassPosterior) -> "Estimate":
        """The mode of a posterior, sampling included."""
        d, covariance = posterior.dimension, posterior.covariance()
        along = svec(np.eye(d)) / np.sqrt(d)
        inside = covariance[1 + d :, 1 + d :]
        trace = float(along @ inside @ along)
        shape = float(np.trace(inside) - trace) / max(len(along) - 1, 1)
        mean = float(np.trace(covariance[1 : 1 + d, 1 : 1 + d])) / d
        return cls(posterior.mean, posterior.cov, Variances(mean, shape, trace))


class _Difference(NamedTuple):
    """How the shells differ from an estimate, in its units: mean, traceless covariance, log of the level."""

    root: FloatArray
    mean: FloatArray
    shape: FloatArray
    level: float
    variances: Variances  # of the shells, in units of the estimate


def _difference(before: Estimate, centre: FloatArray, root: FloatArray, moments: ShellMoments) -> _Difference:
    mine = root_near_columns(before.cov)
    inverse = np.linalg.inv(mine)
    mean = inverse @ (centre + root @ moments.mean - before.mean)
    turned = inverse @ root
    cov = turned @ moments.cov @ turned.T
    level = float(np.trace(cov)) / len(mean)
    seen = moments.variances
    variances = Variances(seen.mean * level, seen.shape, seen.trace)
    return _Difference(mine, mean, cov / level - np.eye(len(mean)), float(np.log(level)), variances)


def bias(before: Estimate, centre: FloatArray, root: FloatArray, moments: ShellMoments) -> tuple[float, float]:
    """The KL divergence between an estimate and the shells beyond the noise of both, and its sd without any bias."""
    d, pairs = len(before.mean), len(before.mean) * (len(before.mean) + 1) / 2
    off = _difference(before, centre, root, moments)
    mean, shape, trace = (mine + theirs for mine, theirs in zip(before.variances, off.variances, strict=True))
    excess = 0.5 * (off.mean @ off.mean - d * mean)
    excess += 0.25 * ((off.shape * off.shape).sum() - (pairs - 1) * shape) + 0.25 * (d * off.level**2 - trace)
    return float(excess), float(np.sqrt(0.5 * d * mean**2 + (pairs - 1) / 8 * shape**2 + trace**2 / 8))


def combine_estimates(before: Estimate, centre: FloatArray, root: FloatArray, moments: ShellMoments) -> Estimate:
    """The estimate moved towards the shells, separately in mean, shape and level."""
    d, old = len(before.mean), before.variances
    off = _difference(before, centre, root, moments)
    mean, mean_var, _ = towards(off.mean, old.mean, off.variances.mean, shrink_vector)
    shape, shape_var, _ = towards(off.shape, old.shape, off.variances.shape, shrink_matrix)
    level, trace_var, _ = towards(np.array([off.level * np.sqrt(d)]), old.trace, off.variances.trace, shrink_vector)
    values, vectors = np.linalg.eigh(np.eye(d) + shape)
    values = np.maximum(values, 0.05) * np.exp(level[0] / np.sqrt(d))
    turned = off.root @ vectors
    return Estimate(
        before.mean + off.root @ mean, (turned * values) @ turned.T, Variances(mean_var, shape_var, trace_var)
    )
