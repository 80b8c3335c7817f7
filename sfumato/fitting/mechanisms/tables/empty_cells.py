"""Cells of a pair table in which only noise was seen, though its columns by themselves would let expect many records.

A child with a doctorate, a man who is pregnant: what nobody is, is not rare but empty, as far as the counts can tell.
"""

import numpy as np

from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import Pair, PairTables
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import BoolArray, FloatArray


class Tuning(TuningConstants, group="tables.empty_cells"):
    """See `sfumato.fitting.tuning`."""

    expected = 6.0  # deviations of noise that a cell would hold if its columns were independent
    seen = 1.5  # that it holds less than
    surer = 10.0  # times that its count, none, is surer than that of another cell


def empty_cells(one_way: OneWays, pairs: PairTables, pair: Pair) -> BoolArray:
    """The empty cells of a table (classes x cells x cells)."""
    table, sigma = pairs.tables[pair], pairs.sigma[pair]
    one, other = (_coarse_counts(one_way, pairs, name) for name in pair)
    expected = np.einsum("ic,jc->cij", one, other / np.maximum(one_way.totals, 1.0))
    empty: BoolArray = (table < Tuning.seen * sigma) & (expected > Tuning.expected * sigma)
    return empty


def _coarse_counts(one_way: OneWays, pairs: PairTables, name: str) -> FloatArray:
    """The counts of a column by itself in the cells of pair tables (cells x classes)."""
    return sum_groups(one_way.columns[name].grouped, pairs.coarse[name]).clip(0)
