"""From noisy counts to what a generator is fitted to."""

from dataclasses import dataclass

import numpy as np

from sfumato.fitting.generators.evidence import Column, Evidence, Histograms, Linear, Pairs
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.slices.directions import AlongDirections
from sfumato.fitting.mechanisms.tables.approximation import evidence
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.measurement import Measurement


class Tuning(TuningConstants, group="retraining.evidence"):
    """See `sfumato.fitting.tuning`."""

    prior = 160.0  # noise alone should make no two columns depend on each other


@dataclass(frozen=True)
class TrainingData:
    """What was released: the grids of the plan, the axes, and the evidence; none where there is but a target.

    Pairs and gradients of the target, where there are any, serve predictions.
    """

    plan: CountsPlan
    one_way: OneWays
    evidence: Evidence | None
    pairs: PairTables | None = None
    gradients: tuple[Measurement, ...] = ()


def evidence_of(one_way: OneWays, pairs: PairTables | None, along: AlongDirections | None) -> Evidence:
    """Tables of one and two columns, and histograms along directions where there are any."""
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
        None if pairs is None else Pairs(seen.coarse, seen.pairs, seen.pair_precision),
        None
        if along is None
        else Histograms(along.places, along.ends, along.outer, along.counts / size, (along.sigma / size) ** 2),
    )
