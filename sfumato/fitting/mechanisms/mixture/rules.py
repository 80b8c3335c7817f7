"""Public rules that say to which component a record belongs: the likeliest."""

from collections.abc import Sequence

import numpy as np

from sfumato.fitting.mechanisms.mixture.components import Component
from sfumato.fitting.models.gaussian_mixture.gaussians import Gaussians
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import Boxes, ByRule, Whitening


class Tuning(TuningConstants, group="mixture.rules"):
    """See `sfumato.fitting.tuning`."""

    least_sd = 2.0**-24


def rule_of_boxes(components: Sequence[Component], boxes: Boxes) -> ByRule:
    """By the components found in boxes, each with a shape between its own and that of all: boxes are coarse."""
    pooled = np.einsum("k,kab->ab", [one.weight for one in components], [one.cov for one in components])
    d, whitening = len(boxes.whitening.centre), boxes.whitening
    axes = whitening.exact_matrix[: boxes.axes]
    whitenings, offsets = [], []
    for weight, mean, cov in components:
        shape = (cov + pooled) / 2
        matrix = np.zeros((d, d))
        matrix[: boxes.axes] = np.linalg.solve(np.linalg.cholesky(shape), axes)
        whitenings.append(Whitening.of(matrix, whitening.exact_centre + np.linalg.pinv(axes) @ mean))
        offsets.append(_offset(weight, shape))
    return ByRule(tuple(whitenings), tuple(offsets))


def rule_of(gaussians: Gaussians) -> ByRule:
    """By a mixture with one Gaussian for each component."""
    whitenings, offsets = [], []
    for weight, mean, cov in zip(gaussians.weights, gaussians.means, gaussians.covs, strict=True):
        values, vectors = np.linalg.eigh(cov)
        root = np.sqrt(np.maximum(values, Tuning.least_sd**2))
        whitenings.append(Whitening.of((vectors / root) @ vectors.T, mean))
        offsets.append(_offset(float(weight), (vectors * root**2) @ vectors.T))
    return ByRule(tuple(whitenings), tuple(offsets))


def chosen_by(rule: ByRule, points: FloatArray) -> IntArray:
    """The component of points (points x columns, from 0 to 1) by a rule."""
    far = [
        (((points - one.exact_centre) @ one.exact_matrix.T) ** 2).sum(1) + offset
        for one, offset in zip(rule.whitenings, rule.offsets, strict=True)
    ]
    nearest: IntArray = np.argmin(far, axis=0)
    return nearest


def _offset(weight: float, cov: FloatArray) -> float:
    """-2 log(weight) + log|S|: with |z|^2, minus twice the log of weight times density."""
    return float(np.linalg.slogdet(cov)[1] - 2 * np.log(max(weight, 1e-12)))
