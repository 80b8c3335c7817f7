"""Pictures aligned: the same questions again, of pictures as they are without their slant and size."""

import math

import numpy as np
from scipy.linalg import block_diag

from sfumato.fitting.mechanisms.subspace.classes import Counts
from sfumato.fitting.mechanisms.subspace.gaussians import (
    MOVE,
    SecondMoment,
    Subspace,
    distinguishable_directions,
    measure_box,
    measure_means,
    measure_moment,
    noise_of_a_mean,
    own_kinds,
    own_view,
    subspace_of,
)
from sfumato.fitting.mechanisms.subspace.latent import in_all_directions, measure_latent
from sfumato.fitting.mechanisms.subspace.plan import AlignedShares, SubspacePlan
from sfumato.fitting.mechanisms.subspace.spectrum import estimate_residual, fix_signs
from sfumato.fitting.models.subspace.alignment import AlignedImageModel
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import AlignedImages, CentredProjection
from sfumato.trusted.feature_maps.alignment import MOVES, ImageFrame, Moves
from sfumato.trusted.measurement import CuratorLike


class Tuning(TuningConstants, group="subspace.alignment"):
    """See `sfumato.fitting.tuning`."""

    most_noise = 0.045  # of a class mean along a direction, as a share of the radius: with more, pixels tell more
    told_apart = 1.0  # noise of a class covariance along its own directions: pictures are drawn well from noisy ones
    least_move = 1e-5  # a variance, on a scale from 0 to 1
    least_spread = 1 / 14  # of a side, to one side of the ink's middle
    most_spread = 1 / 3


def frame_of(average: FloatArray, *, still: bool) -> ImageFrame:
    """How the ink of the average picture (rows x columns, from 0 to 1) lies. Ink is what differs from the rim."""
    high, wide = average.shape
    rim = np.concatenate((average[0], average[-1], average[:, 0], average[:, -1]))
    dark = bool(rim.mean() > 0.5)
    ink = 1 - average if dark else average
    down, across = (np.arange(side) - (side - 1) / 2 for side in (high, wide))
    mass = max(float(ink.sum()), 1e-9)
    y, x = float(ink.sum(axis=1) @ down) / mass, float(ink.sum(axis=0) @ across) / mass
    down, across = down - y, across - x
    yy, xx = float(ink.sum(axis=1) @ down**2) / mass, float(ink.sum(axis=0) @ across**2) / mass
    slant = float(np.clip(float(down @ ink @ across) / mass / max(yy, 1e-9), -1, 1))
    height = float(np.clip(math.sqrt(yy), Tuning.least_spread * high, Tuning.most_spread * high))
    width = math.sqrt(max(xx - slant * slant * yy, 0.0))
    width = float(np.clip(width, Tuning.least_spread * wide, Tuning.most_spread * wide))
    return ImageFrame(high, wide, still, dark, x, y, slant, width, height)


def worth_aligning(plan: SubspacePlan, counts: Counts, mu: AlignedShares) -> bool:
    """Whether released answers say that aligned pictures would stand above their noise.

    So many records must a class have that noise moves its mean only a little along a direction. How many directions
    there are counts little, since few of them part the classes.
    """
    view = CentredProjection.of(plan.places, plan.parting, np.full(plan.columns, 0.5))
    noise = noise_of_a_mean(plan, counts, view, mu.means) / math.sqrt(view.width)
    return noise < Tuning.most_noise


def measure_aligned(
    curator: CuratorLike, plan: SubspacePlan, mu: AlignedShares, counts: Counts, frame: ImageFrame, paper: float
) -> AlignedImageModel:
    """Means and second moment of aligned pictures, and of their moves; then each class, pictures and moves together."""
    aligned, pixels = AlignedImages(plan.places, frame), frame.pixels
    middle = measure_box(curator, plan, aligned, mu.pilot).middle(counts.total)
    means = measure_means(curator, plan, counts, (aligned, middle), (mu.norms, mu.means)).values
    moment = measure_moment(curator, plan, counts, (aligned, means), (mu.class_norms, mu.scatter))
    inner = SecondMoment(moment.matrix[:pixels, :pixels], moment.noise)
    shapes = subspace_of(
        inner, counts, means[:, :pixels], distinguishable_directions(counts, mu.class_scatter, Tuning.told_apart)
    )
    means[:, pixels:], moved = _moves(curator, plan, mu, counts, frame)
    subspace = together(shapes, moved)
    view = own_view(aligned, plan, means, subspace)
    mus = (mu.latent_norms, mu.latent_means, mu.class_scatter)
    latent = measure_latent(curator, plan, counts, view, own_kinds(subspace), mus)
    latent = in_all_directions(latent, subspace.own, subspace.basis.shape[1])
    return AlignedImageModel(
        frame=frame,
        means=means,
        basis=subspace.basis,
        whitening=subspace.whitening,
        centres=latent.centres,
        covs=latent.covariances,
        residual=estimate_residual(inner.matrix, shapes.basis, inner.noise),
        paper=paper,
    )


def _moves(
    curator: CuratorLike, plan: SubspacePlan, mu: AlignedShares, counts: Counts, frame: ImageFrame
) -> tuple[FloatArray, Subspace]:
    """Means of the moves of each class, and all directions of the moves; none if pictures are still.

    Beside hundreds of pixels five numbers would drown in the noise, so they are asked by themselves. Most lie near
    none, where their middle is looked for.
    """
    alone = AlignedImages(plan.places, frame, moves_alone=True)
    middle = Moves.none(frame, 1).to_places(frame)[:, 0]
    means = measure_means(curator, plan, counts, (alone, middle), (mu.move_norms, mu.move_means)).values
    moment = measure_moment(curator, plan, counts, (alone, means), (mu.move_class_norms, mu.move_scatter))
    variances, axes = np.linalg.eigh(moment.matrix)
    deviations = np.sqrt(np.maximum(variances, max(2 * moment.noise, Tuning.least_move)))
    kept = 0 if frame.still else MOVES
    axes, deviations = fix_signs(axes)[:, :kept], deviations[:kept]
    return means, Subspace(axes / deviations, axes * deviations, kept, np.full(kept, MOVE))


def together(shapes: Subspace, moves: Subspace) -> Subspace:
    """Directions of pictures, then of moves; those in which classes differ of their own come first."""
    ranks = (shapes.basis.shape[1], moves.basis.shape[1])
    order = np.r_[: shapes.own, ranks[0] : sum(ranks), shapes.own : ranks[0]]
    whitening, basis = (block_diag(one, other)[:, order] for one, other in zip(shapes[:2], moves[:2], strict=True))
    return Subspace(whitening, basis, shapes.own + moves.own, np.concatenate((shapes.kinds, moves.kinds))[order])
