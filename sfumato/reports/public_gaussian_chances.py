"""The chance that independent columns led to what Gaussians show of them, from what was measured and its noise."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture
from sfumato.fitting.models.model import Model
from sfumato.fitting.models.subspace.model import SubspaceModel
from sfumato.reports.public_independence import tail_of_chi_squared
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import FourierFeatures
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import ClassSums, Scatter
from sfumato.trusted.statistics import scatter as scatters

_CAUTION = 1.2  # deviations of few draws are not known better, and their tails are heavier than normal
_MISFIT = 0.05  # deviations of a column by which a mean is off, and twice a correlation, where it is not Gaussian
_MISFIT_OF_SEARCH = 0.1  # of a correlation where components had to be found: they follow the shape of single columns


def gaussian_chances(model: Model, measured: Sequence[Measurement]) -> "MixtureChances | SubspaceChances":
    """The chances of a model that is made of Gaussians."""
    if isinstance(model, GaussianMixture):
        return MixtureChances(model, measured)
    assert isinstance(model, SubspaceModel)  # noqa: S101 - the only other kind
    return SubspaceChances(model, measured)


class MixtureChances:
    """Of a Gaussian mixture: classes by the waves that were asked of all alike, columns by draws from the posterior."""

    def __init__(self, model: GaussianMixture, measured: Sequence[Measurement]) -> None:
        self._model, self._draws = model, model.draws
        self._waves = [one for one in measured if _asks_all_alike(one)]

    def __call__(self, first: str, second: str) -> float:
        """See `sfumato.reports.public_dependence.Chances`."""
        model = self._model
        if model.target in (first, second):
            return self._of_class(model.columns.index(first if second == model.target else second))
        i, j = model.columns.index(first), model.columns.index(second)
        turned = np.arctanh(np.clip(self._correlations[:, i, j], -0.999999, 0.999999))
        records = max(float(self._draws.counts.sum(axis=1).mean()) - 3, 1.0)
        misfit = _MISFIT / 2 if model.target else _MISFIT_OF_SEARCH
        deviation = _CAUTION * math.sqrt(float(turned.var()) + 1 / records + misfit**2)
        return tail_of_chi_squared((float(turned.mean()) / deviation) ** 2, 1)

    @cached_property
    def _correlations(self) -> FloatArray:
        """Of all columns in every draw, all classes together."""
        weights = self._draws.counts / self._draws.counts.sum(axis=1, keepdims=True)
        middle = np.einsum("dk,dki->di", weights, self._draws.means)
        away = self._draws.means - middle[:, None]
        total = np.einsum("dk,dkij->dij", weights, self._draws.covs) + np.einsum("dk,dki,dkj->dij", weights, away, away)
        deviations = np.sqrt(np.maximum(np.einsum("dii->di", total), 1e-300))
        return np.asarray(total / (deviations[:, :, None] * deviations[:, None, :]))

    def _of_class(self, column: int) -> float:
        if self._waves:
            chances = [chance_of_waves(one, column) for one in self._waves]
            return min(1.0, len(chances) * min(chances))
        means, counts = self._draws.means[:, :, column], self._draws.counts.mean(axis=0)
        spread = self._draws.covs[:, :, column, column].mean(axis=0)
        return chance_of_means(means.mean(axis=0), means.var(axis=0) + spread * _doubt(counts))


def _asks_all_alike(measurement: Measurement) -> bool:
    """Whether it sums the same waves over the records of every class."""
    statistic = measurement.statistic
    if not isinstance(statistic, ClassSums) or statistic.parting.target is None or len(statistic.maps) < 2:
        return False
    first, *others = statistic.maps
    return isinstance(first, FourierFeatures) and all(
        isinstance(one, FourierFeatures)
        and one.weight == first.weight
        and np.array_equal(one.frequencies, first.frequencies)
        for one in others
    )


def chance_of_waves(measurement: Measurement, column: int) -> float:
    """The chance that classes which are alike in a column have sums of waves as far apart as these.

    Where they are, the sums of a class are those of all records times its share. For contrasts a of the classes with
    a'(noisy counts) = 0 the number a'(sums of a wave) has mean 0, noise, the noise of the counts times the mean of the
    wave, and the chance of which records are in a class: at most the wave's own length for each.
    """
    statistic = measurement.statistic
    assert isinstance(statistic, ClassSums)  # noqa: S101 - chosen by `_asks_all_alike`
    waves = statistic.maps[0]
    assert isinstance(waves, FourierFeatures)  # noqa: S101 - likewise
    length = 2 * waves.frequencies.shape[1]
    sums = np.array([part[0] for part in statistic.split(measurement.values)])
    noise, counts = measurement.sigma / UNIT, sums[:, 0] * UNIT / waves.count
    total = float(counts.sum())
    if total < 6 * noise * UNIT / waves.count * math.sqrt(len(counts)):
        return 1.0
    seen = sums[:, 1 + column * length : 1 + (column + 1) * length]
    means = seen.sum(axis=0) / sums[:, 0].sum()
    contrasts = np.linalg.svd(counts[None])[2][1:]
    spread, turned = np.linalg.eigh((contrasts * (counts / total).clip(0)) @ contrasts.T)
    numbers = turned.T @ contrasts @ seen
    noisy = noise**2 * (np.eye(length) + np.outer(means, means))
    by_chance = total * (waves.radius / UNIT) ** 2
    squares = [
        float(row @ np.linalg.solve(noisy + share * by_chance * np.eye(length), row))
        for row, share in zip(numbers, spread.clip(0), strict=True)
    ]
    return tail_of_chi_squared(sum(squares), numbers.size)


class SubspaceChances:
    """By the noisy second moments of all columns around their class means, and the noisy class means."""

    def __init__(self, model: SubspaceModel, measured: Sequence[Measurement]) -> None:
        self._model, self._measured = model, measured

    def __call__(self, first: str, second: str) -> float | None:
        """See `sfumato.reports.public_dependence.Chances`."""
        model = self._model
        if model.target in (first, second):
            return self._of_class(model.columns.index(first if second == model.target else second))
        if self._moment is None:
            return None
        (matrix, noise), i, j = self._moment, model.columns.index(first), model.columns.index(second)
        own = max(matrix[i, i], noise) * max(matrix[j, j], noise)
        by_chance = own * (1 / max(model.size, 1.0) + _MISFIT**2 / 4)
        return tail_of_chi_squared(matrix[i, j] ** 2 / (_CAUTION**2 * (noise**2 + by_chance)), 1)

    @cached_property
    def _moment(self) -> tuple[FloatArray, float] | None:
        """The mean of the noisy second moments of all columns together, and the deviation of its noise."""
        found = [
            (one.statistic.matrices(one.values)[0], one.sigma / scatters.UNIT / math.sqrt(2))
            for one in self._measured
            if isinstance(one.statistic, Scatter) and self._is_of_all(one.statistic)
        ]
        if not found:
            return None
        precision = sum(1 / noise**2 for _, noise in found)
        mean = sum(matrix / noise**2 for matrix, noise in found) / precision
        return np.asarray(mean), 1 / math.sqrt(precision)

    def _is_of_all(self, statistic: Scatter) -> bool:
        """Whether it sums the products of every two columns, as they are stored."""
        view, names = statistic.view, tuple(self._model.columns)
        return (
            not statistic.apart and view.directions is None and view.places.names == names and view.width == len(names)
        )

    def _of_class(self, column: int) -> float:
        model = self._model
        means = model.means[:, column] + model.centres @ model.basis[column]
        within = model.residual[column] + np.einsum("i,kij,j->k", model.basis[column], model.covs, model.basis[column])
        return chance_of_means(means, model.mean_sds[:, column] ** 2 + within * _doubt(model.counts))


def _doubt(counts: FloatArray) -> FloatArray:
    """What of a variance a mean of so many records is off by: by chance, and where the law is not Gaussian."""
    doubt: FloatArray = 1 / np.maximum(counts, 1.0) + _MISFIT**2
    return doubt


def chance_of_means(means: FloatArray, variances: FloatArray) -> float:
    """The chance that equal means look as far apart as these, each known up to its variance.

    Example
        >>> chance_of_means(np.array([0.0, 1.0]), np.array([0.01, 0.01])) < 1e-6
        True
    """
    if len(means) < 2:
        return 1.0
    precision = 1 / (_CAUTION**2 * np.maximum(variances, 1e-300))
    middle = float(precision @ means) / float(precision.sum())
    return tail_of_chi_squared(float(precision @ (means - middle) ** 2), len(means) - 1)
