"""A Gaussian for each class, measured step by step in any coordinates of the records."""

import math
from typing import NamedTuple

import numpy as np

from sfumato.fitting.mechanisms.subspace.classes import Counts, Means, shrunk_means
from sfumato.fitting.mechanisms.subspace.clipping_radius import measure_spread
from sfumato.fitting.mechanisms.subspace.plan import SubspacePlan
from sfumato.fitting.mechanisms.subspace.spectrum import discriminants, spikes
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import CentredProjection
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.coordinates import Coordinates
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import ClippedSums, Scatter
from sfumato.trusted.statistics import scatter as scatters


class Tuning(TuningConstants, group="subspace.gaussians"):
    """See `sfumato.fitting.tuning`."""

    within = 0.6  # the share of the records within the radius
    least_own = 4


SPIKE, PARTING, MOVE = 0, 1, 2


class SecondMoment(NamedTuple):
    """Of all records around their class means, and the deviation of its noise off the diagonal."""

    matrix: FloatArray
    noise: float


class Subspace(NamedTuple):
    """Directions that whiten (coordinates x r), what undoes it, and in how many of the first classes differ.

    kinds   of each direction: SPIKE, PARTING if it was chosen because class means lie apart along it, or MOVE
    """

    whitening: FloatArray
    basis: FloatArray
    own: int
    kinds: IntArray


class BoxSums(NamedTuple):
    """Noisy counts of the classes, if asked for, the sum of all ways from the middle of the box, and the noise."""

    counts: FloatArray
    ways: FloatArray
    sigma: float

    def middle(self, records: float) -> FloatArray:
        """The mean of so many records."""
        return np.clip(0.5 + self.ways / records, 0, 1)


def measure_box(
    curator: CuratorLike, plan: SubspacePlan, coordinates: Coordinates, mu: float, count_weight: float = 0.0
) -> BoxSums:
    """Of all records; the ball around the middle holds the whole box, so that none is pulled back."""
    radius = math.sqrt(coordinates.size) / 2
    statistic = ClippedSums(
        CentredProjection.of(coordinates, plan.parting, np.full(coordinates.size, 0.5)), radius, count_weight
    )
    answer = curator.measure(statistic, mu)
    counts, sums = statistic.split(answer.values)
    return BoxSums(counts, radius * sums.sum(axis=0), answer.sigma / UNIT)


def _farthest(view: CentredProjection) -> float:
    """No record is farther from the middle of the box than half its diagonal."""
    return 1.2 * math.sqrt(view.width) / 2


def noise_of_a_mean(plan: SubspacePlan, counts: Counts, view: CentredProjection, mu: float) -> float:
    """The length of the noise in the mean of a class, for a radius of 1."""
    sigma = ClippedSums(view, 1.0).sensitivity(plan.adjacency) / UNIT / mu
    return math.sqrt(view.width) * sigma / float(np.median(counts.each))


def measure_means(
    curator: CuratorLike,
    plan: SubspacePlan,
    counts: Counts,
    around: tuple[Coordinates, FloatArray],
    mus: tuple[float, float],
) -> Means:
    """Of each class, from the way of its records from a middle: their distances are asked, then the sums."""
    coordinates, middle = around
    view = CentredProjection.of(coordinates, plan.parting, middle)
    spread = measure_spread(curator, view, plan.adjacency, counts.total, mus[0], _farthest(view))
    reach = spread.balance(noise_of_a_mean(plan, counts, view, mus[1]))
    statistic = ClippedSums(view, reach.radius)
    measurement = curator.measure(statistic, mus[1])
    scale = reach.radius / reach.move / counts.each
    moves = scale[:, None] * statistic.split(measurement.values).sums
    means = shrunk_means(moves, scale * measurement.sigma / UNIT, counts.weights)
    return Means(np.clip(middle + means.values, 0, 1), means.deviations)


def measure_moment(
    curator: CuratorLike,
    plan: SubspacePlan,
    counts: Counts,
    around: tuple[Coordinates, FloatArray],
    mus: tuple[float, ...],
) -> SecondMoment:
    """Around the means of the classes: distances, then the second moment, as often as there is something to spend."""
    view = CentredProjection.of(around[0], plan.parting, around[1])
    spread = measure_spread(curator, view, plan.adjacency, counts.total, mus[0], _farthest(view))
    reach = spread.holding(Tuning.within)
    statistic = Scatter(view, reach.radius, apart=False)
    answers = [curator.measure(statistic, mu) for mu in mus[1:]]
    weights = np.array([answer.mu**2 for answer in answers])
    weights /= weights.sum()
    matrix = sum(weight * statistic.matrices(answer.values)[0] for weight, answer in zip(weights, answers, strict=True))
    sigma = math.sqrt(sum((weight * answer.sigma) ** 2 for weight, answer in zip(weights, answers, strict=True)))
    scale = reach.radius**2 / reach.square / counts.total
    return SecondMoment(scale * matrix, scale * sigma / scatters.UNIT / math.sqrt(2))


def distinguishable_directions(counts: Counts, mu: float, noise: float) -> float:
    """In how many directions the covariance of a class has no more noise than this, as a share of a variance.

    It grows with their number to the power of 1.5.
    """
    each = math.sqrt(2) / mu / float(np.median(counts.each))
    return float((noise / each) ** (2 / 3))


def subspace_of(moment: SecondMoment, counts: Counts, means: FloatArray, told: float) -> Subspace:
    """Spikes, and the directions that part the classes.

    The first `told` of them are those in which classes differ of their own: so many spikes as are left beside the
    others, which are among them.
    """
    found = spikes(moment.matrix, moment.noise)
    added = discriminants(means, counts.weights, found.directions)
    variances = np.maximum(np.einsum("ij,ij->j", added, moment.matrix @ added), 2 * moment.noise)
    first = int(np.clip(told - added.shape[1], min(Tuning.least_own, len(found.variances)), len(found.variances)))
    directions = np.hstack((found.directions[:, :first], added, found.directions[:, first:]))
    spread = np.sqrt(np.concatenate((found.variances[:first], variances, found.variances[first:])))
    place, own = np.arange(len(spread)), first + added.shape[1]
    kinds = np.where((place >= first) & (place < own), PARTING, SPIKE)
    return Subspace(np.ascontiguousarray(directions / spread), np.ascontiguousarray(directions * spread), own, kinds)


def own_view(coordinates: Coordinates, plan: SubspacePlan, means: FloatArray, subspace: Subspace) -> CentredProjection:
    """Records from their class means, along the directions in which classes differ of their own; along one at least."""
    directions = subspace.whitening[:, : subspace.own].T if subspace.own else np.zeros((1, coordinates.size))
    return CentredProjection.of(coordinates, plan.parting, means, directions)


def own_kinds(subspace: Subspace) -> IntArray:
    """The kinds of the directions of that view."""
    return subspace.kinds[: subspace.own] if subspace.own else np.array([PARTING])
