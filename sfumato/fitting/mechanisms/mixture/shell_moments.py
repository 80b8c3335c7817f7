"""The mean and covariance of a class from its noisy shells, without assuming that it is Gaussian.

Everything is in the coordinates z in which the shells were measured. Shells whose content noise cannot tell from that
of a Gaussian class are filled in from the Gaussian.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.special import chdtr

from sfumato.fitting.mechanisms.mixture.shrinkage import filter_noise, shrink_matrix, shrink_vector
from sfumato.fitting.mechanisms.mixture.symmetric import smat
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import Shells


class Tuning(TuningConstants, group="mixture.shell_moments"):
    """See `sfumato.fitting.tuning`."""

    typical = 1.35  # t of a record of an outer shell, in units of the shell's inner edge
    next = 1.5  # z-scores from which shell 2, a shell next to a kept one, and any shell is kept
    near = 2.0
    far = 5.0
    nothing = 1e-6


@dataclass(frozen=True)
class ShellMoments:
    """Per shell the count, the sum of t, the mean direction and the shape; and all of them together.

    The variances are those that noise gives a coordinate of the mean, of the traceless covariance and of the trace, in
    units of the covariance. Shrinkage makes them small and leaves a bias, and a shell that was not kept may hold what
    its noise hides: `doubt` is the variance without shrinkage, with the next shell. `excess` is the largest z-score of
    an outer shell against a Gaussian class.
    """

    count: FloatArray
    spread: FloatArray
    direction: FloatArray
    shape: FloatArray
    mean: FloatArray
    cov: FloatArray
    variances: "Variances"
    doubt: "Variances"
    excess: float


class Variances(NamedTuple):
    """What noise gives a coordinate of the mean, of the traceless covariance, and of the trace."""

    mean: float
    shape: float
    trace: float

    def expected_kl(self, d: int) -> float:
        """The expected KL divergence to second order."""
        return 0.5 * d * self.mean + 0.25 * (d * (d + 1) / 2 - 1) * self.shape + 0.25 * self.trace


def shell_risk(one: Shells, deviation: float, count: float) -> float:
    """What noise costs in KL if a Gaussian class of this count is read off its first shell."""
    d, first = one.dimension, one.edges[0]
    unit = ((1 + one.g) * deviation / count) ** 2
    return unit * (0.25 * d * first / one.g + 0.25 * d * (d + 1) / 2 * first**2)


@dataclass(frozen=True)
class _Raw:
    """Noisy count, sum of t, sum of z and second moment of every shell; `noise` is the sd of what is left of u u'."""

    count: FloatArray
    spread: FloatArray
    first: FloatArray
    second: FloatArray
    noise: float


def _raw(one: Shells, value: FloatArray, deviation: float) -> _Raw:
    edges = np.array(one.edges)
    both = smat(value) * (1 + one.g)
    second = both[:, 1:, 1:] * edges[:, None, None]
    first = both[:, 0, 1:] * np.sqrt(edges / one.g)[:, None]
    return _Raw(both[:, 0, 0] / one.g, np.trace(second, axis1=1, axis2=2), first, second, (1 + one.g) * deviation)


def read_shells(one: Shells, value: FloatArray, deviation: float, count: float, count_sd: float) -> ShellMoments:
    """The moments of a class from the sums of its shells and an independent count."""
    d, edges, inner = one.dimension, np.array(one.edges), np.array((0.0, *one.edges[:-1]))
    raw = _raw(one, value, deviation)
    gaussian_count, gaussian_spread = (
        np.diff(chdtr(freedom, edges), prepend=0.0) * factor for freedom, factor in ((d, 1.0), (d + 2, float(d)))
    )
    z_score = _z_scores(one, raw, max(count, 0.0) * gaussian_count)
    kept = _kept(z_score)
    beyond = max(count, 1.0) * np.array([gaussian_count[kept:].sum(), gaussian_spread[kept:].sum()])
    counts, spreads = _contents(one, raw, kept, count - beyond[0], count_sd)
    on = np.flatnonzero((counts > 0.01) | (np.arange(kept) == 0))
    counts, spreads, edges = (
        counts[on],
        np.maximum(spreads[on], counts[on] * np.maximum(inner[on], 0.05 * edges[0])),
        edges[on],
    )
    filled = beyond[1] > Tuning.nothing * spreads.sum()
    shapes, shape_noise = _shapes(raw, on, spreads, edges, beyond[1] * filled)
    directions, mean_noise = _directions(one, raw, on, counts, spreads, np.sqrt(beyond.prod()) * filled)
    if filled:  # a filled shell looks like the outermost measured one
        counts, spreads = np.append(counts, beyond[0]), np.append(spreads, beyond[1])
        shapes, directions = np.concatenate([shapes, shapes[-1:]]), np.concatenate([directions, directions[-1:]])
    total = counts.sum()
    mean = np.sqrt(counts * spreads) @ directions / total
    cov = _floored(np.einsum("j,jab->ab", spreads, shapes) / total - np.outer(mean, mean))
    level = np.trace(cov) / d
    trace_noise = float(((raw.noise * edges / total) ** 2).sum())
    variances = Variances(mean_noise / total**2 / level, shape_noise / total**2 / level**2, trace_noise / level**2)
    doubt = _doubt(one, raw, kept + 1, total, level)
    return ShellMoments(counts, spreads, directions, shapes, mean, cov, variances, doubt, float(z_score[1:].max()))


def _doubt(one: Shells, raw: _Raw, shells: int, total: float, level: float) -> Variances:
    """The variances of sums over some shells as they came out of the curator."""
    edges = np.array(one.edges[:shells])
    first = float((raw.noise**2 * edges / (2 * one.g)).sum()) / total**2 / level
    second = float(((raw.noise * edges) ** 2).sum()) / total**2 / level**2
    return Variances(first, second, second)


def _z_scores(one: Shells, raw: _Raw, expected: FloatArray) -> FloatArray:
    """How far the content of each shell is from that of a Gaussian class; count and sum of t weighed together."""
    edges = np.array(one.edges)
    typical = np.concatenate([[edges[0] * np.sqrt(0.5)], edges[:-1] * Tuning.typical])
    by_count = np.full(len(edges), (one.g / raw.noise) ** 2)
    by_spread = (typical / (raw.noise * np.sqrt(one.dimension) * edges)) ** 2
    estimate = (by_count * raw.count + by_spread * raw.spread / typical) / (by_count + by_spread)
    z_score: FloatArray = (estimate - expected) * np.sqrt(by_count + by_spread)
    return z_score


def _kept(z_score: FloatArray) -> int:
    """How many shells are read, from the inside out; a gap of one is allowed before a shell with too much in it."""
    last = 0
    for j, z in enumerate(z_score[1:], start=1):
        near = abs(z) > (Tuning.next if j == 1 else Tuning.near) and last >= j - (1 if z < 0 else 2)
        if z > Tuning.far or near:
            last = j
    return last + 1


def _contents(one: Shells, raw: _Raw, kept: int, total: float, total_sd: float) -> tuple[FloatArray, FloatArray]:
    """Counts and sums of t of the kept shells that are possible: T_{j-1} n_j <= tau_j <= T_j n_j, all adding up.

    Non-negative least squares in the numbers of records at the two edges of each shell.
    """
    edges = np.array(one.edges)[:kept]
    ends = np.stack([np.concatenate([[0.0], edges[:-1]]), edges])
    unit = raw.noise * edges * np.sqrt(one.dimension)
    matrix = np.zeros((2 * kept + 1, 2 * kept))
    for j in range(kept):
        matrix[2 * j, 2 * j : 2 * j + 2] = one.g / raw.noise
        matrix[2 * j + 1, 2 * j : 2 * j + 2] = ends[:, j] / unit[j]
    matrix[-1] = 1 / total_sd
    side = np.stack([raw.count[:kept] * one.g / raw.noise, raw.spread[:kept] / unit], axis=1).ravel()
    at_ends = nnls(matrix, np.append(side, total / total_sd))[0].reshape(kept, 2)
    return np.maximum(at_ends.sum(1), 1e-3), (at_ends * ends.T).sum(1)


def _shapes(raw: _Raw, on: IntArray, spreads: FloatArray, edges: FloatArray, beyond: float) -> tuple[FloatArray, float]:
    """The second moment of each shell over its trace, and the noise of their sum."""
    d = raw.first.shape[1]
    traceless = raw.second[on] - (raw.spread[on] / d)[:, None, None] * np.eye(d)
    weights = spreads.copy()
    weights[-1] += beyond
    found, noise = filter_noise(
        traceless / spreads[:, None, None], (raw.noise * edges / spreads) ** 2, weights, shrink_matrix
    )
    values, vectors = np.linalg.eigh(found + np.eye(d) / d)
    values = np.maximum(values, 1e-3 / d)
    values /= values.sum(1, keepdims=True)
    return np.matmul(vectors * values[:, None, :], vectors.transpose(0, 2, 1)), noise


def _directions(
    one: Shells, raw: _Raw, on: IntArray, counts: FloatArray, spreads: FloatArray, beyond: float
) -> tuple[FloatArray, float]:
    """The mean of z in each shell over its root mean square radius, and the noise of their sum."""
    radius, edges = np.sqrt(counts * spreads), np.array(one.edges)[on]
    weights = radius.copy()
    weights[-1] += beyond
    variances = raw.noise**2 * edges / (2 * one.g) / radius**2
    found, noise = filter_noise(raw.first[on] / radius[:, None], variances, weights, shrink_vector)
    return found / np.maximum(1.0, np.linalg.norm(found, axis=1) / 0.98)[:, None], noise


def _floored(cov: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(cov)
    floored: FloatArray = (vectors * np.maximum(values, 0.05 * max(np.median(values), 0.05))) @ vectors.T
    return floored


class Part(NamedTuple):
    """One Gaussian of a class: its share, mean and covariance."""

    share: float
    mean: FloatArray
    cov: FloatArray


def parts_of(moments: ShellMoments, most: int = 3, steps: int = 200) -> list[Part]:
    """Up to `most` Gaussians that together have the mean and covariance of the shells, in their coordinates.

    Expectation and maximisation on the radius alone; then each part takes its share of every shell's moments. The
    shares of a shell add up to one, so the moments are kept.
    """
    count, spread, d = moments.count, moments.spread, len(moments.mean)
    t, total = spread / count, count.sum()
    parts = min(most, len(t))
    scale = t[0] / d * np.geomspace(0.7, max(3.0, t[-1] / t[0] / 3), parts)
    share = np.geomspace(1, 0.02, parts)
    for _ in range(steps):
        log_fit = np.log(share / share.sum()) - 0.5 * d * np.log(scale) - 0.5 * t[:, None] / scale
        fit = np.exp(log_fit - log_fit.max(1, keepdims=True))
        fit /= fit.sum(1, keepdims=True)
        share = np.maximum(count @ fit / total, 1e-6)
        scale = np.maximum(spread @ fit / np.maximum(count @ fit, 1e-9) / d, 1e-9)
    found = []
    for mine in fit.T:
        held = float(count @ mine)
        if held < 1e-4 * total:
            continue
        mean = (mine * np.sqrt(count * spread)) @ moments.direction / held
        values, vectors = np.linalg.eigh(
            np.einsum("j,jab->ab", mine * spread, moments.shape) / held - np.outer(mean, mean)
        )
        cov = (vectors * np.maximum(values, 0.05 * max(np.median(values), 1e-9))) @ vectors.T
        found.append(Part(held / total, mean, cov))
    return found
