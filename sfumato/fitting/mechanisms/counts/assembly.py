"""From components over the groups of every column to a mixture over its codes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.models.table_mixture.model import Pieces, TableMixture
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import Grid


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
        columns[name] = _pieces(column.grid, column.groups, noise, theta[:, column.groups] * column.inside)
    if plan.target is not None:
        noise = np.full(classes.count, one_way.deviation / size)
        theta = np.where(classes.groups == owner[:, None], classes.inside, 0.0)
        columns[plan.target] = _pieces(plan.grids[plan.target], classes.groups, noise, theta)
    ordered = {name: columns[name] for name in plan.codes}
    return TableMixture(weights, ordered, size, settings=settings)


def _pieces(grid: Grid, groups: IntArray, noise: FloatArray, theta: FloatArray) -> Pieces:
    """The distribution over a grid each of whose cells is one run of codes, in the order of the codes."""
    cells = np.array(grid.cells)
    starts = np.array(grid.starts)
    stops = np.append(starts[1:], grid.codes)
    return Pieces(starts, stops, groups[cells], noise[groups[cells]], theta[:, cells])
