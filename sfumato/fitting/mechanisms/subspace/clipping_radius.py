"""How far records lie, to where they are pulled back, and what that leaves of moves and squares."""

from typing import NamedTuple

import numpy as np

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import CentredProjection
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import DistanceHistogram


class Tuning(TuningConstants, group="subspace.clipping_radius"):
    """See `sfumato.fitting.tuning`."""

    cells = (6, 96)  # at least and at most; deviations of noise that a cell of an even spread has
    above_noise = 3.0
    told_apart = 2.0  # deviations that the records beyond a distance must have to be believed
    one_sided = 0.7  # how much of what is pulled back, at most, goes to one side: skewed records pull their mean along


class Reach(NamedTuple):
    """A radius, and which share it leaves, on average, of a small move of the records and of their squared length.

    In many dimensions a move is nearly at a right angle to a record, so that pulling the record back from a distance r
    to R shrinks the move by R / r.
    """

    radius: float
    move: float
    square: float


class Spread(NamedTuple):
    """How many records lie at each distance; noisy counts, which may be negative."""

    distances: FloatArray
    counts: FloatArray

    @property
    def _weights(self) -> FloatArray:
        return self.counts / max(float(self.counts.sum()), 1.0)

    def reach(self, radius: float) -> Reach:
        """Of this radius."""
        weights, distances = self._weights, self.distances
        move = float(weights @ np.minimum(1.0, radius / distances)) if weights.any() else 1.0
        squares = float(weights @ distances**2)
        square = float(weights @ np.minimum(distances, radius) ** 2) / squares if squares > 0 else 1.0
        return Reach(radius, float(np.clip(move, 0.1, 1.0)), float(np.clip(square, 0.1, 1.0)))

    def holding(self, share: float) -> Reach:
        """Of the radius within which this share of the records lies."""
        below = np.maximum.accumulate(np.cumsum(self.counts))
        cell = min(int(np.searchsorted(below, share * below[-1])), len(below) - 1)
        return self.reach(self._ends[cell])

    def balance(self, noise: float) -> Reach:
        """Of the radius at which the noise of a mean and what pulling back takes off it are least together.

        noise   the length of the noise in a mean, for a radius of 1
        """
        candidates = [self.reach(end) for end in self._ends]
        taken = [float(self._weights @ np.maximum(self.distances - one.radius, 0.0)) for one in candidates]
        losses = [
            ((noise * one.radius) ** 2 + (Tuning.one_sided * max(away, 0.0)) ** 2) / one.move**2
            for one, away in zip(candidates, taken, strict=True)
        ]
        return candidates[int(np.argmin(losses))]

    @property
    def _ends(self) -> list[float]:
        """The upper ends of the cells."""
        half = self.distances[0]
        return [float(distance + half) for distance in self.distances]


def without_noisy_tail(counts: FloatArray, noise: float) -> FloatArray:
    """Noisy counts up to the last cell at which it, with all beyond it, stands above noise; none beyond.

    Counts that are left keep their sign, so that sums over them have no bias; many empty cells far out would look like
    a few far records.
    """
    beyond = np.cumsum(counts[::-1])[::-1]
    told = beyond > Tuning.told_apart * noise * np.sqrt(np.arange(len(counts), 0, -1))
    last = int(np.flatnonzero(told)[-1]) if told.any() else -1
    return np.where(np.arange(len(counts)) <= last, counts, 0.0)


def measure_spread(
    curator: CuratorLike, view: CentredProjection, adjacency: Adjacency, records: float, mu: float, farthest: float
) -> Spread:
    """As many cells are counted as stand above their noise if records were spread over them evenly."""
    noise = DistanceHistogram(view, (1.0,)).sensitivity(adjacency) / mu
    cells = int(np.clip(records / (Tuning.above_noise * noise), *Tuning.cells))
    ends = np.linspace(0, farthest, cells + 1)
    answer = curator.measure(DistanceHistogram(view, tuple(ends[1:-1].tolist())), mu)
    return Spread((ends[:-1] + ends[1:]) / 2, without_noisy_tail(answer.values.astype(np.float64), answer.sigma))
