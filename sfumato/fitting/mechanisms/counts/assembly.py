"""From components over the groups of every column to a mixture over its codes."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from sfumato.fitting.mechanisms.counts.grids import is_long
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.models.table_mixture.code_weights import CodeWeights
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.fitting.models.table_mixture.ties import Tie, tie_columns
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import Grid


class Tuning(TuningConstants, group="counts.assembly"):
    """See `sfumato.fitting.tuning`."""

    seen = 2.0  # deviations of their noise that the cells of a tail must hold together to count
    seen_alone = 3.0  # that one of them must hold
    most_unseen = 0.01  # share of the records that cells hold at most that do not count, whatever the noise
    least_share = 1e-4  # of its probability that any cell keeps: nothing that the schema allows is ever excluded
    least_left = 0.5  # of a component that the other cells must hold


def assemble_mixture(
    plan: CountsPlan,
    one_way: OneWays,
    weights: FloatArray,
    thetas: Sequence[FloatArray],
    owner: IntArray,
    settings: Mapping[str, Any],
    target: FloatArray | None = None,
    ties: Mapping[str, Tie] = MappingProxyType({}),
) -> TableMixture:
    """The mixture over the codes of every column from components over its groups (theta by column), and their class.

    target   that of the target over its cells; None: as it was seen inside each component's class
    ties     of columns that are drawn from another, by their cells, whatever their theta
    """
    classes, size = one_way.classes, one_way.size
    columns = {}
    for (name, column), theta in zip(one_way.columns.items(), thetas, strict=True):
        noise = (np.sqrt(column.variance * classes.count) / size)[column.groups]
        cells = theta[:, column.groups] * column.inside
        if not column.ordered:
            noise = noise * column.inside  # a rare category shares the noise of its group
        if is_long(plan.codes[name]):
            cells = without_unseen_tails(cells, column)
        columns[name] = pieces_of(column.grid, column.groups, noise, cells, column.weights)
    if plan.target is not None:
        noise = np.full(len(classes.groups), one_way.deviation / size)
        theta = np.where(classes.groups == owner[:, None], classes.inside, 0.0) if target is None else target
        columns[plan.target] = pieces_of(plan.grids[plan.target], classes.groups, noise, theta, classes.weights)
    ordered = {name: columns[name] for name in plan.codes}
    tied = {child: _of_pieces(tie, one_way.columns[tie.parent], one_way.columns[child]) for child, tie in ties.items()}
    return TableMixture(weights, tie_columns(ordered, tied), size, settings=settings, ties=tied)


def _of_pieces(tie: Tie, parent: OneWay, child: OneWay) -> Tie:
    return Tie(tie.parent, tie.table[np.array(parent.grid.cells)][:, np.array(child.grid.cells)])


def without_unseen_tails(theta: FloatArray, column: OneWay) -> FloatArray:
    """The distribution over the cells of a column with next to nothing in tails where only noise was seen.

    Noise in cells that hold nothing is positive in some and negative in others; a probability cannot be negative, so
    that the cells together would hold too much. Where bounds are wide they reach far from all values, and a few records
    of noise would move every mean.
    """
    ordered = column.groups < column.ordered
    counts, sigma = column.counts.sum(axis=1)[ordered], column.sigma * np.sqrt(column.counts.shape[1])
    size = float(counts.sum())
    below, above = unseen_tail(counts, sigma, size), unseen_tail(counts[::-1], sigma, size)
    if below + above >= len(counts):
        return theta
    share = np.ones(len(ordered))
    share[np.flatnonzero(ordered)[:below]] = share[np.flatnonzero(ordered)[len(counts) - above :]] = Tuning.least_share
    kept = theta * share
    left = kept.sum(axis=1, keepdims=True)
    return np.where(left > Tuning.least_left, kept / np.maximum(left, Tuning.least_left), theta)


def unseen_tail(counts: FloatArray, sigma: float, size: float) -> int:
    """How many cells from the first on hold nothing that their noise does not explain, alone or with those before.

    And no more than a small share of all records.
    """
    most = max(Tuning.most_unseen * size, 0.0)
    together = np.minimum(Tuning.seen * sigma * np.sqrt(np.arange(1, len(counts) + 1)), most)
    seen = (np.cumsum(counts) > together) | (counts > min(Tuning.seen_alone * sigma, most))
    return int(np.argmax(np.append(seen, True)))


def pieces_of(
    grid: Grid, groups: IntArray, noise: FloatArray, theta: FloatArray, weights: CodeWeights | None
) -> Pieces:
    """The distribution over a grid each of whose cells is one run of codes, in the order of the codes.

    `noise` is of each cell.
    """
    cells = np.array(grid.cells)
    starts = np.array(grid.starts)
    stops = np.append(starts[1:], grid.codes)
    return Pieces(starts, stops, groups[cells], noise[cells], theta[:, cells], weights)
