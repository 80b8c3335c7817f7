"""How the distances of a component's records are spread: Gaussians of one centre and shape, and of several scales.

Bounded scores see the middle of a component. Whether its tails are those of a Gaussian is told by one cheap question,
how many records lie at each distance. Post-processing of the counts.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.special import chdtr, gammaincinv, softmax

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import Radii, Whitening


class Tuning(TuningConstants, group="mixture.scale_law"):
    """See `sfumato.fitting.tuning`."""

    inside = (0.25, 0.5, 0.75, 0.95)  # shares of a Gaussian component that the first edges hold
    doublings = 8  # of the last of them
    clear = 3.0  # noise deviations from which the outermost count is believed
    most = 3  # scales
    price = 6.0  # of a further scale, in units of the misfit


class ScaleLaw(NamedTuple):
    """Shares of the records, and the scale of each: the factor of the covariance."""

    shares: FloatArray
    scales: FloatArray

    @property
    def level(self) -> float:
        """The factor that the covariance of all of them has."""
        return float(self.shares @ self.scales)

    @property
    def is_gaussian(self) -> bool:
        """Whether the distances are those of the Gaussian that they were seen through."""
        return np.array_equal(self.scales, [1.0])


def radii_around(whitening: Whitening) -> Radii:
    """The distances that suit the dimension."""
    inside = 2 * gammaincinv(len(whitening.centre) / 2, Tuning.inside)
    beyond = inside[-1] * 2.0 ** np.arange(1, Tuning.doublings + 1)
    return Radii(whitening, tuple(float(edge) for edge in (*inside, *beyond)))


def fit_scales(one: Radii, counts: FloatArray, noise: float) -> ScaleLaw:
    """The fewest scales that explain noisy counts by distance; a single one of factor 1 unless they clearly say more.

    Outer counts that noise can explain are taken for nothing: a few records far away would rule the covariance.
    """
    gaussian = ScaleLaw(np.ones(1), np.ones(1))
    seen = np.flatnonzero(counts > Tuning.clear * noise)
    if not len(seen):
        return gaussian
    last, d = int(seen[-1]), len(one.whitening.centre)
    counts = np.where(np.arange(len(counts)) <= last, counts, 0.0)
    edges = np.array((0.0, *one.edges, np.inf))
    deviation = np.sqrt(noise**2 + np.maximum(counts, 1.0))
    expected = np.diff(chdtr(d, edges)) / deviation
    scaled = counts / deviation
    best = float(((scaled - expected * (expected @ scaled) / (expected @ expected)) ** 2).sum()), gaussian
    for number in range(1, min(Tuning.most, last + 1) + 1):
        law, misfit = _fitted(edges, counts, deviation, number, d)
        if misfit + 2 * Tuning.price * number < best[0]:
            best = misfit + 2 * Tuning.price * number, law
    return best[1]


def _fitted(
    edges: FloatArray, counts: FloatArray, deviation: FloatArray, number: int, d: int
) -> tuple[ScaleLaw, float]:
    """Least squares over the total, the shares and the scales, from scales that lie apart."""

    def law_of(theta: FloatArray) -> ScaleLaw:
        return ScaleLaw(softmax(np.append(theta[1:number], 0.0)), np.exp(theta[number:]))

    def off(theta: FloatArray) -> FloatArray:
        shares, scales = law_of(theta)
        expected = np.exp(theta[0]) * (shares @ np.diff(chdtr(d, edges / scales[:, None]), axis=1))
        residual: FloatArray = (counts - expected) / deviation
        return residual

    spread = np.log(np.geomspace(0.5, 4.0, number)) if number > 1 else np.zeros(1)
    start = np.concatenate([[np.log(max(float(counts.sum()), 2.0))], np.zeros(number - 1), spread])
    found = least_squares(off, start, bounds=(-15.0, 40.0), max_nfev=200)
    return law_of(found.x), 2 * float(found.cost)
