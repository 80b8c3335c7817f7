"""How likely releases are under the fit of a table and its noise, exactly."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import multigammaln

from sfumato.trusted.arrays import FloatArray
from sfumato_papers.liu.draws import Draws
from sfumato_papers.liu.fitting import Fitted
from sfumato_papers.liu.optimisation import NoisePlan


class Parts(NamedTuple):
    """A number for each release, by the part of the release that it comes from. The parts are independent."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @property
    def all(self) -> FloatArray:
        """That of the whole release."""
        return self.weights + self.means + self.covariances


def log_likelihood(releases: Draws, fitted: Fitted, plan: NoisePlan) -> Parts:
    """ln of the density of each release, minus infinity where it is impossible."""
    return Parts(
        weights_log_likelihood(releases, plan),
        means_log_likelihood(releases, fitted, plan),
        covariances_log_likelihood(releases, fitted, plan),
    )


def weights_log_likelihood(releases: Draws, plan: NoisePlan) -> FloatArray:
    """A finite list of outcomes has all the probability."""
    same = (releases.outcomes[:, None] == plan.outcomes).all(axis=2)
    found: FloatArray = np.where(same.any(axis=1), np.log(plan.probabilities)[same.argmax(axis=1)], -np.inf)
    return found


def means_log_likelihood(releases: Draws, fitted: Fitted, plan: NoisePlan) -> FloatArray:
    """Gaussian (5), one class after the other."""
    halves = np.linalg.cholesky(plan.mean_covariances)
    normal = np.linalg.solve(halves, np.moveaxis(releases.means - fitted.means, 0, 2))  # classes, dimensions, releases
    volumes = np.log(np.diagonal(halves, axis1=1, axis2=2)).sum()
    found: FloatArray = -(normal**2).sum(axis=(0, 1)) / 2 - volumes - fitted.means.size * math.log(2 * math.pi) / 2
    return found


def covariances_log_likelihood(releases: Draws, fitted: Fitted, plan: NoisePlan) -> FloatArray:
    """Wishart (6): with d + 1 degrees of freedom its density has no power of |W|, only  exp(-gamma tr W / 2).

    So on the matrices W without a negative eigenvalue it does not fall towards the edge, and beyond it is 0.
    """
    classes, d = fitted.means.shape
    added = releases.covariances - fitted.covariances
    possible = (np.linalg.eigvalsh(added)[:, :, 0] >= 0).all(axis=1)
    half = d * (d + 1) / 2
    volumes = (half * np.log(plan.gammas / 2)).sum() - classes * float(multigammaln((d + 1) / 2, d))
    density = volumes - (plan.gammas / 2 * np.trace(added, axis1=2, axis2=3)).sum(axis=1)
    found: FloatArray = np.where(possible, density, -np.inf)
    return found
