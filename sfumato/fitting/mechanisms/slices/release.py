"""`slices`: noisy histograms along public directions, and a generator that is fitted to them.

Anonymize: histograms of the axes, of pairs of axes and along random orthonormal directions, by class of the target,
come through the curator, once.
Fit: a generator, by the chi-squared divergence between its slices and theirs. It can be trained for any number
of epochs, again, or another one instead, by whoever holds the bundle: nothing more is spent.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.errors import RequestError
from sfumato.fitting.approx_equal import approx_equal
from sfumato.fitting.devices import CPU
from sfumato.fitting.mechanisms.counts.measure import measure_counts
from sfumato.fitting.mechanisms.mechanism import Measurements, Mechanism, register_mechanism
from sfumato.fitting.mechanisms.rules_refused import refuse_rules
from sfumato.fitting.mechanisms.slices.directions import measure_directions
from sfumato.fitting.mechanisms.slices.plan import SlicesPlan, plan_slices
from sfumato.fitting.mechanisms.slices.tuning import SLICES_TUNING
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.replay import Replay
from sfumato.fitting.retraining.evidence import TrainingData, evidence_of
from sfumato.fitting.retraining.fit import SETTINGS, fit_generator
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.schema import Schema


def release_slices(curator: CuratorLike, plan: SlicesPlan, progress: Callable[[str], None]) -> TableMixture:
    """Measure three times, then fit. After the measurements all is post-processing."""
    seen = measure_slices(curator, plan, progress)
    progress("training a generator on the noisy counts")
    return fit_generator(seen, {})


def refit_slices(measurements: tuple[Measurement, ...], plan: SlicesPlan, settings: Mapping[str, Any]) -> TableMixture:
    """Train anew on what was once released. Every question must be the one that schema and budget ask for."""
    if unknown := settings.keys() - SETTINGS.keys():
        raise RequestError(f"slices have no {', '.join(sorted(unknown))} to set; see `retrain`")
    return fit_generator(read_slices(measurements, plan), settings)


def read_slices(measurements: tuple[Measurement, ...], plan: SlicesPlan) -> TrainingData:
    """What was once released, all of it."""
    record = Replay(measurements, approx_equal)
    seen = measure_slices(record, plan)
    record.must_be_left(())
    return seen


def measure_slices(
    curator: CuratorLike, plan: SlicesPlan, progress: Callable[[str], None] = lambda _: None
) -> TrainingData:
    """All that is asked: the axes, pairs of axes, random directions."""
    plan, one_way, pairs = measure_counts(curator, plan, progress)
    progress("measuring histograms along random directions, with noise")
    along = measure_directions(curator, plan, one_way, plan.mu_directions)
    return TrainingData(plan, one_way, evidence_of(one_way, pairs, along) if one_way.columns else None, pairs)


class SlicesMechanism(Mechanism):
    """See the top of this file."""

    name = "slices"
    tuning = SLICES_TUNING

    def build_plan(
        self, schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]
    ) -> SlicesPlan:
        """See `Mechanism`."""
        refuse_rules(schema, f"mechanism {self.name}")
        del settings  # they are of the fit
        return plan_slices(schema, budget, adjacency)

    def read_plan(self, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> SlicesPlan:
        """See `Mechanism`."""
        return SlicesPlan.from_dict(content, schema, adjacency)

    def release(
        self, curator: CuratorLike, plan: SlicesPlan, progress: Callable[[str], None], device: str = CPU
    ) -> TableMixture:
        """See `Mechanism`."""
        del device  # the only one there is
        return release_slices(curator, plan, progress)

    def refit(
        self, measurements: Measurements, plan: SlicesPlan, settings: Mapping[str, Any], features: Batch | None = None
    ) -> TableMixture:
        """See `Mechanism`."""
        del features
        return refit_slices(measurements, plan, settings)

    def training_data(self, measurements: Measurements, plan: SlicesPlan, schema: Schema) -> TrainingData:
        """See `Mechanism`."""
        del schema
        return read_slices(measurements, plan)


register_mechanism(SlicesMechanism())
