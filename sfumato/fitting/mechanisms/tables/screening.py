"""Screen all sets of a few columns for what they tell together of the target, and the mixture does not know.

The target may be a parity: then no column tells anything of it, nor do any two. One signed product for each set shows
it, for a very small part of the budget; what stands out becomes a feature of the labeller.
"""

import itertools
import math

import numpy as np
from scipy.special import chdtri

from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import relevance
from sfumato.fitting.mechanisms.tables.sampling import asked_of
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.feature_maps import Features, Grid, Lookup, Softmax
from sfumato.trusted.feature_maps.features import DIRECTION_UNIT, VALUE_UNIT
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import Products
from sfumato.trusted.statistics.products import MOST_SETS


class Tuning(TuningConstants, group="tables.screening"):
    """See `sfumato.fitting.tuning`."""

    most_columns = 5  # of a set
    false = 0.02  # sets that stand out by chance, in the mean of one screen
    most_kept = 10


FEWEST_COLUMNS = 3
"""Of a set: what two columns tell is in their table."""


def products_of(one_way: OneWays, model: Softmax, target: str, grid: Grid) -> Products:
    """What to ask: every set of three columns, and of more as long as they are few.

    Of very many columns those that tell most of the target by themselves.
    """
    signed = {name: column for name, column in one_way.columns.items() if column.grid.size > 1}
    told = {name: relevance(column) for name, column in signed.items()}
    names = sorted(signed, key=lambda name: -told[name])
    while math.comb(len(names), FEWEST_COLUMNS) > MOST_SETS:
        names.pop()
    names = [name for name in signed if name in set(names)]
    sets: list[tuple[str, ...]] = []
    for columns in range(FEWEST_COLUMNS, Tuning.most_columns + 1):
        if len(sets) + math.comb(len(names), columns) <= MOST_SETS:
            sets += itertools.combinations(names, columns)
    return Products({name: signs_of(signed[name]) for name in names}, tuple(sets), model, target, grid)


def signs_of(column: OneWay) -> Grid:
    """Two halves of about equal count: either side of the median, or categories dealt out, the largest first."""
    held = column.counts.sum(axis=1).clip(0) + 1e-9
    if column.ordered:
        middle = np.cumsum(held) - held / 2
        above = int(np.clip((middle < held.sum() / 2).sum(), 1, len(held) - 1))
        return column.grid.merge((np.arange(len(held)) >= above).astype(np.int64))
    side, sums = np.zeros(len(held), dtype=np.int64), [0.0, 0.0]
    for cell in np.argsort(-held, kind="stable"):
        side[cell] = int(sums[1] < sums[0])
        sums[side[cell]] += held[cell]
    return column.grid.merge(side)


def standing_out(answer: Measurement) -> tuple[Lookup, ...]:
    """The products that chance does not explain, as features: the value is 1 or -1."""
    asked, _ = asked_of(answer)
    if not isinstance(asked, Products):
        raise TypeError("a screen is made of products only")
    length = ((answer.values / answer.sigma).reshape(len(asked.sets), -1) ** 2).sum(axis=1)
    limit = chdtri(asked.grid.size - 1, Tuning.false / len(asked.sets))
    kept: IntArray = np.argsort(-length, kind="stable")[: Tuning.most_kept]
    return tuple(_product(asked, asked.sets[place]) for place in kept if length[place] > limit)


def _product(asked: Products, names: tuple[str, ...]) -> Lookup:
    value: FloatArray = np.ones(())
    for _ in names:
        value = np.multiply.outer(value, [-1.0, 1.0])
    values = np.rint(value[None] / VALUE_UNIT).astype(np.int32)
    return Lookup(names, tuple(asked.grids[name] for name in names), values)


def with_products(features: Features, products: tuple[Lookup, ...]) -> Features:
    """The features with one more entry of psi for each product."""
    rows, rank = features.directions.shape
    directions = np.zeros((rows + len(products), rank + len(products)), dtype=np.int32)
    directions[:rows, :rank] = features.directions
    directions[rows:, rank:] = np.eye(len(products)) / DIRECTION_UNIT
    return Features((*features.lookups, *products), directions)
