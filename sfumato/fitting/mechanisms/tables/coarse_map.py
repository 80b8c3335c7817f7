"""How pair tables see the groups of every column: the matrix from groups to coarse cells."""

from collections.abc import Mapping

import numpy as np

from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.models.table_mixture.ties import Tie
from sfumato.trusted.arrays import Float32Array, FloatArray, IntArray


def coarse_map(one_way: OneWays, pairs: PairTables | None, starts: Mapping[str, int], cells: int) -> Float32Array:
    """Groups of all columns x coarse cells: 1 where a group lies in a cell.

    The cells of a tied column are seen by its parent, with the probability that it has given each group of that: its
    tables are evidence on the parent.

    starts   the first coarse cell of each paired column
    cells    of all of them
    """
    offsets = np.cumsum([0, *(len(column.grouped) for column in one_way.columns.values())])
    seen = np.zeros((offsets[-1], cells), dtype=np.float32)
    if pairs is None:
        return seen
    rows = {name: slice(first, last) for name, first, last in zip(one_way.columns, offsets, offsets[1:], strict=False)}
    for name, start in starts.items():
        coarse, tie = pairs.coarse[name], pairs.ties.get(name)
        parent, block = (
            (name, np.eye(coarse.max() + 1)[coarse])
            if tie is None
            else (tie.parent, _seen_by_parent(tie, one_way.columns[tie.parent], one_way.columns[name], coarse))
        )
        seen[rows[parent], start : start + block.shape[1]] = block
    return seen


def _seen_by_parent(tie: Tie, parent: OneWay, child: OneWay, coarse: IntArray) -> FloatArray:
    """Groups of the parent x coarse cells of the child."""
    by_group = sum_groups(parent.inside[:, None] * tie.table, parent.groups)
    return sum_groups(by_group.T, coarse[child.groups]).T
