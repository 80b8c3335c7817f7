"""`3a`: anonymize, approximate, adapt, each of which can be exchanged for another.

After the paper "Approximate, Adapt, Anonymize (3A)", in another order: there the noise comes
last, on records that were chosen by looking at all of them, which no proof covers. Here it comes first. What leaves the
curator is a noisy sum; everything else is made of those. A share of the budget is kept for the target, in the role of
the paper's alpha: 0 is the distribution alone.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.fitting.approx_equal import approx_equal
from sfumato.fitting.devices import CPU
from sfumato.fitting.mechanisms.framework.adapt import ADAPT
from sfumato.fitting.mechanisms.framework.anonymize import Seen, anonymize
from sfumato.fitting.mechanisms.framework.approximate import APPROXIMATE
from sfumato.fitting.mechanisms.framework.parts import PAID
from sfumato.fitting.mechanisms.framework.plan import FrameworkPlan, plan_framework
from sfumato.fitting.mechanisms.framework.tuning import FRAMEWORK_TUNING
from sfumato.fitting.mechanisms.mechanism import Measurements, Mechanism, register_mechanism
from sfumato.fitting.mechanisms.tables.fit import Fit, attach_labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.replay import Replay
from sfumato.fitting.retraining.evidence import TrainingData
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Softmax
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.schema import Schema


def release_3a(curator: CuratorLike, plan: FrameworkPlan, progress: Callable[[str], None]) -> TableMixture:
    """Measure, explain what was measured, and learn what is left of the target."""
    seen = anonymize(curator, plan, progress)
    progress("fitting the model to the noisy sums")
    density = APPROXIMATE[plan.parts.approximate](seen, {})
    progress("adapting the model to the target")
    labeller = ADAPT[plan.parts.adapt].ask(curator, seen, density, Fit().prior)
    return _labelled(density, seen, labeller)


def refit_3a(measurements: Measurements, plan: FrameworkPlan, settings: Mapping[str, Any]) -> TableMixture:
    """The same from recorded answers; those of `adapt` are taken as they were asked."""
    seen, answers = _read(measurements, plan)
    density = APPROXIMATE[plan.parts.approximate](seen, settings)
    prior = settings.get("prior", Fit().prior)
    return _labelled(density, seen, ADAPT[plan.parts.adapt].again(answers, seen, density, prior))


def _read(measurements: Measurements, plan: FrameworkPlan) -> tuple[Seen, Measurements]:
    """What was released of the distribution, and the answers about the target, which are left."""
    record = Replay(measurements, approx_equal)
    seen = anonymize(record, plan)
    record.must_be_left(seen.plan.mu_target_left)
    return seen, tuple(record.left)


def _labelled(density: TableMixture, seen: Seen, labeller: Softmax | None) -> TableMixture:
    return attach_labeller(density, seen.plan, labeller, of_samples=seen.plan.parts.adapt in PAID)


class FrameworkMechanism(Mechanism):
    """See the top of this file."""

    name = "3a"
    tuning = FRAMEWORK_TUNING

    def build_plan(
        self, schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]
    ) -> FrameworkPlan:
        """See `Mechanism`."""
        return plan_framework(schema, budget, adjacency, settings)

    def read_plan(self, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> FrameworkPlan:
        """See `Mechanism`."""
        return FrameworkPlan.from_dict(content, schema, adjacency)

    def release(
        self, curator: CuratorLike, plan: FrameworkPlan, progress: Callable[[str], None], device: str = CPU
    ) -> TableMixture:
        """See `Mechanism`."""
        del device  # the only one there is
        return release_3a(curator, plan, progress)

    def refit(
        self,
        measurements: Measurements,
        plan: FrameworkPlan,
        settings: Mapping[str, Any],
        features: Batch | None = None,
    ) -> TableMixture:
        """See `Mechanism`."""
        del features
        return refit_3a(measurements, plan, settings)

    def training_data(self, measurements: Measurements, plan: FrameworkPlan, schema: Schema) -> TrainingData:
        """See `Mechanism`."""
        del schema
        seen, answers = _read(measurements, plan)
        prior = Fit().prior

        def adapt(density: TableMixture) -> TableMixture:
            return _labelled(density, seen, ADAPT[plan.parts.adapt].again(answers, seen, density, prior))

        return TrainingData(seen.plan, seen.one_way, seen.evidence, seen.pairs, adapt=adapt)


register_mechanism(FrameworkMechanism())
