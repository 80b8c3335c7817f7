"""`subspace`: a Gaussian for each class in the few directions of a wide table that stand above the noise.

Counts and means first; then second moments of all records, whose spectrum says how many directions can be told from
noise; then each class along these; of pictures, all of it again as they are when aligned, if there are enough of them.
The rest is post-processing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.errors import BundleError, RequestError
from sfumato.fitting.approx_equal import approx_equal
from sfumato.fitting.devices import CPU
from sfumato.fitting.mechanisms.mechanism import Measurements, Mechanism, register_mechanism
from sfumato.fitting.mechanisms.rules_refused import refuse_rules
from sfumato.fitting.mechanisms.subspace.alignment import frame_of, measure_aligned, worth_aligning
from sfumato.fitting.mechanisms.subspace.classes import Counts
from sfumato.fitting.mechanisms.subspace.gaussians import (
    Subspace,
    distinguishable_directions,
    measure_box,
    measure_means,
    measure_moment,
    own_kinds,
    own_view,
    subspace_of,
)
from sfumato.fitting.mechanisms.subspace.latent import in_all_directions, measure_latent
from sfumato.fitting.mechanisms.subspace.marginals import marginal_cells, measure_marginals
from sfumato.fitting.mechanisms.subspace.plan import AlignedShares, Shares, SubspacePlan, plan_subspace
from sfumato.fitting.mechanisms.subspace.spectrum import estimate_residual
from sfumato.fitting.mechanisms.subspace.tuning import SUBSPACE_TUNING, Directions
from sfumato.fitting.models.subspace.model import CELLS, SubspaceModel
from sfumato.fitting.replay import Replay
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.alignment import picture_of
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import AtBounds


def release_subspace(curator: CuratorLike, plan: SubspacePlan, progress: Callable[[str], None]) -> SubspaceModel:
    """Measure counts, means, second moments and classes, and put the model together."""
    progress("measuring counts and means, with noise")
    places = plan.places
    pilot = measure_box(curator, plan, places, plan.mu.pilot, count_weight=1.0)
    counts = Counts(np.maximum(pilot.counts, 1.0), pilot.sigma)
    middle = pilot.middle(counts.total)
    at_bounds = _at_bounds(curator, plan, counts)
    many_at_bounds = at_bounds > Directions.many_at_bounds
    mu, aligned = _way(plan, counts, many_at_bounds=many_at_bounds)
    asks_marginals = many_at_bounds and _cells_stand_out(plan, counts, mu.marginals)
    means = measure_means(curator, plan, counts, (places, middle), (mu.norms, mu.means))
    progress("measuring second moments, with noise")
    marginals = measure_marginals(curator, plan, counts.total, mu.marginals) if asks_marginals else None
    spent = (mu.scatter,) if asks_marginals else (mu.scatter, mu.marginals)
    moment = measure_moment(curator, plan, counts, (places, means.values), (mu.class_norms, *spent))
    subspace = subspace_of(
        moment, counts, means.values, distinguishable_directions(counts, mu.class_scatter, Directions.told_apart)
    )
    progress("measuring each class along the directions that stand above the noise")
    view = own_view(places, plan, means.values, subspace)
    kinds = own_kinds(subspace)
    latent = measure_latent(curator, plan, counts, view, kinds, (mu.latent_norms, mu.latent_means, mu.class_scatter))
    latent = in_all_directions(latent, subspace.own, subspace.basis.shape[1])
    model = SubspaceModel(
        scales=places.scales,
        target=plan.parting.target,
        classes=plan.classes,
        size=counts.total,
        weights=counts.weights,
        means=means.values,
        basis=subspace.basis,
        whitening=subspace.whitening,
        centres=latent.centres,
        covs=latent.covariances,
        residual=estimate_residual(moment.matrix, subspace.basis, moment.noise),
        mean_sds=_mean_deviations(means.deviations, subspace, latent.deviations),
        marginals=None if marginals is None else marginals.shares,
        count_sd=counts.deviation,
        marginal_sd=0.0 if marginals is None else marginals.deviation,
    )
    shape = picture_of(places.columns)
    if aligned is None or shape is None:
        return model
    progress("measuring aligned images, with noise")
    frame = frame_of(middle.reshape(shape), still=not many_at_bounds)
    return replace(model, aligned=measure_aligned(curator, plan, aligned, counts, frame, at_bounds))


def refit_subspace(measurements: tuple[Measurement, ...], plan: SubspacePlan) -> SubspaceModel:
    """Fit the model anew to what was once released; every question must be the one that the answers before ask for."""
    record = Replay(measurements, approx_equal)
    model = release_subspace(record, plan, lambda _: None)
    if record.left:
        raise BundleError("there are more measurements than the budget asks for; use the version that made the bundle")
    return model


def _at_bounds(curator: CuratorLike, plan: SubspacePlan, counts: Counts) -> float:
    """The share of the values that lie on a bound."""
    found = float(curator.measure(AtBounds(plan.places), plan.mu.bounds).values[0])
    return min(max(found / plan.columns / counts.total, 0.0), 1.0)


def _way(plan: SubspacePlan, counts: Counts, *, many_at_bounds: bool) -> tuple[Shares, AlignedShares | None]:
    """Pixels and aligned pictures, or pixels alone: by answers that are released, at the same cost."""
    if plan.alone is None or plan.aligned is None:
        return plan.mu, plan.aligned
    aligns = many_at_bounds and worth_aligning(plan, counts, plan.aligned)
    return (plan.mu, plan.aligned) if aligns else (plan.alone, None)


def _cells_stand_out(plan: SubspacePlan, counts: Counts, mu: float) -> bool:
    """Whether the cells of marginals stand above their noise."""
    noise = marginal_cells(plan).sensitivity(plan.adjacency) / mu
    unseen = noise == 0  # by a label: the question would be free of noise, which the curator does not know
    return not unseen and counts.total > Directions.above_noise * CELLS * noise


def _mean_deviations(outside: FloatArray, subspace: Subspace, inside: FloatArray) -> FloatArray:
    """What noise left in the class means: in the own directions as centres have it, elsewhere as the first means."""
    basis, whitening = subspace.basis[:, : subspace.own], subspace.whitening[:, : subspace.own]
    share = (basis * whitening).sum(axis=1)  # of each column, that lies in these directions
    variances = outside**2 * np.clip(1 - share, 0, 1) + inside**2 @ (basis**2).T
    deviations: FloatArray = np.sqrt(variances)
    return deviations


class SubspaceMechanism(Mechanism):
    """See the top of this file."""

    name = "subspace"
    tuning = SUBSPACE_TUNING

    def build_plan(
        self, schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]
    ) -> SubspacePlan:
        """See `Mechanism`."""
        refuse_rules(schema, f"mechanism {self.name}")
        del settings  # there are none
        return plan_subspace(schema, budget, adjacency)

    def read_plan(self, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> SubspacePlan:
        """See `Mechanism`."""
        return SubspacePlan.from_dict(content, schema, adjacency)

    def release(
        self, curator: CuratorLike, plan: SubspacePlan, progress: Callable[[str], None], device: str = CPU
    ) -> SubspaceModel:
        """See `Mechanism`."""
        del device  # the only one there is
        return release_subspace(curator, plan, progress)

    def refit(
        self, measurements: Measurements, plan: SubspacePlan, settings: Mapping[str, Any], features: Batch | None = None
    ) -> SubspaceModel:
        """See `Mechanism`."""
        del features
        if settings:
            raise RequestError(f"a subspace has nothing to set, and {', '.join(settings)} was given")
        return refit_subspace(measurements, plan)


register_mechanism(SubspaceMechanism())
