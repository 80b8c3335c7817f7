"""`subspace`: a Gaussian for each class in the few directions of a wide table that stand above the noise.

Counts and means first; then second moments of all records, whose spectrum says how many directions can be told from
noise; then each class along these. The rest is post-processing.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sfumato.errors import BundleError
from sfumato.measurement import Door, Measurement
from sfumato.mechanisms.likeness import alike
from sfumato.mechanisms.record import Record
from sfumato.mechanisms.subspace.classes import Counts, Means, shrunk_means
from sfumato.mechanisms.subspace.labeller import measured_labeller
from sfumato.mechanisms.subspace.latent import Latent, in_all_directions, measured_latent
from sfumato.mechanisms.subspace.marginals import MarginalShares, marginal_cells, measured_marginals
from sfumato.mechanisms.subspace.planning import SubspacePlan, is_wide, plan_subspace
from sfumato.mechanisms.subspace.reach import Distance, measured_reach
from sfumato.mechanisms.subspace.spectrum import FloatArray, discriminants, left_over, spikes
from sfumato.models.subspace import CELLS, SubspaceModel
from sfumato.statistics import AtBounds, RowSums, Scatter, View
from sfumato.statistics import scatter as scatters
from sfumato.statistics.bounded import UNIT

__all__ = ["SubspacePlan", "is_wide", "plan_subspace", "refit_subspace", "release_subspace"]

_WITHIN = 0.6  # the share of the records within the radius
_MANY_AT_BOUNDS, _ABOVE_NOISE = 0.3, 3.0  # of the values lie on a bound; deviations of noise that a cell holds
_TOLD_APART = 0.35  # noise of a class covariance along its own directions, as a share of a variance
_LEAST_OWN = 4
_DRAWN = 20_000  # records that show what edges are like


class Subspace(NamedTuple):
    """Directions that whiten (columns x r), the basis that undoes it, and in how many of the first classes differ."""

    whitening: FloatArray
    basis: FloatArray
    own: int


class SecondMoment(NamedTuple):
    """Of all records around their class means, and the deviation of its noise off the diagonal."""

    matrix: FloatArray
    noise: float


def release_subspace(door: Door, plan: SubspacePlan, progress: Callable[[str], None]) -> SubspaceModel:
    """Measure counts, means, second moments and classes, and put the model together."""
    progress("counts and means behind the door")
    counts, middle = _pilot(door, plan)
    many_at_bounds = _at_bounds(door, plan, counts)
    means = _class_means(door, plan, counts, middle)
    progress("second moments behind the door")
    moment, marginals = _second_moment(door, plan, counts, means.values, many_at_bounds)
    subspace = _subspace(plan, counts, means.values, moment)
    progress("each class in the directions that stand above the noise")
    latent = _latent_classes(door, plan, counts, means.values, subspace)
    model = SubspaceModel(
        scales=plan.places.scales,
        target=plan.parting.target,
        classes=plan.classes,
        size=counts.total,
        weights=counts.weights,
        means=means.values,
        basis=subspace.basis,
        whitening=subspace.whitening,
        centres=latent.centres,
        covs=latent.covariances,
        residual=left_over(moment.matrix, subspace.basis, moment.noise),
        mean_sds=_mean_deviations(means.deviations, subspace, latent.noise),
        marginals=None if marginals is None else marginals.shares,
        count_sd=counts.deviation,
        marginal_sd=0.0 if marginals is None else marginals.deviation,
    )
    if plan.edges is None:
        return model
    progress("edges that tell the classes of pictures")
    drawn = model.sample(_DRAWN, np.random.default_rng(0))
    return replace(model, labeller=measured_labeller(door, plan, plan.edges, counts, drawn))


def refit_subspace(measurements: tuple[Measurement, ...], plan: SubspacePlan) -> SubspaceModel:
    """Fit the model anew to what was once released; every question must be the one that the answers before ask for."""
    record = Record(measurements, alike)
    model = release_subspace(record, plan, lambda _: None)
    if record.left:
        raise BundleError("there are more measurements than the budget asks for; use the version that made the bundle")
    return model


def _pilot(door: Door, plan: SubspacePlan) -> tuple[Counts, FloatArray]:
    """Counts of the classes and the mean of all records; the ball around the middle holds the whole box."""
    middle, radius = np.full(plan.columns, 0.5), math.sqrt(plan.columns) / 2
    statistic = RowSums(View.of(plan.places, plan.parting, middle), radius, 1.0)
    answer = door.measure(statistic, plan.mu.pilot)
    found, sums = statistic.split(answer.values)
    counts = Counts(np.maximum(found, 1.0), answer.sigma / UNIT)
    return counts, np.clip(middle + radius * sums.sum(axis=0) / counts.total, 0, 1)


def _at_bounds(door: Door, plan: SubspacePlan, counts: Counts) -> bool:
    """Whether marginals are worth asking: many values on a bound, and cells that stand above their noise."""
    share = float(door.measure(AtBounds(plan.places), plan.mu.bounds).values[0]) / plan.columns / counts.total
    noise = marginal_cells(plan).sensitivity(plan.adjacency) / plan.mu.marginals
    unseen = noise == 0  # by a label: the question would be free of noise, which the door does not know
    return not unseen and share > _MANY_AT_BOUNDS and counts.total > _ABOVE_NOISE * CELLS * noise


def _distance(view: View) -> Distance:
    """No record is farther from the middle of the box than half its diagonal."""
    return Distance(1.2 * math.sqrt(view.width) / 2, _WITHIN)


def _class_means(door: Door, plan: SubspacePlan, counts: Counts, middle: FloatArray) -> Means:
    view = View.of(plan.places, plan.parting, middle)
    reach = measured_reach(door, view, plan.adjacency, counts.total, plan.mu.norms, _distance(view))
    statistic = RowSums(view, reach.radius)
    measurement = door.measure(statistic, plan.mu.means)
    scale = reach.radius / reach.move / counts.each
    moves = scale[:, None] * statistic.split(measurement.values).sums
    means = shrunk_means(moves, scale * measurement.sigma / UNIT, counts.weights)
    return Means(np.clip(middle + means.values, 0, 1), means.deviations)


def _second_moment(
    door: Door, plan: SubspacePlan, counts: Counts, means: FloatArray, many_at_bounds: bool
) -> tuple[SecondMoment, MarginalShares | None]:
    """The scatter, and the marginals or, for the same price, the scatter once more."""
    view = View.of(plan.places, plan.parting, means)
    reach = measured_reach(door, view, plan.adjacency, counts.total, plan.mu.class_norms, _distance(view))
    statistic = Scatter(view, reach.radius, apart=False)
    answers = [door.measure(statistic, plan.mu.scatter)]
    marginals = None
    if many_at_bounds:
        marginals = measured_marginals(door, plan, counts.total)
    else:
        answers.append(door.measure(statistic, plan.mu.marginals))
    weights = np.array([answer.mu**2 for answer in answers])
    weights /= weights.sum()
    matrix = sum(weight * statistic.matrices(answer.values)[0] for weight, answer in zip(weights, answers, strict=True))
    sigma = math.sqrt(sum((weight * answer.sigma) ** 2 for weight, answer in zip(weights, answers, strict=True)))
    scale = reach.radius**2 / reach.square / counts.total
    return SecondMoment(scale * matrix, scale * sigma / scatters.UNIT / math.sqrt(2)), marginals


def _subspace(plan: SubspacePlan, counts: Counts, means: FloatArray, moment: SecondMoment) -> Subspace:
    """Spikes and the directions that part the classes; the leading ones first, in which classes differ of their own.

    Where edges tell the classes the Gaussians need only draw records, and classes differ in all directions.
    """
    found = spikes(moment.matrix, moment.noise)
    parting = discriminants(means, counts.weights, found.directions)
    apart = np.maximum(np.einsum("ij,ij->j", parting, moment.matrix @ parting), 2 * moment.noise)
    noise = math.sqrt(2) * (scatters.UNIT / plan.mu.class_scatter) / scatters.UNIT / float(np.median(counts.each))
    own = max(_LEAST_OWN, int((_TOLD_APART / noise) ** (2 / 3)) - parting.shape[1])
    own = len(found.variances) if plan.edges else min(own, len(found.variances))
    directions = np.hstack((found.directions[:, :own], parting, found.directions[:, own:]))
    variances = np.concatenate((found.variances[:own], apart, found.variances[own:]))
    return Subspace(directions / np.sqrt(variances), directions * np.sqrt(variances), own + parting.shape[1])


def _latent_classes(door: Door, plan: SubspacePlan, counts: Counts, means: FloatArray, subspace: Subspace) -> Latent:
    """Each class along its own directions."""
    rank, own = subspace.basis.shape[1], subspace.own
    directions = subspace.whitening[:, :own].T if own else np.zeros((1, plan.columns))
    view = View.of(plan.places, plan.parting, means, directions)
    latent = measured_latent(door, view, counts, plan.mu.latent_means, plan.mu.class_scatter)
    return in_all_directions(latent, own, rank)


def _mean_deviations(outside: FloatArray, subspace: Subspace, noise: FloatArray) -> FloatArray:
    """The noise of the class means: that of the latent centres in the own directions, of the first means elsewhere."""
    basis, whitening = subspace.basis[:, : subspace.own], subspace.whitening[:, : subspace.own]
    inside = (basis * whitening).sum(axis=1)  # the share of each column that lies in these directions
    variances = outside**2 * np.clip(1 - inside, 0, 1) + np.outer(noise**2, (basis**2).sum(axis=1))
    deviations: FloatArray = np.sqrt(variances)
    return deviations
