"""What is known of the labeller's coefficients: a Gaussian prior and the gradients read so far. Post-processing."""

from dataclasses import dataclass, replace

import numpy as np

from sfumato.fitting.mechanisms.tables.mending import Mending
from sfumato.fitting.mechanisms.tables.sampling import asked_of
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Features, Softmax
from sfumato.trusted.feature_maps.features import COEFFICIENT_UNIT, PSI_UNIT, contrasts
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import Gradient
from sfumato.trusted.statistics.gradient import UNIT


class Tuning(TuningConstants, group="tables.belief"):
    """See `sfumato.fitting.tuning`."""

    ridge = 1e-3
    start_steps = 6
    start_smooth = 0.1
    smooth = 0.25  # how far probabilities are drawn to even ones in the curvature
    misread = 0.25  # relative error of the curvature, away from where it was taken
    reweighted = 4  # times that the readings are weighed by it
    most_coefficient = 1e3


@dataclass(frozen=True, eq=False)
class Reading:
    """One gradient as an equation:  g = H (truth - here) + noise."""

    curve: FloatArray
    gradient: FloatArray
    here: FloatArray
    sd: float


@dataclass(frozen=True, eq=False)
class Belief:
    """What is known of the coefficients, in contrast coordinates: a Gaussian prior and the gradients read so far.

    Every gradient is a linear equation with the curvature H of synthetic records, so the posterior is Gaussian, and its
    mean is where the next gradient is asked for. H is right only near the place of asking: an answer counts for less,
    the farther the truth turns out to be from there.
    """

    features: Features
    pool: Batch
    psi: FloatArray  # of the synthetic records, size x records
    size: float
    classes: int
    prior: FloatArray
    prior_sd: float
    readings: tuple[Reading, ...] = ()

    @classmethod
    def start(cls, features: Features, pool: Batch, told: FloatArray, size: float, prior_sd: float) -> "Belief":
        """Around the ridge regression on what the mixture tells of the classes of its own records."""
        parts = pool.parts(features.records_at_once, features.columns)
        psi = np.concatenate([features(part) for part in parts], axis=1) * PSI_UNIT
        return cls(features, pool, psi, size, told.shape[1], _ridge(psi, told.T).ravel(), prior_sd)

    @property
    def mean(self) -> FloatArray:
        """The mean of the posterior."""
        mean: FloatArray = self.prior
        for _ in range(Tuning.reweighted if self.readings else 0):
            precision = np.eye(len(mean)) / self.prior_sd**2
            pull = self.prior / self.prior_sd**2
            for reading in self.readings:
                misread: FloatArray = Tuning.misread * reading.curve @ (mean - reading.here)
                variance = reading.sd**2 + float(np.mean(misread**2))
                precision += reading.curve @ reading.curve / variance
                pull += reading.curve @ (reading.gradient + reading.curve @ reading.here) / variance
            mean = np.linalg.solve(precision, pull).astype(np.float64)
        return mean

    @property
    def model(self) -> Softmax:
        """The most likely model."""
        mean = self.mean.reshape(-1, self.classes - 1).clip(-Tuning.most_coefficient, Tuning.most_coefficient)
        by_class = mean @ contrasts(self.classes).T
        return Softmax(self.features, np.rint(by_class / COEFFICIENT_UNIT).astype(np.int32))

    @property
    def mending(self) -> Mending:
        """The most likely model, before any tree."""
        model = self.model
        return Mending(model, self.pool, model.probabilities(self.psi / PSI_UNIT).T, self.size)

    def after(self, answer: Measurement) -> "Belief":
        """The belief after one more gradient."""
        asked, share = asked_of(answer)
        if not isinstance(asked, Gradient):
            raise TypeError("a belief about the target learns from gradients only")
        here = asked.model.coefficients * COEFFICIENT_UNIT @ contrasts(self.classes)
        p = asked.model.probabilities(self.psi / PSI_UNIT)
        curve = _curvature(self.psi, p, asked.weights(self.psi, p) / UNIT, Tuning.smooth) * (
            share * self.size / self.psi.shape[1]
        )
        reading = Reading(curve, answer.values / UNIT, here.ravel(), answer.sigma / UNIT)
        return replace(self, readings=(*self.readings, reading))


def _curvature(psi: FloatArray, p: FloatArray, weight: FloatArray, smooth: float) -> FloatArray:
    """Sum over records of  w psi psi' (x) Q'(diag p - p p')Q, with p drawn a little to even probabilities."""
    classes, basis = len(p), contrasts(len(p))
    p = (1 - smooth) * p + smooth / classes
    mean, q = basis.T @ p, classes - 1
    curve = np.empty((len(psi), q, len(psi), q))
    for a in range(q):
        for b in range(a, q):
            spread = (basis[:, a] * basis[:, b]) @ p - mean[a] * mean[b]
            curve[:, a, :, b] = curve[:, b, :, a] = (psi * (weight * spread)) @ psi.T
    return curve.reshape(len(psi) * q, len(psi) * q)


def _ridge(psi: FloatArray, told: FloatArray) -> FloatArray:
    """Softmax regression of class probabilities (classes x records), by a few steps of Newton's method."""
    basis, rows = contrasts(len(told)), psi.shape[1]
    coefficients = np.zeros((len(psi), len(told) - 1))
    for _ in range(Tuning.start_steps):
        logits = basis @ coefficients.T @ psi
        e = np.exp(logits - logits.max(axis=0))
        p = e / e.sum(axis=0)
        curve = _curvature(psi, p, np.ones(rows), Tuning.start_smooth) + Tuning.ridge * rows * np.eye(coefficients.size)
        slope = psi @ ((told - p).T @ basis) - Tuning.ridge * rows * coefficients
        coefficients = coefficients + np.linalg.solve(curve, slope.ravel()).reshape(coefficients.shape)
    return coefficients
