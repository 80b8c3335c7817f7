"""Gaussians that are wide but have few directions: the algebra of low rank plus diagonal, without any wide matrix.

Notation, in one class, d columns and r directions
    g = mean + B u + e,       u ~ N(centre, L L') in r directions, e with the variances R = diag(residual)
    C = B L L' B' + R         the covariance of g
    M = I + L' B' R^-1 B L    r x r, by which C^-1 = R^-1 - R^-1 B L M^-1 L' B' R^-1 and |C| = |M| |R| (Woodbury)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from sfumato.fitting.models.logarithms import log_sum
from sfumato.trusted.arrays import Float32Array, FloatArray, IntArray

_LEAST_SD = 1e-9  # on a scale from 0 to 1


class Seen(NamedTuple):
    """What some columns of records say of one class.

    log_joint      log of its weight times the density of each record
    centres, root  of u given the columns: N(centre, root root'), a centre for each record, one root for all
    """

    log_joint: FloatArray
    centres: FloatArray
    root: FloatArray


class Normals(NamedTuple):
    """A mixture of normal laws of one number."""

    weights: FloatArray
    means: FloatArray
    sds: FloatArray

    def cdf(self, numbers: FloatArray) -> FloatArray:
        """The probability of each number or less."""
        share: FloatArray = ndtr((numbers[:, None] - self.means) / self.sds) @ self.weights
        return share

    def log_pdf(self, numbers: FloatArray) -> FloatArray:
        """The log density at each number."""
        z = (numbers[:, None] - self.means) / self.sds
        with np.errstate(divide="ignore"):
            return log_sum(np.log(self.weights) - 0.5 * z * z - np.log(math.sqrt(2 * math.pi) * self.sds))


@dataclass(frozen=True, eq=False)
class LowRankGaussians:
    """Of class c: g = means[c] + basis u + e, with u ~ N(centres[c], roots[c] roots[c]') and e ~ N(0, residual)."""

    weights: FloatArray
    means: FloatArray
    basis: FloatArray
    centres: FloatArray
    roots: FloatArray
    residual: FloatArray

    @cached_property
    def middles(self) -> FloatArray:
        """The mean of every column in every class."""
        middles: FloatArray = self.means + self.centres @ self.basis.T
        return middles

    @cached_property
    def spreads(self) -> FloatArray:
        """The variance that every column has from the subspace, in every class."""
        return np.array([((self.basis @ root) ** 2).sum(axis=1) for root in self.roots])

    @cached_property
    def sds(self) -> FloatArray:
        """The standard deviation of every column in every class."""
        deviations: FloatArray = np.maximum(np.sqrt(self.spreads + self.residual), _LEAST_SD)
        return deviations

    def of_column(self, column: int) -> Normals:
        """The law of one column."""
        row = self.basis[column]
        variances = ((row @ self.roots) ** 2).sum(axis=1) + self.residual[column]
        sds = np.maximum(np.sqrt(variances), _LEAST_SD)
        return Normals(self.weights, self.means[:, column] + self.centres @ row, sds)

    def marginalise(self, g: FloatArray, columns: IntArray) -> Iterator[Seen]:
        """What the named columns (records x columns) say, class by class."""
        basis, residual, means = self.basis[columns], self.residual[columns], self.means[:, columns]
        pull = basis / residual[:, None]
        gram, start = basis.T @ pull, self.weights @ means
        away = g - start
        pulled, square = away @ pull, (away * away) @ (1 / residual)
        volume = float(np.log(2 * math.pi * residual).sum())
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        for weight, mean, centre, root in zip(log_weights, means, self.centres, self.roots, strict=True):
            # y = g - mean - basis centre is never formed: y' R^-1 y and y' R^-1 B come from those of `away`
            shift = mean - start
            from_mean = pulled - shift @ pull
            squares = square - 2 * away @ (shift / residual) + shift @ (shift / residual)
            squares += centre @ gram @ centre - 2 * from_mean @ centre
            half = np.linalg.inv(np.linalg.cholesky(np.eye(len(root)) + root.T @ gram @ root))  # M^-1 = half' half
            known = (from_mean - centre @ gram) @ root @ half.T
            log_joint = (
                weight - 0.5 * (squares - (known * known).sum(axis=1) + volume) + float(np.log(half.diagonal()).sum())
            )
            new_root = root @ half.T
            yield Seen(log_joint, centre + known @ new_root.T, new_root)

    def log_joint(self, g: FloatArray, columns: IntArray) -> FloatArray:
        """log of weight times density of records in the named columns, for every class."""
        return np.array([seen.log_joint for seen in self.marginalise(g, columns)]).T

    def given(self, g: FloatArray, columns: IntArray) -> "LowRankGaussians":
        """The law of u, and the weights, given the values of some columns; the residual of the others is as before."""
        seen = list(self.marginalise(g[None], columns))
        log_joint = np.array([one.log_joint[0] for one in seen])
        weights = np.exp(log_joint - log_joint.max())
        return replace(
            self,
            weights=weights / weights.sum(),
            centres=np.array([one.centres[0] for one in seen]),
            roots=np.array([one.root for one in seen]),
        )

    def draw(self, owner: IntArray, rng: np.random.Generator) -> Float32Array:
        """Records (records x columns, each column in one piece of memory) of these classes."""
        normal = rng.standard_normal((len(owner), self.basis.shape[1]), dtype=np.float32)
        u = np.empty_like(normal)
        for c in np.unique(owner):
            at = owner == c
            u[at] = self.centres[c].astype(np.float32) + normal[at] @ self.roots[c].T.astype(np.float32)
        g = self.basis.astype(np.float32) @ u.T
        g += self.means.T.astype(np.float32)[:, owner]
        for column in np.flatnonzero(self.residual):
            noise = rng.standard_normal(len(owner), dtype=np.float32)
            g[column] += np.float32(math.sqrt(self.residual[column])) * noise
        return g.T

    def covariance(self, i: int, j: int) -> float:
        """Of two columns, over all classes."""
        away = self.middles[:, [i, j]] - self.weights @ self.middles[:, [i, j]]
        inside = [(self.basis[i] @ root) @ (self.basis[j] @ root) for root in self.roots]
        shared = float(self.weights @ (np.array(inside) + away[:, 0] * away[:, 1]))
        return shared + (float(self.residual[i]) if i == j else 0.0)

    def between(self, column: int) -> float:
        """The variance of a column between the classes."""
        middles = self.middles[:, column]
        return float(self.weights @ (middles - self.weights @ middles) ** 2)

    def kl(self, other: "LowRankGaussians") -> FloatArray:
        """KL(this || other) of every class."""
        gram = other.basis.T @ (other.basis / other.residual[:, None])
        ratio = self.residual / other.residual
        found = []
        for c, (mine, theirs) in enumerate(zip(self.roots, other.roots, strict=True)):
            half = np.linalg.inv(np.linalg.cholesky(np.eye(len(theirs)) + theirs.T @ gram @ theirs))
            pull = (other.basis / other.residual[:, None]) @ theirs @ half.T  # C^-1 = R^-1 - pull pull'
            spread, away = self.basis @ mine, self.middles[c] - other.middles[c]
            trace = ratio.sum() + ((spread * spread).sum(axis=1) / other.residual).sum()
            trace -= ((pull * pull).sum(axis=1) * self.residual).sum() + ((pull.T @ spread) ** 2).sum()
            square = away @ (away / other.residual) - ((away @ pull) ** 2).sum()
            volume = np.linalg.slogdet(np.eye(len(mine)) + spread.T @ (spread / self.residual[:, None]))[1]
            volume += np.log(ratio).sum() + 2 * np.log(half.diagonal()).sum()
            found.append(0.5 * (trace - len(away) - volume + square))
        return np.array(found)


def log_normals(u: FloatArray, centres: FloatArray, roots: FloatArray) -> FloatArray:
    """The log density of points (points x directions) under N(centre, root root'), for every class."""
    density = np.empty((len(u), len(centres)))
    volumes = np.linalg.slogdet(roots)[1] + 0.5 * u.shape[1] * math.log(2 * math.pi)
    for c, (centre, inverse) in enumerate(zip(centres, np.linalg.inv(roots), strict=True)):
        z = (u - centre) @ inverse.T
        density[:, c] = -0.5 * (z * z).sum(axis=1) - volumes[c]
    return density


def draw_stratified(weights: FloatArray, rows: int, rng: np.random.Generator) -> IntArray:
    """Classes of records in random order, one drawn in each of `rows` equal parts of the weights."""
    ends = np.cumsum(weights) / weights.sum()
    spread = (np.arange(rows) + rng.random(rows)) / max(rows, 1)
    owner = np.searchsorted(ends, spread, side="right").clip(max=int(np.flatnonzero(weights)[-1]))
    return rng.permutation(owner)
