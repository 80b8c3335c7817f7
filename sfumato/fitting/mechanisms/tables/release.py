"""`tables`: noisy tables of every column and every two columns, and the model that explains them.

Anonymize: counts on public grids, then gradients and counts in leaves, come through the curator.
Approximate: a mixture of products is fitted to the counts.
Adapt: a labeller, what the target is given the rest, is fitted to gradients and to counts in the leaves of trees.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.mechanisms.counts.assembly import assemble_mixture
from sfumato.fitting.mechanisms.counts.measure import measure_counts
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.counts.plan import Tuning as Planning
from sfumato.fitting.mechanisms.mechanism import Measurements, Mechanism, register_mechanism
from sfumato.fitting.mechanisms.tables.adaptation import adapt, adapt_again
from sfumato.fitting.mechanisms.tables.averaging import average_fits
from sfumato.fitting.mechanisms.tables.plan import TablesPlan, plan_tables
from sfumato.fitting.mechanisms.tables.start import start_anywhere, start_in_boxes, target_in_boxes
from sfumato.fitting.mechanisms.tables.triples import add_answers, measure_triples
from sfumato.fitting.mechanisms.tables.tuning import TABLES_TUNING, Components
from sfumato.fitting.models.table_mixture.labeller import Labeller
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.replay import Replay
from sfumato.fitting.retraining.evidence import TrainingData, evidence_of
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Softmax
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.schema import Schema

_MOST_COMPONENTS, _MOST_STEPS = 1_000, 10_000


@dataclass(frozen=True)
class Fit:
    """How the models are fitted to what was released. Post-processing: any setting is free.

    components   the most that a class of the target gets; without a target each of a few fits gets fewer
    steps        of the fit of the mixture, as above
    prior        standard deviation of the labeller's coefficients around what the mixture says
    """

    components: int = 80
    steps: int = 800
    prior: float = 0.5

    def __post_init__(self) -> None:
        if not (1 <= self.components <= _MOST_COMPONENTS and 1 <= self.steps <= _MOST_STEPS):
            raise RequestError(f"a fit needs 1 to {_MOST_COMPONENTS} components and 1 to {_MOST_STEPS} steps")
        if not 0 < self.prior < np.inf:
            raise RequestError("the prior of a fit must be a number above 0")


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


def attach_labeller(mixture: TableMixture, plan: TablesPlan, model: Softmax | None) -> TableMixture:
    """The mixture with a labeller, where there is one."""
    if model is None or plan.target is None:
        return mixture
    forbidden = () if plan.support is None else plan.support.forbidden
    return replace(mixture, labeller=Labeller.of(model, plan.target, forbidden=forbidden))


def fit_mixture(
    plan: CountsPlan, one_way: OneWays, pairs: PairTables | None, fit: Fit, *, average: bool = True
) -> TableMixture:
    """The fitted mixture over the codes of every column, the target among them; the average of some fits."""
    fits, most, steps = _fits(plan, one_way, pairs, fit) if average else (1, fit.components, fit.steps)
    components, support = count_components(one_way, pairs, most), plan.support
    steps = max(1, steps * Planning.many_classes // max(Planning.many_classes, one_way.classes.count))
    if support is None:
        start = start_anywhere(one_way, components)
    else:
        start = start_in_boxes(plan, support, one_way, components)
        steps = max(1, steps * Components.many // max(Components.many, len(start.owner)))
    weights, thetas = average_fits(one_way, pairs, start, steps, fits) if one_way.columns else (start.weights, [])
    ties, target = {} if pairs is None else pairs.ties, None
    if plan.target is not None and support is not None:
        target = target_in_boxes(plan, support, one_way, start, weights)
    return assemble_mixture(plan, one_way, weights, thetas, np.tile(start.owner, fits), asdict(fit), target, ties)


def _fits(plan: CountsPlan, one_way: OneWays, pairs: PairTables | None, fit: Fit) -> tuple[int, int, int]:
    """How many fits there are, the components that each has at most, and its steps.

    With a target there is one: its labeller mends what chance there is in a fit.
    """
    groups = sum(len(column.grouped) for column in one_way.columns.values())
    fits = min(Components.fits_alone, Components.most_averaged // max(groups, 1))
    if plan.target is not None or pairs is None or fits < 2:
        return 1, fit.components, fit.steps
    components, steps = Components.components_alone * fit.components, Components.steps_alone * fit.steps
    return fits, max(1, int(components)), max(1, int(steps))


def count_components(one_way: OneWays, pairs: PairTables | None, most: int) -> list[int]:
    """A component for every few noise deviations that a class holds; without pairs one is all that can be told."""
    if pairs is None:
        return [1] * one_way.classes.count
    held = one_way.totals / pairs.typical_sigma
    return [int(np.clip((h - Components.first_component) / Components.next_component, 1, most)) for h in held]


class TablesMechanism(Mechanism):
    """See the top of this file."""

    name = "tables"
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

    def release(self, curator: CuratorLike, plan: TablesPlan, progress: Callable[[str], None]) -> TableMixture:
        """See `Mechanism`."""
        return release_tables(curator, plan, progress)

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
