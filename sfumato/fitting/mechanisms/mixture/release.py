"""`mixture`: a Gaussian for every class, with the least KL divergence that a proven budget allows.

Waves find where a class lies and how wide it is; scores look at it through the whitening that is known by then, which
they improve; shells take over where a class is not Gaussian. The rest is post-processing.
"""

from collections.abc import Callable
from dataclasses import replace

from sfumato.errors import BundleError
from sfumato.fitting.approx_equal import alike
from sfumato.fitting.mechanisms.mixture.actions import model_of
from sfumato.fitting.mechanisms.mixture.label_table import release_label_table
from sfumato.fitting.mechanisms.mixture.plan import MixturePlan, plan_mixture
from sfumato.fitting.mechanisms.mixture.rounds import Questions, measure_classes
from sfumato.fitting.mechanisms.mixture.unlabelled import release_unlabelled
from sfumato.fitting.models.gaussian_mixture.model import GaussianMixture
from sfumato.fitting.replay import Record
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import ByTarget
from sfumato.trusted.measurement import Door, Measurement

__all__ = ["MixturePlan", "plan_mixture", "refit_mixture", "release_mixture"]


def release_mixture(door: Door, plan: MixturePlan, progress: Callable[[str], None]) -> GaussianMixture:
    """Measure every class, round by round, and fit its Gaussian."""
    scales = plan.places.scales
    if plan.target is None and plan.search is not None:
        found = release_unlabelled(door, plan, plan.search, scales, progress)
        return replace(found, settings={"components": plan.search.components})
    assert plan.target is not None  # noqa: S101 - a plan without a target has a search
    if plan.labels is not None:
        features = door.features(plan.places.names)
        return release_label_table(door, features, plan, plan.target, plan.labels, scales, progress)
    progress("finding and whitening the classes behind the door")
    parting = ByTarget(plan.target, plan.classes)
    states = measure_classes(Questions(door, plan.places, parting, plan.adjacency), plan.rounds)
    progress("fitting a Gaussian to what came out of each class")
    return model_of(states, scales, plan.target)


def refit_mixture(
    measurements: tuple[Measurement, ...], plan: MixturePlan, features: Batch | None = None
) -> GaussianMixture:
    """Fit the model anew to what was once released; every question must be the one that the answers before ask for.

    `features` are the public features, where the release was made with them.
    """
    record = Record(measurements, alike, features)
    model = release_mixture(record, plan, lambda _: None)
    if record.left:
        raise BundleError("there are more measurements than the budget asks for; use the version that made the bundle")
    return model
