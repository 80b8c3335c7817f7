"""Each class along a few whitened directions: its centre and its covariance."""

import math
from typing import NamedTuple

import numpy as np

from sfumato.measurement import Door
from sfumato.mechanisms.subspace.classes import Counts, shrunk_covariances
from sfumato.mechanisms.subspace.gaussians import noise_of_a_mean
from sfumato.mechanisms.subspace.planning import SubspacePlan
from sfumato.mechanisms.subspace.reach import measured_spread
from sfumato.mechanisms.subspace.spectrum import FloatArray
from sfumato.statistics import RowSums, Scatter, View
from sfumato.statistics import scatter as scatters
from sfumato.statistics.bounded import UNIT

_FARTHEST = 4.0  # roots of the number of directions


class Latent(NamedTuple):
    """Centres and covariances of the classes in whitened coordinates, and what noise left in the centres."""

    centres: FloatArray
    covariances: FloatArray
    deviations: FloatArray


def measured_latent(
    door: Door, plan: SubspacePlan, counts: Counts, view: View, known: FloatArray, mus: tuple[float, float, float]
) -> Latent:
    """Along the directions of a view in which a record is about as long as the root of their number.

    Its distances are asked first: records that are farther are pulled back, and they say how much that takes away. A
    centre is how far the mean of a class lies from what it was `known` to be with these deviations (classes x width);
    it is believed as far as its own noise lets it.
    """
    length = math.sqrt(view.width)
    spread = measured_spread(door, view, plan.adjacency, counts.total, mus[0], _FARTHEST * length)
    reach = spread.balanced(noise_of_a_mean(plan, counts, view, mus[1]))
    sums = RowSums(view, reach.radius)
    first = door.measure(sums, mus[1])
    scale = reach.radius / reach.move / counts.each
    noise = (scale * first.sigma / UNIT)[:, None]
    gain = known**2 / np.maximum(known**2 + noise**2, 1e-300)
    centres = gain * scale[:, None] * sums.split(first.values).sums
    reach = spread.reach(length)
    scatter = Scatter(view, reach.radius, apart=True)
    answer = door.measure(scatter, mus[2])
    square = reach.radius**2 / reach.square / counts.each
    noisy = square[:, None, None] * scatter.matrices(answer.values) - centres[:, :, None] * centres[:, None, :]
    covariances = shrunk_covariances(noisy, square * answer.sigma / scatters.UNIT / math.sqrt(2), counts.weights)
    return Latent(centres, covariances, np.sqrt(gain) * noise)


def in_all_directions(latent: Latent, own: int, rank: int) -> Latent:
    """The first `own` directions as measured; along the others every class is as all records are."""
    classes = len(latent.centres)
    centres, covariances = np.zeros((classes, rank)), np.tile(np.eye(rank), (classes, 1, 1))
    centres[:, :own], covariances[:, :own, :own] = latent.centres[:, :own], latent.covariances[:, :own, :own]
    return Latent(centres, covariances, latent.deviations[:, :own])
