"""How far a released mixture is from the fitted one, exactly."""

from dataclasses import dataclass

import numpy as np

from sfumato_papers.liu.fitting import Mixture


@dataclass(frozen=True)
class Divergence:
    """KL(released || fitted) in nats, and what of it comes from which noise."""

    weights: float
    means: float
    covariances: float

    @property
    def total(self) -> float:
        """KL of the joint law of record and label (8)."""
        return self.weights + self.means + self.covariances


def divergence(released: Mixture, fitted: Mixture) -> Divergence:
    """The integral in (8): (29), with the Gaussian KL of the second line of (30) in full."""
    precisions = fitted.precisions
    moved = released.means - fitted.means
    by_mean = np.einsum("ki,kij,kj->k", moved, precisions, moved) / 2
    log_ratio = np.linalg.slogdet(released.covariances)[1] - np.linalg.slogdet(fitted.covariances)[1]
    trace = np.einsum("kij,kji->k", precisions, released.covariances)
    by_covariance = (trace - fitted.dimensions - log_ratio) / 2
    by_weight = np.log(released.weights / fitted.weights)
    return Divergence(*(float(released.weights @ part) for part in (by_weight, by_mean, by_covariance)))
