"""Bounds that nobody knows, bought with a part of the budget.

Counts of the records in the cells of public grids, three times, each time one table for every column:
    1. cells that end at plus and minus the powers of two, from 1/16 to 2**40;
    2. and 3. cells of equal width over what was found before.
Each time a column keeps the run of cells that its records fill, and as much again on either side: bounds that are too
wide cost little, bounds that are too narrow cut records. So a column whose values lie around 1000 is found where its
standard deviation is about 1 or more; shift a column that is narrower than that by a public number.

A tenth of mu squared finds the bounds where there are 1000 sqrt(columns) / epsilon records or more. Where there are too
few to stand out from the noise, the bounds stay too wide and the release says little. A cluster far away from the rest
is found if it alone stands out.

Formal guarantees
    The cell of a value follows from comparing it with public numbers, so it is a function of that value alone, and
    `Cells` proves the sensitivity of the counts: the square root of the number of columns. What is asked in the second
    and third question depends on earlier answers; what each may spend is fixed before.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.budget import Budget, epsilon_of
from sfumato.trusted.curator import Curator
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.noise import Noise
from sfumato.trusted.privacy_filter import PrivacyFilter, mu_of_units, units_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Cells

_POWERS = 2.0 ** np.arange(-4, 41)
OCTAVES: FloatArray = np.concatenate((-_POWERS[::-1], _POWERS))
PUBLIC_BOX = (float(OCTAVES[0]), float(OCTAVES[-1]))
_CELLS = 21  # odd, so that 0 is not an end where a column lies around 0
_QUESTIONS = 3
# in standard deviations of the noise of a count
_PRICE = 1.5  # what a cell must hold to be worth another one
_SIGNAL = 5.0  # what a run of cells must hold beyond that, or the bounds stay as they are
_SURE = 5.5  # a cell with more is inside, however far away
_PILE = 3.0  # an end with more stands for values beyond it


@dataclass(frozen=True)
class Purchase:
    """What the bounds may cost, question by question, and what is left for the mixture: fixed by the budget alone."""

    mus: tuple[float, ...]
    rest: Budget

    @classmethod
    def of(cls, budget: Budget, share: float) -> "Purchase":
        """Spend this share of mu squared on bounds.

        Formal guarantees
            The questions and the rest cost no more than the budget, in whole units of mu squared: what was split is
            (epsilon, delta)-differentially private together (Dong, Roth and Su 2019, corollary 3.3).
        """
        *mus, _ = budget.split((*(share / _QUESTIONS,) * _QUESTIONS, 1 - share))
        left = budget.units - sum(map(units_of, mus))
        epsilon = epsilon_of(mu_of_units(left), budget.delta)
        rest = Budget(epsilon, budget.delta)
        while rest.units > left:
            epsilon *= 1 - 2.0**-40
            rest = Budget(epsilon, budget.delta)
        return cls(tuple(mus), rest)

    @property
    def units(self) -> int:
        """What the bounds cost, in units of mu squared."""
        return sum(map(units_of, self.mus))


def estimate_bounds(
    records: FloatArray, purchase: Purchase, adjacency: Adjacency, noise: Noise
) -> tuple[FloatArray, tuple[Measurement, ...]]:
    """Bounds of every column (columns x 2), and the measurements that they follow from."""
    privacy_filter, asked = PrivacyFilter(purchase.units), []
    edges = _first_edges(records.shape[1])
    for mu in purchase.mus:
        asked.append(_count(records, edges, mu, adjacency, privacy_filter, noise))
        box, edges = _narrowed(edges, asked[-1])
    return box, tuple(asked)


def read_bounds(asked: tuple[Measurement, ...]) -> FloatArray:
    """The bounds that measurements once led to: anybody who has them can check."""
    edges = _first_edges(len(asked[0].statistic.columns))
    for measurement in asked:
        box, edges = _narrowed(edges, measurement)
    return box


def _first_edges(columns: int) -> FloatArray:
    return np.tile(OCTAVES, (columns, 1))


def _narrowed(edges: FloatArray, measurement: Measurement) -> tuple[FloatArray, FloatArray]:
    """What a question leaves of every column, and the ends of the cells that the next one counts in."""
    counts = measurement.values.reshape(len(edges), -1)
    box = np.array([_kept(*each, measurement.sigma) for each in zip(edges, counts, strict=True)])
    return box, np.linspace(box[:, 0], box[:, 1], _CELLS + 1, axis=1)


def _count(
    records: FloatArray, edges: FloatArray, mu: float, adjacency: Adjacency, privacy_filter: PrivacyFilter, noise: Noise
) -> Measurement:
    """How many records lie in each cell of each column; beyond the ends they count in the last cell."""
    columns, cells = len(edges), edges.shape[1] - 1
    names = [f"x{place}" for place in range(columns)]
    found = (np.searchsorted(ends[1:-1], values, side="right") for ends, values in zip(edges, records.T, strict=True))
    table = pa.table(dict(zip(names, found, strict=True)))
    column = {"name": f"x{{0..{columns - 1}}}", "type": "integer", "bounds": [0, cells - 1]}
    source = open_source(table, Schema.from_dict({"sfumato": 1, "name": "cells", "columns": [column]}))
    grid = Grid.of_cells(np.arange(cells))
    statistic = Cells(tuple((name,) for name in names), dict.fromkeys(names, grid), None)
    return Curator(source, adjacency, privacy_filter, noise).measure(statistic, mu)


def _kept(edges: FloatArray, counts: IntArray, sigma: float) -> tuple[float, float]:
    """The run of cells that the records fill, three times as wide; all cells where no run stands out from the noise.

    The run has the largest sum of counts, less a price for each cell, so its ends hold more than the noise; a cell that
    is sure to hold records is inside as well.
    """
    before = np.concatenate(([0.0], np.cumsum(counts - _PRICE * sigma)))
    gain = before[1:] - np.minimum.accumulate(before[:-1])
    last = int(gain.argmax())
    if gain[last] < _SIGNAL * sigma:
        return float(edges[0]), float(edges[-1])
    inside = np.append(np.flatnonzero(counts > _SURE * sigma), [before[: last + 1].argmin(), last])
    first, last = int(inside.min()), int(inside.max())
    low, high, every = float(edges[first]), float(edges[last + 1]), float(edges[-1] - edges[0])
    below = every if edges[0] > PUBLIC_BOX[0] and counts[0] > _PILE * sigma else high - low
    above = every if edges[-1] < PUBLIC_BOX[1] and counts[-1] > _PILE * sigma else high - low
    return max(low - below, PUBLIC_BOX[0]), min(high + above, PUBLIC_BOX[1])
