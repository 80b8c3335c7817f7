"""Where each class lies and how wide it is, from noisy waves.

Each class and column has a posterior of its own on a grid of (mean, log sd); the prior of log sd is normal, shared by
all of them and fitted to what was released.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import FourierFeatures
from sfumato.trusted.feature_maps.bounded_map import UNIT


class Tuning(TuningConstants, group="mixture.coarse"):
    """See `sfumato.fitting.tuning`."""

    widest = 0.25  # of a class, as a share of the range
    below = 1.0  # how far below the least scale a class may be, in log sd
    fewest = 2.0  # records that a class is taken to have
    steps_of_prior = 8
    narrowest_prior = 0.25
    longest = 1.15  # period of the first wave in units of the range: its ends are told apart
    first_periods = (longest, longest / 3)


@dataclass(frozen=True)
class Coarse:
    """Count, mean and log sd of every class and column with their uncertainty, in units of the ranges."""

    count: FloatArray
    count_sd: FloatArray
    mean: FloatArray
    mean_var: FloatArray
    log_sd: FloatArray
    log_sd_var: FloatArray


class CoarsePosterior:
    """The grids of all classes and columns."""

    def __init__(self, classes: int, columns: int, resolution: float) -> None:
        cells = int(min(max(256, 0.85 / resolution), 6000))
        scales = int(18 + 4 * max(0.0, np.log(1 / 300 / resolution)))
        self._mean = (np.arange(cells) + 0.5) / cells
        self._log_sd = np.linspace(np.log(resolution), np.log(Tuning.widest), scales)
        self._likelihood = np.zeros((classes, columns, cells, scales))
        self._precision, self._weighted = np.zeros(classes), np.zeros(classes)
        self.now = self._summary()

    def frequencies(self, first: bool) -> FloatArray:
        """The next frequencies of every class and column, in radians over the range (classes x columns x L).

        First two fixed ones; then one that shows the class as large as its place allows without ambiguity.
        """
        shape = self._likelihood.shape[:2]
        if first:
            return np.broadcast_to(2 * np.pi / np.array(Tuning.first_periods), (*shape, len(Tuning.first_periods)))
        sharp = np.minimum(np.exp(-self.now.log_sd), 1.2 / np.sqrt(np.maximum(self.now.mean_var, 1e-8)))
        return np.maximum(sharp, 2 * np.pi / Tuning.longest)[:, :, None]

    def add(self, waves: Sequence[FourierFeatures], values: Sequence[FloatArray], deviation: float) -> None:
        """Take in a round: the noisy sums of every class in units of a record's norm, each with noise `deviation`."""
        for k, (one, value) in enumerate(zip(waves, values, strict=True)):
            self._precision[k] += (one.count / UNIT / deviation) ** 2
            self._weighted[k] += value[0] * (one.count / UNIT) / deviation**2
        self.now = self._summary()
        for k, (one, value) in enumerate(zip(waves, values, strict=True)):
            radius = one.radius / UNIT
            pairs = value[1:].reshape(*one.frequencies.shape, 2) / radius
            for j, frequencies in enumerate(one.angular):
                for frequency, (real, imaginary) in zip(frequencies, pairs[j], strict=True):
                    self._add_wave(k, j, float(frequency), complex(real, imaginary), deviation / radius)
        self.now = self._summary()

    def _add_wave(self, k: int, j: int, frequency: float, value: complex, deviation: float) -> None:
        """The likelihood of one noisy sum of exp(i w x), E = n exp(i w m - w^2 s^2 / 2), sampling error included."""
        count = self.now.count[k]
        damped = np.exp(-0.5 * (frequency * np.exp(self._log_sd)) ** 2)
        variance = deviation**2 + 0.5 * count * (1 - damped**2)
        radial = variance + (damped * self.now.count_sd[k]) ** 2
        turned = value * np.exp(-1j * frequency * self._mean)
        along = turned.real[:, None] - count * damped
        across = turned.imag[:, None]
        self._likelihood[k, j] -= 0.5 * (along**2 / radial + across**2 / variance + np.log(radial * variance))

    def _summary(self) -> Coarse:
        precision = np.maximum(self._precision, 1e-12)
        like = np.exp(self._likelihood - self._likelihood.max(axis=(2, 3), keepdims=True))
        by_scale = like.sum(2)
        prior = self._shared_prior(by_scale)
        place, scale = like @ prior, by_scale * prior
        place /= place.sum(2, keepdims=True)
        scale /= scale.sum(2, keepdims=True)
        mean, log_sd = place @ self._mean, scale @ self._log_sd
        step = self._log_sd[1] - self._log_sd[0]
        beyond = scale[:, :, 0] * Tuning.below**2  # the least scale stands for all that are smaller
        return Coarse(
            np.maximum(self._weighted / precision, Tuning.fewest),
            1 / np.sqrt(precision),
            mean,
            np.maximum(place @ self._mean**2 - mean**2, 0) + 1 / len(self._mean) ** 2 / 12,
            log_sd,
            np.maximum(scale @ self._log_sd**2 - log_sd**2, 0) + step**2 / 12 + beyond,
        )

    def _shared_prior(self, by_scale: FloatArray) -> FloatArray:
        """A normal prior of log sd, fitted to all classes and columns by expectation and maximisation."""
        prior = np.ones(len(self._log_sd))
        for _ in range(Tuning.steps_of_prior):
            scale = by_scale * prior
            scale /= scale.sum(2, keepdims=True)
            mean = (scale * self._log_sd).mean((0, 1)).sum()
            variance = (scale * (self._log_sd - mean) ** 2).mean((0, 1)).sum()
            prior = np.exp(-0.5 * (self._log_sd - mean) ** 2 / max(variance, Tuning.narrowest_prior**2))
        return prior
