"""`mixture`: a Gaussian for every class, with the least KL divergence that a proven budget allows.

Waves find where a class lies and how wide it is; scores look at it through the whitening that is known by then, which
they improve; shells take over where a class is not Gaussian. The rest is post-processing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sfumato.errors import BundleError, RequestError
from sfumato.fitting.approx_equal import approx_equal
from sfumato.fitting.devices import CPU
from sfumato.fitting.mechanisms.mechanism import Measurements, Mechanism, register_mechanism
from sfumato.fitting.mechanisms.mixture.actions import model_of
from sfumato.fitting.mechanisms.mixture.label_table import release_label_table
from sfumato.fitting.mechanisms.mixture.plan import DESIGN, MixturePlan, plan_mixture
from sfumato.fitting.mechanisms.mixture.rounds import Questions, measure_classes
from sfumato.fitting.mechanisms.mixture.tuning import MIXTURE_TUNING
from sfumato.fitting.mechanisms.mixture.unlabelled import release_unlabelled
from sfumato.fitting.mechanisms.rules_refused import refuse_rules
from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture
from sfumato.fitting.replay import Replay
from sfumato.fitting.retraining.evidence import TrainingData
from sfumato.fitting.retraining.fourier_evidence import read_fourier
from sfumato.fitting.stored_plan import check_design
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import ByTarget
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.schema import Schema


def release_mixture(curator: CuratorLike, plan: MixturePlan, progress: Callable[[str], None]) -> GaussianMixture:
    """Measure every class, round by round, and fit its Gaussian."""
    check_design(plan.design, DESIGN)
    scales = plan.places.scales
    if plan.target is None and plan.search is not None:
        found = release_unlabelled(curator, plan, plan.search, scales, progress)
        return replace(found, action="detailed", settings={"components": plan.search.components})
    assert plan.target is not None  # noqa: S101 - a plan without a target has a search
    if plan.labels is not None:
        features = curator.features(plan.places.names)
        return release_label_table(curator, features, plan, plan.target, plan.labels, scales, progress)
    progress("measuring location and spread of each class, with noise")
    parting = ByTarget(plan.target, plan.classes)
    states = measure_classes(Questions(curator, plan.places, parting, plan.adjacency), plan.rounds)
    progress("fitting a Gaussian to the noisy sums of each class")
    return model_of(states, scales, plan.target)


def refit_mixture(
    measurements: tuple[Measurement, ...], plan: MixturePlan, features: Batch | None = None
) -> GaussianMixture:
    """Fit the model anew to what was once released; every question must be the one that the answers before ask for.

    `features` are the public features, where the release was made with them.
    """
    record = Replay(measurements, approx_equal, features)
    model = release_mixture(record, plan, lambda _: None)
    if record.left:
        raise BundleError("there are more measurements than the budget asks for; use the version that made the bundle")
    return model


class MixtureMechanism(Mechanism):
    """See the top of this file."""

    name = "mixture"
    tuning = MIXTURE_TUNING

    def build_plan(
        self, schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]
    ) -> MixturePlan:
        """See `Mechanism`."""
        refuse_rules(schema, f"mechanism {self.name}")
        return plan_mixture(schema, budget, adjacency, settings.get("components"))

    def read_plan(self, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> MixturePlan:
        """See `Mechanism`."""
        return MixturePlan.from_dict(content, schema, adjacency)

    def release(
        self, curator: CuratorLike, plan: MixturePlan, progress: Callable[[str], None], device: str = CPU
    ) -> GaussianMixture:
        """See `Mechanism`."""
        del device  # the only one there is
        return release_mixture(curator, plan, progress)

    def refit(
        self, measurements: Measurements, plan: MixturePlan, settings: Mapping[str, Any], features: Batch | None = None
    ) -> GaussianMixture:
        """See `Mechanism`."""
        if settings.keys() - {"components"} or (settings and plan.search is None):
            raise RequestError(f"a mixture has nothing to set, and {', '.join(settings)} was given; see `estimate`")
        return refit_mixture(measurements, plan, features)

    def needs_features(self, schema: Schema, adjacency: Adjacency) -> bool:
        """See `Mechanism`."""
        return schema.public_features and adjacency == Adjacency.LABEL

    def training_data(self, measurements: Measurements, plan: MixturePlan, schema: Schema) -> TrainingData:
        """See `Mechanism`."""
        data = read_fourier(schema, plan.adjacency, measurements)
        refit_mixture(measurements, plan)
        return data


register_mechanism(MixtureMechanism())
