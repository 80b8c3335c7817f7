"""From components over the groups of every column to a mixture over its codes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.fitting.mechanisms.counts.grids import is_long
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.models.table_mixture.code_weights import CodeWeights
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import Grid


class Tuning(TuningConstants, group="counts.assembly"):
    """See `sfumato.fitting.tuning`."""

    faint = 3.0  # deviations of the noise below which a group of a long column may count as empty
    thin = 0.1  # of the density around the records below, under which it does
    typical = 0.25  # of the records lie where density is lower
    least_share = 1e-4  # of its probability that it keeps: nothing that the schema allows is ever excluded
    least_left = 0.5  # of a component that the other groups must hold


def assemble_mixture(
    plan: CountsPlan,
    one_way: OneWays,
    weights: FloatArray,
    thetas: Sequence[FloatArray],
    owner: IntArray,
    settings: Mapping[str, Any],
) -> TableMixture:
    """The mixture over the codes of every column from components over its groups (theta by column), and their class."""
    classes, size = one_way.classes, one_way.size
    columns = {}
    for (name, column), theta in zip(one_way.columns.items(), thetas, strict=True):
        noise = np.sqrt(column.variance * classes.count) / size
        if is_long(plan.codes[name]):
            theta = _calm_faint(theta, column)
        columns[name] = _pieces(
            column.grid, column.groups, noise, theta[:, column.groups] * column.inside, column.weights
        )
    if plan.target is not None:
        noise = np.full(classes.count, one_way.deviation / size)
        theta = np.where(classes.groups == owner[:, None], classes.inside, 0.0)
        columns[plan.target] = _pieces(plan.grids[plan.target], classes.groups, noise, theta, classes.weights)
    ordered = {name: columns[name] for name in plan.codes}
    return TableMixture(weights, ordered, size, settings=settings)


def _calm_faint(theta: FloatArray, column: OneWay) -> FloatArray:
    """The distribution with no more in all faint groups together than was measured in them together.

    Noise in groups that hold next to nothing is positive in some and negative in others; a probability cannot be
    negative, so that the groups together would hold too much. Where bounds are wide they reach far from all values, and
    a few records of noise would move every mean. Their sum is known better: it is kept.
    """
    held, ordered = column.grouped.sum(axis=1), np.arange(len(column.grouped)) < column.ordered
    unsure = held < Tuning.faint * np.sqrt(column.variance * column.grouped.shape[1])
    mass = np.where(ordered, held.clip(0), 0.0)
    density = mass / column.widths
    thinnest = np.argsort(density)
    quarter = np.searchsorted(np.cumsum(mass[thinnest]), Tuning.typical * mass.sum())
    typical = density[thinnest[min(quarter, len(density) - 1)]]
    faint = ordered & unsure & (density < Tuning.thin * typical)
    share = float(np.clip(held[faint].sum() / max(float(mass[faint].sum()), 1.0), Tuning.least_share, 1.0))
    kept = np.where(faint, share * theta, theta)
    left = kept.sum(axis=1, keepdims=True)
    return np.where(left > Tuning.least_left, kept / np.maximum(left, Tuning.least_left), theta)


def _pieces(grid: Grid, groups: IntArray, noise: FloatArray, theta: FloatArray, weights: CodeWeights | None) -> Pieces:
    """The distribution over a grid each of whose cells is one run of codes, in the order of the codes."""
    cells = np.array(grid.cells)
    starts = np.array(grid.starts)
    stops = np.append(starts[1:], grid.codes)
    return Pieces(starts, stops, groups[cells], noise[groups[cells]], theta[:, cells], weights)
