"""From noisy counts to what a generator is fitted to."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.fitting.generators.evidence import Column, Evidence, Histograms, Linear, Pairs, Waves
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.framework.embedding import Embedded
from sfumato.fitting.mechanisms.slices.directions import AlongDirections
from sfumato.fitting.mechanisms.tables.approximation import evidence
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.measurement import Measurement


class Tuning(TuningConstants, group="retraining.evidence"):
    """See `sfumato.fitting.tuning`."""

    prior = 160.0  # noise alone should make no two columns depend on each other


@dataclass(frozen=True)
class TrainingData:
    """What was released: the grids of the plan, the axes, and the evidence; none where there is but a target.

    Pairs and gradients of the target, where there are any, serve predictions. `adapt` adds to a model of the records
    what a release tells of the target; None: a labeller from pairs and gradients.
    """

    plan: CountsPlan
    one_way: OneWays
    evidence: Evidence | None
    pairs: PairTables | None = None
    gradients: tuple[Measurement, ...] = ()
    adapt: Callable[[TableMixture], TableMixture] | None = None


def evidence_of(
    one_way: OneWays, pairs: PairTables | None, along: AlongDirections | None, embedded: Embedded | None = None
) -> Evidence:
    """Tables of one and two columns, histograms along directions and an embedding, where there are any."""
    seen, size, classes = evidence(one_way, pairs), one_way.size, one_way.classes.count
    columns = {
        name: Column(
            column.grid, column.groups, column.inside, np.sqrt(column.variance * classes) / size, column.ordered
        )
        for name, column in one_way.columns.items()
    }
    marginals = np.concatenate([column.theta for column in one_way.columns.values()], axis=1)
    precision = np.broadcast_to(seen.one_way_precision, seen.one_way.shape)
    return Evidence(
        columns,
        one_way.totals,
        marginals,
        Tuning.prior,
        (Linear(None, seen.one_way, precision),),
        None if pairs is None else Pairs(seen.coarse.matrix, seen.pairs, seen.pair_precision),
        None if along is None else histograms_of(along, one_way),
        None if embedded is None else waves_of(embedded, one_way),
    )


def histograms_of(along: AlongDirections, one_way: OneWays) -> Histograms:
    """On the scale of probabilities."""
    size = one_way.size
    return Histograms(along.places, along.ends, along.outer, along.counts / size, (along.sigma / size) ** 2)


def waves_of(embedded: Embedded, one_way: OneWays) -> Waves:
    """On the scale of probabilities. Sampling adds the variance of so many records on a circle."""
    size = one_way.size
    variance = (embedded.sigma / size) ** 2 + one_way.totals / (2 * size**2)
    return Waves(embedded.angles, embedded.sums.T / size, 1 / variance[:, None])
