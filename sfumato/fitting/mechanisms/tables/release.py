"""`tables`: noisy tables of every column and every two columns, and the model that explains them.

Anonymize: counts on public grids, then gradients and counts in leaves, come through the curator.
Approximate: a mixture of products is fitted to the counts.
Adapt: a labeller, what the target is given the rest, is fitted to gradients and to counts in the leaves of trees.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.fitting.devices import CPU, GPU
from sfumato.fitting.mechanisms.counts.measure import measure_counts
from sfumato.fitting.mechanisms.mechanism import Measurements, Mechanism, register_mechanism
from sfumato.fitting.mechanisms.tables.adaptation import adapt, adapt_again
from sfumato.fitting.mechanisms.tables.fit import Fit, attach_labeller, fit_mixture
from sfumato.fitting.mechanisms.tables.plan import TablesPlan, plan_tables
from sfumato.fitting.mechanisms.tables.triples import add_answers, measure_triples
from sfumato.fitting.mechanisms.tables.tuning import TABLES_TUNING, Components
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.replay import Replay
from sfumato.fitting.retraining.evidence import TrainingData, evidence_of
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.schema import Schema


def release_tables(
    curator: CuratorLike, plan: TablesPlan, progress: Callable[[str], None], fit: Fit | None = None
) -> TableMixture:
    """Measure, fit, measure how far the fit is off, and mend it.

    After the measurements all is post-processing.
    """
    fit = fit or Fit()
    plan, one_way, pairs = measure_counts(curator, plan, progress)
    if plan.mu_triples and pairs is not None:
        progress("measuring what three columns tell together, with noise")
        first = Fit(Components.components_first, Components.steps_first)
        expected = fit_mixture(plan, one_way, pairs, first, average=False)
        pairs = add_answers(pairs, one_way, measure_triples(curator, plan, one_way, pairs, expected))
    progress("fitting the model to the noisy counts")
    mixture = fit_mixture(plan, one_way, pairs, fit)
    progress("measuring corrections to the predictor of the target, with noise")
    return attach_labeller(mixture, plan, adapt(curator, plan, one_way, pairs, mixture, fit.prior))


def refit_tables(measurements: tuple[Measurement, ...], plan: TablesPlan, fit: Fit | None = None) -> TableMixture:
    """Fit the models anew to what was once released.

    Every table must be the one that schema, budget and earlier answers ask for. Gradients and trees are taken as they
    were asked: which directions they look along, and where they cut, depends on the last digits of a fit.
    """
    fit, record = fit or Fit(), Replay(measurements)
    plan, one_way, pairs = measure_counts(record, plan)
    record.must_be_left(plan.mu_target_left)
    if plan.mu_triples and pairs is not None:
        pairs = add_answers(pairs, one_way, record.left)
    mixture = fit_mixture(plan, one_way, pairs, fit)
    return attach_labeller(mixture, plan, adapt_again(record.left, one_way, mixture, fit.prior))


class TablesMechanism(Mechanism):
    """See the top of this file."""

    name = "tables"
    devices = (CPU, GPU)
    tuning = TABLES_TUNING

    def build_plan(
        self, schema: Schema, budget: Budget, adjacency: Adjacency, settings: Mapping[str, Any]
    ) -> TablesPlan:
        """See `Mechanism`."""
        del settings  # they are of the fit
        return plan_tables(schema, budget, adjacency)

    def read_plan(self, content: Mapping[str, Any], schema: Schema, adjacency: Adjacency) -> TablesPlan:
        """See `Mechanism`."""
        return TablesPlan.from_dict(content, schema, adjacency)

    def release(
        self, curator: CuratorLike, plan: TablesPlan, progress: Callable[[str], None], device: str = CPU
    ) -> TableMixture:
        """See `Mechanism`."""
        return release_tables(curator, plan, progress, Fit(device=device))

    def refit(
        self, measurements: Measurements, plan: TablesPlan, settings: Mapping[str, Any], features: Batch | None = None
    ) -> TableMixture:
        """See `Mechanism`."""
        del features
        return refit_tables(measurements, plan, Fit(**settings))

    def training_data(self, measurements: Measurements, plan: TablesPlan, schema: Schema) -> TrainingData:
        """See `Mechanism`."""
        del schema
        record = Replay(measurements)
        plan, one_way, pairs = measure_counts(record, plan)
        record.must_be_left(plan.mu_target_left)
        evidence = evidence_of(one_way, pairs, None) if one_way.columns else None
        return TrainingData(plan, one_way, evidence, pairs, tuple(record.left))


register_mechanism(TablesMechanism())
