"""Each class along a few whitened directions: its centre and its covariance."""

import math
from typing import NamedTuple

import numpy as np

from sfumato.measurement import Door
from sfumato.mechanisms.subspace.classes import Counts, shrunk_covariances
from sfumato.mechanisms.subspace.reach import Reach
from sfumato.mechanisms.subspace.spectrum import FloatArray
from sfumato.statistics import RowSums, Scatter, View
from sfumato.statistics import scatter as scatters
from sfumato.statistics.bounded import UNIT


class Latent(NamedTuple):
    """Centres and covariances of the classes in whitened coordinates, and the noise of the centres by class."""

    centres: FloatArray
    covariances: FloatArray
    noise: FloatArray


def measured_latent(door: Door, view: View, counts: Counts, sums_mu: float, scatter_mu: float) -> Latent:
    """Along the directions of a view in which a record is about as long as the root of their number."""
    reach = Reach.of_gaussian(view.width)
    sums, scatter = RowSums(view, reach.radius), Scatter(view, reach.radius, apart=True)
    first = door.measure(sums, sums_mu)
    scale = reach.radius / reach.move / counts.each
    centres = scale[:, None] * sums.split(first.values).sums
    answer = door.measure(scatter, scatter_mu)
    square = reach.radius**2 / reach.square / counts.each
    noisy = square[:, None, None] * scatter.matrices(answer.values) - centres[:, :, None] * centres[:, None, :]
    noise = square * answer.sigma / scatters.UNIT / math.sqrt(2)
    return Latent(centres, shrunk_covariances(noisy, noise, counts.weights), scale * first.sigma / UNIT)


def in_all_directions(latent: Latent, own: int, rank: int) -> Latent:
    """The first `own` directions as measured; along the others every class is as all records are."""
    classes = len(latent.centres)
    centres, covariances = np.zeros((classes, rank)), np.tile(np.eye(rank), (classes, 1, 1))
    centres[:, :own], covariances[:, :own, :own] = latent.centres[:, :own], latent.covariances[:, :own, :own]
    return Latent(centres, covariances, latent.noise)
