"""Approximate, adapt, anonymize: the framework, whose three parts can be exchanged one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sfumato.errors import DataError
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato_papers.clustmix.clustering import Clusters, assigned, distances
from sfumato_papers.clustmix.slicing import regions


class Mixtures(NamedTuple):
    """What is released of some clusters: their means with noise, and, for study, what the noise hides.

    A point for which no noise was found has NaN as its sigma, and is not released.
    """

    points: FloatArray
    means: FloatArray
    sizes: IntArray
    sigmas: FloatArray


class Approximate(Protocol):
    """Records of one class (records x features) into clusters of at least `smallest` records each."""

    def __call__(self, rng: np.random.Generator, X: FloatArray, clusters: int, smallest: int) -> Clusters:  # noqa: N803
        """The clusters."""


class Adapt(Protocol):
    """Centres of all classes, moved so that what is learnt from them is right about the records."""

    def __call__(
        self,
        rng: np.random.Generator,
        centres: FloatArray,
        labels: IntArray,
        X: FloatArray,  # noqa: N803 - X and y as in the paper
        y: IntArray,
    ) -> FloatArray:
        """The centres after the move; the same array where they stay."""


class Anonymize(Protocol):
    """Records and the cluster of each, as one noisy point for each cluster."""

    @property
    def guarantee(self) -> str:
        """What is claimed for such points."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What is known to be wrong with the claim."""

    def __call__(self, rng: np.random.Generator, X: FloatArray, member: IntArray, clusters: int) -> Mixtures:  # noqa: N803
        """The points."""


class Synthetic(NamedTuple):
    """Points with their labels, what lies below their noise, and what is claimed of them."""

    X: FloatArray
    y: IntArray
    means: FloatArray
    sizes: IntArray
    sigmas: FloatArray
    guarantee: str
    faults: tuple[str, ...]


@dataclass(frozen=True)
class ThreeA:
    """Algorithm 2 with any three parts, in each of the regions that `slices` cuts the records into.

    smallest   the fewest records of a cluster, l_min
    slices     at how many records the data is cut; 0 for no cut
    """

    approximate: Approximate
    adapt: Adapt
    anonymize: Anonymize
    smallest: int
    slices: int = 0

    def __call__(self, rng: np.random.Generator, X: FloatArray, y: IntArray, classes: int) -> Synthetic:  # noqa: N803
        """Points for records within [0, 1]. A region or class with fewer records than `smallest` has none."""
        if not np.issubdtype(y.dtype, np.integer) or (y < 0).any() or (y >= classes).any():
            raise DataError(f"labels must be whole numbers from 0 to {classes - 1}")
        found: list[tuple[int, Mixtures]] = []
        for region in regions(rng, X, self.slices):
            found += self._of_region(rng, X[region], y[region], classes)
        if not found:
            raise DataError(f"no class has {self.smallest} records, which a mixture needs; allow more noise")
        labels = np.concatenate([np.full(len(mixtures.sizes), label) for label, mixtures in found])
        points, means, sizes, sigmas = (np.concatenate(parts) for parts in zip(*(m for _, m in found), strict=True))
        kept = ~np.isnan(sigmas)
        arrays = (points[kept], labels[kept], means[kept], sizes[kept], sigmas[kept])
        return Synthetic(*arrays, self.anonymize.guarantee, self.anonymize.faults)

    def _of_region(
        self,
        rng: np.random.Generator,
        X: FloatArray,  # noqa: N803
        y: IntArray,
        classes: int,
    ) -> Iterator[tuple[int, Mixtures]]:
        """Lines 3 to 21: clusters by class, all centres adapted together, and a mixture of each cluster."""
        counts = {label: int((y == label).sum()) // self.smallest for label in range(classes)}
        clusters = {
            label: self.approximate(rng, X[y == label], count, self.smallest)
            for label, count in counts.items()
            if count
        }
        if not clusters:
            return
        centres = np.concatenate([found.centres for found in clusters.values()])
        labels = np.repeat(list(clusters), [len(found.centres) for found in clusters.values()])
        adapted = self.adapt(rng, centres, labels, X, y)
        for label, found in clusters.items():
            records, member = X[y == label], found.member
            if adapted is not centres:  # line 14
                member = assigned(-distances(records, adapted[labels == label]), self.smallest)
            yield label, self.anonymize(rng, records, member, len(found.centres))
