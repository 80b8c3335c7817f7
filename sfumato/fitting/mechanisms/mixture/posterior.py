"""What is known of one class: its count n, mean m and covariance S, given its noisy scores and the coarse rounds.

Local coordinates around the present point (n, m, S = AA'):  theta = (log n, mean in units of A, svec E) with
n e^theta_0,  m + A dm,  S = A exp(E) A'.  Minus the log posterior is

    1/2 sum_t |v_t - n E g_t|^2 / noise^2  +  the coarse rounds as normal priors of n, m_j, log s_j  -  kap log|corr(S)|

All of it is post-processing.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sfumato.fitting.mechanisms.mixture.coarse import Coarse
from sfumato.fitting.mechanisms.mixture.design import residual
from sfumato.fitting.mechanisms.mixture.expectation import expected_score
from sfumato.fitting.mechanisms.mixture.nearest import floor_roots, nearest_gaussian
from sfumato.fitting.mechanisms.mixture.pooling import SharedShape
from sfumato.fitting.mechanisms.mixture.sampling import draw
from sfumato.fitting.mechanisms.mixture.symmetric import diagonal_of, smat, svec
from sfumato.fitting.public_rng import PublicRng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import Hampel, Lift


class Tuning(TuningConstants, group="mixture.posterior"):
    """See `sfumato.fitting.tuning`."""

    difference = 1e-6  # of the numerical derivatives
    least_precision = 1e-2  # caps the sd of a direction that nothing is known of at 10
    certain = 0.01  # expected KL below which the mode is the best action to second order


class Score(NamedTuple):
    """A noisy sum of scores in units of a record's norm, and the sd of its noise."""

    one: Hampel | Lift
    value: FloatArray
    deviation: float


@dataclass(frozen=True)
class Prior:
    """What the coarse rounds say of one class."""

    count: float
    count_sd: float
    mean: FloatArray
    mean_var: FloatArray
    log_sd: FloatArray
    log_sd_var: FloatArray

    @classmethod
    def of(cls, coarse: Coarse, k: int) -> "Prior":
        """The part of class k."""
        parts = (coarse.mean, coarse.mean_var, coarse.log_sd, coarse.log_sd_var)
        return cls(float(coarse.count[k]), float(coarse.count_sd[k]), *(part[k] for part in parts))


class Points(NamedTuple):
    """Points of the parameter space: counts, means, roots of covariances, logs of their volume changes.

    `bends` is the log of how much volume of covariances a unit of local coordinates holds, relative to the centre.
    """

    counts: FloatArray
    means: FloatArray
    roots: FloatArray
    volumes: FloatArray
    bends: FloatArray


class Draws(NamedTuple):
    """Weighted draws from the posterior."""

    weights: FloatArray
    counts: FloatArray
    means: FloatArray
    roots: FloatArray


@dataclass(frozen=True)
class Action:
    """The Gaussians that lose least under the posterior; see `ClassPosterior.action`."""

    count: float
    mean: FloatArray
    cov: FloatArray
    expected_kl: float
    wide_mean: FloatArray
    wide_cov: FloatArray


@dataclass(eq=False)
class ClassPosterior:
    """The posterior of one class."""

    prior: Prior
    scores: list[Score] = field(default_factory=list)
    shape: SharedShape | None = None

    def __post_init__(self) -> None:
        prior, d = self.prior, len(self.prior.mean)
        self.count, self.mean, self.root = prior.count, prior.mean.copy(), np.diag(np.exp(prior.log_sd))
        self._tightness = (d + 1) / 2  # kap, of the prior of correlations
        i, _ = np.triu_indices(d)
        spread = np.where(diagonal_of(d), 4 * prior.log_sd_var[i], 0.1)
        mean_var = prior.mean_var / np.exp(2 * prior.log_sd)
        self.laplace = np.diag(np.concatenate([[(prior.count_sd / prior.count) ** 2], mean_var, spread]))

    def continue_from(self, before: "ClassPosterior") -> None:
        """Take in the scores of another posterior of the same class, and start at its mode."""
        self.scores = [*before.scores]
        self.count, self.mean, self.root = before.count, before.mean.copy(), before.root.copy()
        if self.scores:
            self.solve(8)

    @property
    def dimension(self) -> int:
        """How many columns there are."""
        return len(self.mean)

    @property
    def cov(self) -> FloatArray:
        """The covariance at the present point."""
        cov: FloatArray = self.root @ self.root.T
        return cov

    def at(self, theta: FloatArray) -> Points:
        """The points at local coordinates, one for each row."""
        d = self.dimension
        values, vectors = np.linalg.eigh(smat(theta[:, 1 + d :]))
        values = np.clip(values, -12, 12)
        root = np.matmul(vectors * np.exp(values / 2)[:, None, :], vectors.transpose(0, 2, 1))
        counts = self.count * np.exp(np.clip(theta[:, 0], -5, 5))
        means = self.mean + theta[:, 1 : 1 + d] @ self.root.T
        return Points(counts, means, self.root @ root, values.sum(1), _bends(values))

    def residuals(self, points: Points) -> tuple[FloatArray, FloatArray]:
        """How far scores and priors are off at each point, in their deviations; and the log sd of every column."""
        prior, (counts, means, roots, *_) = self.prior, points
        rows = [
            (score.value - counts[:, None] * expected_score(score.one, means, roots)) / score.deviation
            for score in self.scores
        ]
        log_sd = 0.5 * np.log(np.einsum("sij,sij->si", roots, roots))
        rows.append(((prior.count - counts) / prior.count_sd)[:, None])
        rows.append((prior.mean - means) / np.sqrt(prior.mean_var))
        rows.append((prior.log_sd - log_sd) / np.sqrt(prior.log_sd_var))
        if self.shape is not None:
            rows.append(self.shape.residuals(roots))
        return np.concatenate(rows, axis=1), log_sd

    def _surprise(self, points: Points) -> FloatArray:
        """Minus the log posterior at each point, up to a constant."""
        rows, log_sd = self.residuals(points)
        log_det = 2 * np.linalg.slogdet(self.root)[1] + points.volumes
        tight = self._tightness * (log_det - 2 * log_sd.sum(1))
        surprise: FloatArray = 0.5 * np.einsum("sr,sr->s", rows, rows) - tight - points.bends
        return surprise

    def _system(self) -> tuple[FloatArray, FloatArray, float]:
        """Gauss and Newton's matrix and right-hand side at the present point, and minus the log posterior there."""
        size, d = len(self.laplace), self.dimension
        moves = Tuning.difference * np.eye(size)
        rows, log_sd = self.residuals(self.at(np.concatenate([np.zeros((1, size)), moves])))
        jacobian = (rows[1:] - rows[0]).T / Tuning.difference
        matrix, side = jacobian.T @ jacobian, -jacobian.T @ rows[0]
        log_det = 2 * np.linalg.slogdet(self.root)[1]
        surprise = 0.5 * rows[0] @ rows[0] - self._tightness * (log_det - 2 * log_sd[0].sum())
        gradient, curvature = self._correlation_terms()
        matrix[1 + d :, 1 + d :] += curvature
        side[1 + d :] += gradient
        return matrix, side, float(surprise)

    def _correlation_terms(self) -> tuple[FloatArray, FloatArray]:
        """Gradient and curvature of kap log|corr(S)| in svec E.

        log|corr| = tr E - sum_j log(u_j' exp(E) u_j), u_j the unit vector along row j of A.
        """
        d = self.dimension
        unit = self.root / np.sqrt(np.einsum("ij,ij->i", self.root, self.root))[:, None]
        basis = smat(np.eye(d * (d + 1) // 2))  # E of each coordinate
        moved = np.einsum("pab,jb->jap", basis, unit)
        along = np.einsum("jap,ja->jp", moved, unit)
        flat = moved.reshape(d * d, -1)
        return self._tightness * (svec(np.eye(d)) - along.sum(0)), self._tightness * (flat.T @ flat - along.T @ along)

    def solve(self, steps: int) -> None:
        """Move to the mode by Levenberg and Marquardt's steps; `laplace` is then the covariance of theta there."""
        damping = 1e-3
        matrix, side, surprise = self._system()
        for _ in range(steps):
            damped = matrix + damping * np.diag(np.diag(matrix)) + 1e-6 * np.eye(len(matrix))
            step = np.asarray(np.linalg.solve(damped, side), dtype=np.float64)
            length = float(np.abs(step).max())
            before = self.count, self.mean, self.root
            points = self.at((step / max(length, 1.0))[None])
            self.count, self.mean, self.root = float(points.counts[0]), points.means[0], points.roots[0]
            moved = self._system()
            if moved[2] < surprise + 1e-9:
                done = surprise - moved[2] < 1e-4 and length < 1e-2
                matrix, side, surprise = moved
                damping = max(damping / 5, 1e-6)
                if done:
                    break
            else:
                self.count, self.mean, self.root = before
                damping *= 8
                if damping > 1e6:
                    break
        inverse = np.linalg.inv(matrix + Tuning.least_precision * np.eye(len(matrix)))
        self.laplace = (inverse + inverse.T) / 2

    def expected_kl(self) -> float:
        """The expected KL divergence of the mode to second order."""
        d = self.dimension
        return float(
            0.5 * np.trace(self.laplace[1 : 1 + d, 1 : 1 + d]) + 0.25 * np.trace(self.laplace[1 + d :, 1 + d :])
        )

    def chance(self) -> FloatArray:
        """What damping leaves to chance, see `residual`; rounds count by precision, and their errors are alike."""
        precision = np.array([score.deviation**-2 for score in self.scores])
        each = np.sqrt([residual(score.one) for score in self.scores])
        left: FloatArray = (precision @ each / precision.sum()) ** 2
        return left

    def covariance(self) -> FloatArray:
        """The covariance of theta for the class's own moments: noise, and what the damping leaves to chance."""
        d, covariance = self.dimension, self.laplace.copy()
        mean, off, trace = self.chance() / max(self.count, 1.0)
        along = svec(np.eye(d)) / np.sqrt(d)
        covariance[1 : 1 + d, 1 : 1 + d] += mean * np.eye(d)
        covariance[1 + d :, 1 + d :] += off * np.eye(len(along)) + (trace - off) * np.outer(along, along)
        return covariance

    def draw(self, rng: PublicRng, size: int) -> Draws:
        """Weighted draws from the posterior."""
        weights, theta = draw(lambda theta: self._surprise(self.at(theta)), self.laplace, rng, size)
        return Draws(weights, *self.at(theta)[:3])

    def whitening(self, rng: PublicRng, rough: bool) -> tuple[FloatArray, FloatArray]:
        """Centre and scale matrix through which the next round looks.

        Rough: the spread of the Laplace approximation. Else the harmonic mean of the covariance, which keeps narrow
        directions narrow, and what is not known of the mean.
        """
        d = self.dimension
        if rough:
            factor = np.linalg.cholesky(self.laplace + 1e-12 * np.eye(len(self.laplace)))
            theta = rng.standard_normal((200, len(self.laplace))) @ factor.T
            values, vectors = np.linalg.eigh(smat(theta[:, 1 + d :]))
            growth = np.einsum("sij,sj,skj->ik", vectors, np.exp(np.clip(values, -3, 3)), vectors) / len(theta)
            moves = np.clip(theta[:, 1 : 1 + d], -10, 10)
            return self.mean.copy(), self.root @ (growth + moves.T @ moves / len(theta)) @ self.root.T
        draws = self.draw(rng, 200)
        centre = draws.weights @ draws.means
        inverse = np.linalg.inv(draws.roots)
        harmonic = np.linalg.inv(np.einsum("s,ska,skb->ab", draws.weights, inverse, inverse, optimize=True))
        away = draws.means - centre
        return centre, harmonic + (draws.weights[:, None] * away).T @ away

    @property
    def certain(self) -> bool:
        """Whether the mode is all that need be known."""
        return self.expected_kl() < Tuning.certain

    def believed(self, roots: FloatArray) -> FloatArray:
        """Roots of covariances that are nowhere much narrower than the mode.

        Narrower ones are the prior's tail rather than something seen, and few of them would rule E[S^-1].
        """
        return floor_roots(self.root, roots)

    def action(self, draws: Draws) -> Action:
        """The two Gaussians Q that are KL-nearest to the class P under the posterior, which was drawn from.

        argmin E KL(Q || P):  cov = E[S^-1]^-1,  mean = cov E[S^-1 m];   count = exp E log n
        argmin E KL(P || Q):  mean = E m,  cov = E S + Cov m, the `wide` one
        Both by setting the derivatives of the expected divergence to zero.
        """
        if self.certain:
            d = self.dimension
            spread = self.root @ self.laplace[1 : 1 + d, 1 : 1 + d] @ self.root.T
            return Action(self.count, self.mean, self.cov, self.expected_kl(), self.mean, self.cov + spread)
        weights, counts, means, roots = draws._replace(roots=self.believed(draws.roots))
        mean, cov, precision = nearest_gaussian(weights, means, roots)
        off = mean - means
        each = np.einsum("sab,ab->s", precision, cov) + np.einsum("sa,sab,sb->s", off, precision, off)
        each += 2 * np.linalg.slogdet(roots)[1] - self.dimension - np.linalg.slogdet(cov)[1]
        middle = weights @ means
        wide = np.einsum("s,sab,scb->ac", weights, roots, roots, optimize=True)
        wide += (weights[:, None] * (means - middle)).T @ (means - middle)
        count = float(np.exp(weights @ np.log(counts)))
        return Action(count, mean, cov, float(0.5 * weights @ each), middle, wide)


def _bends(values: FloatArray) -> FloatArray:
    """log prod_{i<j} sinh(x) / x, x = (e_i - e_j) / 2: the Jacobian of the exponential of a symmetric matrix.

    Up to the factor |S|^((d+1)/2), which the prior of correlations takes in.
    """
    i, j = np.triu_indices(values.shape[1], 1)
    x = np.abs(values[:, i] - values[:, j]) / 2
    log_sinh = x + np.log1p(-np.exp(-2 * np.maximum(x, 1e-3))) - np.log(2 * np.maximum(x, 1e-3))
    bends: FloatArray = np.where(x > 1e-3, log_sinh, 0.0).sum(1)
    return bends
