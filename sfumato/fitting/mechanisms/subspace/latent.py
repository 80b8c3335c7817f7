"""Each class along a few whitened directions: its centre and its covariance."""

import math
from typing import NamedTuple

import numpy as np

from sfumato.fitting.mechanisms.subspace.classes import Counts, shrunk_covariances
from sfumato.fitting.mechanisms.subspace.clipping_radius import measure_spread
from sfumato.fitting.mechanisms.subspace.gaussians import MOVE, SPIKE, noise_of_a_mean
from sfumato.fitting.mechanisms.subspace.plan import SubspacePlan
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import CentredProjection
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import ClippedSums, Scatter
from sfumato.trusted.statistics import scatter as scatters


class Tuning(TuningConstants, group="subspace.latent"):
    """See `sfumato.fitting.tuning`."""

    farthest = 4.0  # roots of the number of directions


class Latent(NamedTuple):
    """Centres and covariances of the classes in whitened coordinates, and what noise left in the centres."""

    centres: FloatArray
    covariances: FloatArray
    deviations: FloatArray


def measure_latent(
    curator: CuratorLike,
    plan: SubspacePlan,
    counts: Counts,
    view: CentredProjection,
    kinds: IntArray,
    mus: tuple[float, float, float],
) -> Latent:
    """Along the directions of a view in which a record is about as long as the root of their number.

    Its distances are asked first: records that are farther are pulled back, and they say how much that takes away.
    """
    length = math.sqrt(view.width)
    spread = measure_spread(curator, view, plan.adjacency, counts.total, mus[0], Tuning.farthest * length)
    reach = spread.balance(noise_of_a_mean(plan, counts, view, mus[1]))
    sums = ClippedSums(view, reach.radius)
    first = curator.measure(sums, mus[1])
    scale = reach.radius / reach.move / counts.each
    noise = (scale * first.sigma / UNIT)[:, None]
    centres = scale[:, None] * sums.split(first.values).sums
    gains = posterior_centres(centres, noise, counts.weights, kinds)
    centres *= gains
    reach = spread.reach(length)
    scatter = Scatter(view, reach.radius, apart=True)
    answer = curator.measure(scatter, mus[2])
    square = reach.radius**2 / reach.square / counts.each
    noisy = square[:, None, None] * scatter.matrices(answer.values) - centres[:, :, None] * centres[:, None, :]
    covariances = shrunk_covariances(noisy, square * answer.sigma / scatters.UNIT / math.sqrt(2), counts.weights)
    return Latent(centres, covariances, np.sqrt(gains) * noise)


def posterior_centres(centres: FloatArray, noise: FloatArray, weights: FloatArray, kinds: IntArray) -> FloatArray:
    """How much of centres, which correct means that were known before, is more than noise; one share for each kind.

    Along directions that were chosen to part the means they are all that is known: these follow what noise has made of
    the means.
    """
    gains = np.ones(len(kinds))
    for kind in (SPIKE, MOVE):
        mine = kinds == kind
        seen = float((weights @ centres[:, mine] ** 2).sum())
        expected = float(weights @ noise[:, 0] ** 2) * int(mine.sum())
        gains[mine] = max(0.0, 1 - expected / max(seen, 1e-300))
    return gains


def in_all_directions(latent: Latent, own: int, rank: int) -> Latent:
    """The first `own` directions as measured; along the others every class is as all records are."""
    classes = len(latent.centres)
    centres, covariances = np.zeros((classes, rank)), np.tile(np.eye(rank), (classes, 1, 1))
    centres[:, :own], covariances[:, :own, :own] = latent.centres[:, :own], latent.covariances[:, :own, :own]
    return Latent(centres, covariances, latent.deviations[:, :own])
