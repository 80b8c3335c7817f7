"""From what came through the door to what a generator is fitted to."""

import numpy as np

from sfumato.fitting.generators.evidence import Column, Evidence, Histograms, Linear, Pairs
from sfumato.fitting.mechanisms.slices.directions import AlongDirections
from sfumato.fitting.mechanisms.tables.approximation import evidence
from sfumato.fitting.mechanisms.tables.one_way import OneWays
from sfumato.fitting.mechanisms.tables.pairs import PairTables

_PRIOR = 160.0  # noise alone should make no two columns depend on each other


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
        _PRIOR,
        (Linear(None, seen.one_way, precision),),
        None if pairs is None else Pairs(seen.coarse, seen.pairs, seen.pair_precision),
        None
        if along is None
        else Histograms(along.places, along.ends, along.outer, along.counts / size, (along.sigma / size) ** 2),
    )
