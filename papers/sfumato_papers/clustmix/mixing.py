"""Cluster mixing: the mean of each cluster, with noise by (8)."""

from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato_papers.clustmix.faults import KNOWN_FAULTS, OTHER_FACTOR
from sfumato_papers.clustmix.framework import Mixtures
from sfumato_papers.clustmix.noise import Factor, noise


@dataclass(frozen=True)
class ClusterMixing:
    """Lines 15 to 18, for records within [0, 1]; "1/T" of line 18 is read as 1/l, the size of the cluster.

    The noise goes by that size, so that it tells an exact count, and by the reading of the factor in (8).
    """

    epsilon: float
    delta: float
    classes: int
    factor: Factor = "printed"

    @property
    def guarantee(self) -> str:
        """See `Anonymize`."""
        return (
            f"guarantee: as claimed by the paper, ({self.epsilon:g}, {self.delta:g})-differential privacy for one "
            f"replaced record{self._reading}. The claim does not hold: for study only."
        )

    @property
    def faults(self) -> tuple[str, ...]:
        """See `Anonymize`."""
        return KNOWN_FAULTS if self.factor == "printed" else (*KNOWN_FAULTS, OTHER_FACTOR)

    @property
    def _reading(self) -> str:
        return "" if self.factor == "printed" else f", with the factor of (8) read as {self.factor!r}"

    def __call__(self, rng: np.random.Generator, X: FloatArray, member: IntArray, clusters: int) -> Mixtures:  # noqa: N803
        """See `Anonymize`."""
        sizes = np.bincount(member, minlength=clusters)
        means = np.zeros((clusters, X.shape[1]))
        np.add.at(means, member, X)
        means /= sizes[:, None]
        claimed = (self.classes, X.shape[1], self.factor)
        found = [noise(self.epsilon, self.delta, int(size), *claimed) for size in sizes]
        sigmas = np.array([np.nan if sigma is None else sigma for sigma in found])
        return Mixtures(means + sigmas[:, None] * rng.standard_normal(means.shape), means, sizes, sigmas)
