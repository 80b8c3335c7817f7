"""A mixture of Gaussians on the scales of its columns, each component owned by a class.

Conditions leave it a mixture of Gaussians: a column that is fixed has no variance left, and a range is cut into slices.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from sfumato.errors import RequestError
from sfumato.fitting.models.logarithms import log_sum
from sfumato.trusted.arrays import FloatArray, IntArray

SLICES = 32  # of equal probability, into which a range is cut
_NO_VARIANCE = 1e-18  # on a scale from 0 to 1: the column is fixed
_SAME = 1e-6  # a place this near to the value of a fixed column is that value
_NO_WEIGHT = 1e-9
_NO_MASS = 1e-290  # of a range; 36 deviations off
_BISECTIONS = 60
_NARROW = 2.0  # slices whose density changes by less than about e to this are integrated by Gauss and Legendre's rule
_NODES, _SHARES = np.polynomial.legendre.leggauss(12)
_DEVIATIONS = np.linspace(-6, 6, 61)  # at which a normal law is looked at


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Weights, means (components x columns), covariances, and the class that owns each component."""

    owner: IntArray
    weights: FloatArray
    means: FloatArray
    covs: FloatArray

    def __post_init__(self) -> None:
        count, columns = self.means.shape
        if (
            self.owner.shape != (count,)
            or self.weights.shape != (count,)
            or self.covs.shape != (count, columns, columns)
        ):
            raise ValueError("every component needs an owner, a weight, a mean and a covariance")
        finite = all(np.isfinite(part).all() for part in (self.weights, self.means, self.covs))
        if not (finite and (self.weights >= 0).all() and math.isclose(self.weights.sum(), 1, rel_tol=1e-9)):
            raise ValueError("the weights must be a distribution, means and covariances finite")
        if (self.owner < 0).any() or np.abs(self.covs - self.covs.transpose(0, 2, 1)).max(initial=0.0) > 1e-9:
            raise ValueError("owners must be classes, and covariances symmetric")
        if np.linalg.eigvalsh(self.covs).min() < -1e-9:
            raise ValueError("a covariance must not be negative in any direction")

    @cached_property
    def roots(self) -> FloatArray:
        """Square roots of the covariances; a fixed column has none."""
        values, vectors = np.linalg.eigh(self.covs)
        roots: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return roots

    @property
    def sds(self) -> FloatArray:
        """The standard deviation of every column in every component."""
        deviations: FloatArray = np.sqrt(np.maximum(np.diagonal(self.covs, axis1=1, axis2=2), 0.0))
        return deviations

    def chosen(self, weights: FloatArray) -> "Gaussians":
        """The components with other weights, those without any left out."""
        kept = weights > _NO_WEIGHT * weights.max(initial=0.0)
        if not kept.any():
            raise RequestError("the released mixture gives this condition no probability; ask for a wider one")
        left = weights[kept] / weights[kept].sum()
        return Gaussians(self.owner[kept], left, self.means[kept], self.covs[kept])

    def log_joint(self, places: FloatArray, columns: IntArray) -> FloatArray:
        """log of weight times density of records (records x columns) in the named columns, for every component.

        A fixed column counts as certain where it has its value, and excludes all else.
        """
        joint = np.empty((len(places), len(self.weights)))
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        for k, (mean, cov) in enumerate(zip(self.means, self.covs, strict=True)):
            fixed = np.diag(cov)[columns] <= _NO_VARIANCE
            away = places - mean[columns]
            joint[:, k] = log_weights[k] + _log_normal(away[:, ~fixed], cov[np.ix_(columns[~fixed], columns[~fixed])])
            joint[(np.abs(away[:, fixed]) > _SAME).any(axis=1), k] = -np.inf
        return joint

    def given_points(self, column: int, points: FloatArray, widths: FloatArray) -> tuple["Gaussians", float]:
        """Given that a column has one of these values: exact; and the log probability of the condition.

        A value stands for a step of the scale that is `widths` wide.
        """
        sd, mean = self.sds[:, column], self.means[:, column]
        parts, logs = [], []
        for point, width in zip(points, widths, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                z = np.where(sd > 0, (point - mean) / sd, np.where(np.abs(point - mean) <= _SAME, 0.0, np.inf))
                height = np.where(sd > 0, width / (math.sqrt(2 * math.pi) * sd), 1.0)
                logs.append(np.log(self.weights) - 0.5 * z * z + np.log(height))
            parts.append(self._moved(column, np.full(len(mean), point), np.zeros(len(mean))))
        log_weights = np.concatenate(logs)
        top = log_weights.max()
        if not np.isfinite(top):
            raise RequestError("the released mixture gives this condition no probability; ask for a wider one")
        weights = np.exp(log_weights - top)
        owner = np.tile(self.owner, len(points))
        means, covs = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        kept = weights > 0
        total = float(weights[kept].sum())
        mixture = Gaussians(owner[kept], weights[kept] / total, means[kept], covs[kept])
        return mixture, float(top) + math.log(total)

    def _moved(self, column: int, point: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Means and covariances when a column gets another mean and variance and the others follow by regression."""
        own = self.covs[:, column, column]
        slope = self.covs[:, :, column] / np.maximum(own, 1e-300)[:, None]
        slope[own <= _NO_VARIANCE] = 0.0
        slope[:, column] = 1.0
        means = self.means + slope * (point - self.means[:, column])[:, None]
        covs = self.covs + slope[:, :, None] * slope[:, None, :] * (variance - own)[:, None, None]
        covs[:, column, column] = variance  # to the last digit
        return means, covs

    def mass(self, column: int, low: float, high: float) -> FloatArray:
        """The probability of a range of a column in every component."""
        return _between(self.means[:, column], self.sds[:, column], low, high)

    def given_range(self, column: int, low: float, high: float, slices: int = SLICES) -> "Gaussians":
        """Given that a column lies in a range, as slices of equal probability.

        Each slice has the mean and variance of the normal law inside it and the other columns follow by regression, so
        the mixture has the exact mean and covariance of the condition.
        """
        mean, sd = self.means[:, column], self.sds[:, column]
        weights = self.weights * self.mass(column, low, high)
        kept = np.flatnonzero(weights > _NO_WEIGHT * weights.max(initial=0.0))
        if weights.max(initial=0.0) <= _NO_MASS:
            raise RequestError("the released mixture gives this condition no probability; ask for a wider one")
        few = Gaussians(self.owner[kept], weights[kept] / weights[kept].sum(), self.means[kept], self.covs[kept])
        slices = 1 if (sd[kept] <= math.sqrt(_NO_VARIANCE)).all() else slices
        parts = [few._moved(column, *part) for part in _slices(mean[kept], sd[kept], low, high, slices)]
        means, covs = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        return Gaussians(np.tile(few.owner, slices), np.tile(few.weights, slices) / slices, means, covs)

    def sample(self, rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Places of records (records x columns) and the class of each, in random order."""
        ends = np.cumsum(self.weights) / self.weights.sum()
        spread = (np.arange(rows) + rng.random(rows)) / max(rows, 1)  # one in each of `rows` equal parts
        component = np.searchsorted(ends, spread, side="right").clip(max=len(ends) - 1)
        normal = rng.standard_normal((rows, self.means.shape[1]))
        bounds = np.searchsorted(component, np.arange(len(ends) + 1))
        places = np.empty_like(normal)
        for k in np.flatnonzero(np.diff(bounds)):
            at = slice(bounds[k], bounds[k + 1])
            places[at] = self.means[k] + normal[at] @ self.roots[k].T
        order = rng.permutation(rows)
        return places[order], self.owner[component[order]]

    def cdf(self, column: int, places: FloatArray) -> FloatArray:
        """The probability that a column lies at or below each place."""
        mean, sd = self.means[:, column], self.sds[:, column]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (places[:, None] - mean) / sd
        z = np.where(sd > 0, z, np.where(places[:, None] >= mean - 1e-12, np.inf, -np.inf))
        share: FloatArray = ndtr(z) @ self.weights
        return share

    def quantile(self, column: int, shares: FloatArray) -> FloatArray:
        """The place below which each share of the records lies, within [0, 1]."""
        low, high = np.zeros(len(shares)), np.ones(len(shares))
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            below = self.cdf(column, middle) < shares
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of all components together."""
        mean = self.weights @ self.means
        away = self.means - mean
        cov = np.einsum("k,kab->ab", self.weights, self.covs) + (self.weights[:, None] * away).T @ away
        return mean, cov

    def conditionals(
        self, places: FloatArray, columns: IntArray, column: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What a column is given others (records x columns): shares and means (records x components), and deviations.

        By regression in every component.
        """
        share = np.exp(_normalised(self.log_joint(places, columns), self.weights))
        means, sds = np.empty_like(share), np.empty(len(self.weights))
        for k, (mean, cov) in enumerate(zip(self.means, self.covs, strict=True)):
            slope = np.linalg.pinv(cov[np.ix_(columns, columns)], rcond=1e-12, hermitian=True) @ cov[columns, column]
            means[:, k] = mean[column] + (places - mean[columns]) @ slope
            sds[k] = math.sqrt(max(cov[column, column] - slope @ cov[columns, column], 0.0))
        return share, means, sds

    def class_probabilities(self, places: FloatArray, columns: IntArray, classes: int) -> FloatArray:
        """The probability of every class given the named columns of each record."""
        share = np.exp(_normalised(self.log_joint(places, columns), self.weights))
        probabilities: FloatArray = share @ (self.owner[:, None] == np.arange(classes))
        return probabilities

    def by_class(self, classes: int) -> FloatArray:
        """The weight of every class."""
        return np.bincount(self.owner, weights=self.weights, minlength=classes).astype(np.float64)

    def kl(self, other: "Gaussians", rng: np.random.Generator, draws: int = 100_000) -> float:
        """KL(this || other) in nats, of a record and its class together.

        Exact where both have one component for each class, else the mean over draws.
        """
        classes = int(max(self.owner.max(), other.owner.max())) + 1
        if all(np.array_equal(np.sort(one.owner), np.arange(classes)) for one in (self, other)):
            mine, theirs = (np.argsort(one.owner) for one in (self, other))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.log(self.weights[mine]) - np.log(other.weights[theirs])
            each = [
                gaussian_kl(self.means[i], self.covs[i], other.means[j], other.covs[j])
                for i, j in zip(mine, theirs, strict=True)
            ]
            there = self.weights[mine] > 0
            return float((self.weights[mine] * (ratio + each))[there].sum())
        places, label = self.sample(draws, rng)
        return float((self.log_density(places, label) - other.log_density(places, label)).mean())

    def log_density(self, places: FloatArray, label: IntArray) -> FloatArray:
        """The log density of records together with their classes."""
        joint = self.log_joint(places, np.arange(places.shape[1]))
        return log_sum(np.where(self.owner == label[:, None], joint, -np.inf))


def gaussian_kl(mean: FloatArray, cov: FloatArray, other_mean: FloatArray, other_cov: FloatArray) -> float:
    """KL(N(mean, cov) || N(other_mean, other_cov)).

    A column that both fix at the same value adds nothing; one that they do not share makes it infinite.
    """
    fixed, also_fixed = (np.diag(one) <= _NO_VARIANCE for one in (cov, other_cov))
    if not np.array_equal(fixed, also_fixed) or (np.abs(mean - other_mean)[fixed] > _SAME).any():
        return math.inf
    left = np.ix_(~fixed, ~fixed)
    mean, cov, other_mean, other_cov = mean[~fixed], cov[left], other_mean[~fixed], other_cov[left]
    try:
        factor = np.linalg.cholesky(other_cov)
    except np.linalg.LinAlgError:  # the other one has no density
        return math.inf
    turned = np.linalg.solve(factor, np.linalg.solve(factor, cov).T)
    away = np.linalg.solve(factor, mean - other_mean)
    log_det = np.linalg.slogdet(turned)[1]
    return float(0.5 * (np.trace(turned) - len(mean) - log_det + away @ away))


def over_normal(value: Callable[[FloatArray], FloatArray], means: FloatArray, sds: FloatArray) -> FloatArray:
    """The mean of a function of normal variables, by the trapezoidal rule; smooth functions are almost exact."""
    heights = np.exp(-0.5 * _DEVIATIONS**2)
    total = np.zeros(np.broadcast_shapes(means.shape, sds.shape))
    for z, height in zip(_DEVIATIONS, heights / heights.sum(), strict=True):
        total += height * value(means + z * sds)
    return total


def _normalised(joint: FloatArray, weights: FloatArray) -> FloatArray:
    """Log shares of the components; a record that the mixture excludes tells nothing."""
    total = log_sum(joint)
    known = np.where(np.isfinite(total)[:, None], joint, np.log(np.maximum(weights, 1e-300)))
    return known - log_sum(known)[:, None]


def _log_normal(away: FloatArray, cov: FloatArray) -> FloatArray:
    if not cov.size:
        return np.zeros(len(away))
    values, vectors = np.linalg.eigh(cov)
    values = np.maximum(values, _NO_VARIANCE)
    z = away @ (vectors / np.sqrt(values))
    density: FloatArray = -0.5 * (z * z).sum(axis=1) - 0.5 * np.log(2 * np.pi * values).sum()
    return density


def _between(mean: FloatArray, sd: FloatArray, low: float, high: float) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (low - mean) / sd, (high - mean) / sd
    # in the upper tail the difference of two numbers near 1 would be lost
    mass = np.where(a > 0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
    return np.where(sd > 0, np.maximum(mass, 0.0), (low <= mean) & (mean <= high))


def _slices(
    mean: FloatArray, sd: FloatArray, low: float, high: float, slices: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Mean and variance of the normal law inside each of the slices of a range that are equally likely."""
    safe = np.where(sd > 0, sd, 1.0)
    a, b = (low - mean) / safe, (high - mean) / safe
    flipped = a > 0  # work in the lower tail, where probabilities are exact
    a, b = np.where(flipped, -b, a), np.where(flipped, -a, b)
    shares = np.linspace(0, 1, slices + 1)[:, None]
    with np.errstate(divide="ignore"):
        ends = ndtri(ndtr(a) + shares * (ndtr(b) - ndtr(a)))
    ends = np.where(np.isfinite(ends), ends, np.where(shares < 0.5, a, b)).clip(a, b)
    found = []
    for left, right in itertools.pairwise(ends):
        middle, variance = _truncated(left, right)
        middle = np.where(flipped, -middle, middle)
        here = np.where(sd > 0, mean + sd * middle, mean.clip(low, high)).clip(low, high)
        found.append((here, np.where(sd > 0, sd * sd * variance, 0.0)))
    return found


def _truncated(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a standard normal variable between two ends, of which the left is below 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        middle, width = (left + right) / 2, right - left
        narrow = width * (1 + np.abs(middle)) < _NARROW
        log_mass = log_ndtr(right) + np.log1p(-np.exp(log_ndtr(left) - log_ndtr(right)))
        low, high = (
            np.where(np.isfinite(end), np.exp(-0.5 * end * end - log_mass), 0.0) / math.sqrt(2 * math.pi)
            for end in (left, right)
        )
        ends = np.where(np.isfinite(left), left, 0.0) * low - np.where(np.isfinite(right), right, 0.0) * high
        away, inside = _integrated(np.where(narrow, middle, 0.0), np.where(narrow, width, 0.0))
        mean = np.where(narrow, middle + away, low - high)
        variance = np.where(narrow, inside, 1 + ends - mean**2)
    return mean.clip(left, right), np.clip(variance, 0.0, 1.0)


def _integrated(middle: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean, from the middle, and variance inside narrow slices, where differences of the normal law would cancel."""
    away = 0.5 * width * _NODES[:, None]
    density = _SHARES[:, None] * np.exp(-away * (middle + 0.5 * away))
    density /= density.sum(axis=0)
    mean = (density * away).sum(axis=0)
    return mean, (density * (away - mean) ** 2).sum(axis=0)
