"""What tells the classes of pictures apart: discriminant analysis of their edges, by noisy sums.

What edges are like in general is learnt from drawn records, which costs nothing; what the classes are like is measured.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.encoding import Batch
from sfumato.measurement import Door
from sfumato.mechanisms.subspace.classes import Counts, shrunk_means
from sfumato.mechanisms.subspace.latent import measured_latent
from sfumato.mechanisms.subspace.planning import EdgeShares, SubspacePlan
from sfumato.mechanisms.subspace.reach import Distance, measured_reach
from sfumato.mechanisms.subspace.spectrum import FloatArray, signed
from sfumato.models.picture_labeller import PictureLabeller
from sfumato.privacy.adjacency import Adjacency
from sfumato.statistics import Oriented, RowSums, Scatter, View
from sfumato.statistics import scatter as scatters
from sfumato.statistics.bounded import UNIT
from sfumato.statistics.places import PLACE_BITS

_DIRECTIONS = (20, 300)  # at least and at most
_TOLD_APART = 0.4  # noise of the second moment along all directions, as a share of a variance
_WITHIN, _FARTHEST = 0.4, 4.0  # the share of the records within the radius; in roots of the number of directions
_LEAST_VARIANCE = 1e-4  # of an edge's direction, as a share of the largest


class Whitened(NamedTuple):
    """Where edges start, directions (edges x p) along which they have about unit variance, and what undoes them."""

    start: FloatArray
    whitening: FloatArray
    basis: FloatArray


def whitened(edges: FloatArray, classes: NDArray[np.int32], directions: int) -> Whitened:
    """The leading directions of edges (edges x records) around the means of their classes."""
    start = edges.mean(axis=1)
    around = edges.copy()
    for one in np.unique(classes):
        around[:, classes == one] -= edges[:, classes == one].mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(around @ around.T / edges.shape[1])
    values, vectors = values[::-1][:directions], signed(vectors[:, ::-1][:, :directions])
    deviations = np.sqrt(np.maximum(values, max(_LEAST_VARIANCE * values[0], 1e-12)))
    return Whitened(start, vectors / deviations, vectors * deviations)


def measured_labeller(door: Door, plan: SubspacePlan, mu: EdgeShares, counts: Counts, drawn: Batch) -> PictureLabeller:
    """Class means and second moments of edges; then each class along the directions that part them."""
    oriented = Oriented(plan.places)
    edges, classes = oriented(drawn) * 2.0**-PLACE_BITS, drawn.codes[str(plan.parting.target)]
    white = whitened(edges, classes, _directions(plan, mu, counts))
    view = View.of(oriented, plan.parting, white.start, white.whitening.T)
    asked = Distance(_FARTHEST * math.sqrt(view.width), _WITHIN)
    reach = measured_reach(door, view, plan.adjacency, counts.total, mu.norms, asked)
    sums = RowSums(view, reach.radius)
    answer = door.measure(sums, mu.means)
    scale = reach.radius / reach.move / counts.each
    moves = scale[:, None] * sums.split(answer.values).sums
    means = shrunk_means(moves, scale * answer.sigma / UNIT, counts.weights).values

    view = View.of(oriented, plan.parting, white.start + means @ white.basis.T, white.whitening.T)
    reach = measured_reach(door, view, plan.adjacency, counts.total, mu.class_norms, asked)
    scatter = Scatter(view, reach.radius, apart=False)
    answer = door.measure(scatter, mu.scatter)
    square = reach.radius**2 / counts.total  # only the shape of this matrix matters, so the pull is not undone
    noise = square * answer.sigma / scatters.UNIT / math.sqrt(2)
    apart = parting_directions(means, counts.weights, square * scatter.matrices(answer.values)[0], noise)

    along = white.whitening @ apart
    view = View.of(oriented, plan.parting, view.exact_centres, along.T)
    latent = measured_latent(door, view, counts, mu.latent_means, mu.class_scatter)
    centres = (view.exact_centres - white.start) @ along + latent.centres
    return PictureLabeller(oriented.pictures, white.start, along, centres, latent.covariances)


def _directions(plan: SubspacePlan, mu: EdgeShares, counts: Counts) -> int:
    """As many as the second moment can be told in: its noise grows with their number to the power of 1.5."""
    widest = 1.0 if plan.adjacency == Adjacency.ADD_REMOVE else math.sqrt(2)  # see `Scatter`
    return int(np.clip((_TOLD_APART * counts.total * mu.scatter / widest) ** (2 / 3), *_DIRECTIONS))


def parting_directions(means: FloatArray, weights: FloatArray, within: FloatArray, noise: float) -> FloatArray:
    """The directions (p x at most K - 1) that part the means most, each with about unit variance within classes.

    The noisy second moment is pulled to the one of drawn records, the identity, by half of the edge of its noise.
    """
    values, vectors = np.linalg.eigh(within)
    edge = 2 * noise * math.sqrt(len(values))
    root = (vectors / np.sqrt(np.maximum(values, 0.0) + edge / 2 + 1e-6)) @ vectors.T
    away = np.sqrt(weights)[:, None] * (means - weights @ means)
    return signed(root @ np.linalg.svd(away @ root, full_matrices=False)[2][: len(means) - 1].T)
