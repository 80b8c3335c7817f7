"""What only three columns tell together, where there is no target: found by their parities, then counted.

Every table of two columns may look like chance where a third decides. One signed product for each three columns shows
it for a very small part of the budget, held against what the model of all pairs expects. What stands out is counted as
a table of three columns; where nothing does, the rest of the budget goes to the pairs, which are counted once more.
"""

import itertools
import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from sfumato.errors import BundleError
from sfumato.fitting.mechanisms.counts.merging import group_rare, merge_to
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables, TripleTable, relevance
from sfumato.fitting.mechanisms.tables.plan import TablesPlan
from sfumato.fitting.mechanisms.tables.screening import FEWEST_COLUMNS, signs_of
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.budget import noise_scale
from sfumato.trusted.measurement import CuratorLike, Measurement
from sfumato.trusted.statistics import Cells, Parities
from sfumato.trusted.statistics.parities import MOST_SETS

Triple = tuple[str, ...]


class Tuning(TuningConstants, group="tables.triples"):
    """See `sfumato.fitting.tuning`."""

    false = 0.02  # sets that stand out by chance, in the mean of one screen
    many = 30  # sets from which on their own spread tells how far a fit may be off
    strength = 0.15  # share of the records by which a parity must differ from what is expected to be worth a table
    most_kept = 4
    pool = 10_000  # synthetic records by which parities are expected
    fewest_levels = 2  # cells of a column in a table of three
    most_levels = 8
    holds = 2.0  # deviations of noise that an average cell holds


def parities_of(one_way: OneWays, tied: Collection[str]) -> Parities:
    """What to ask: every three columns; of very many columns those that vary most.

    A `tied` column is told by its parent, and is left out if enough others are there.
    """
    signed = {name: column for name, column in one_way.columns.items() if column.grid.size > 1}
    untied = {name: column for name, column in signed.items() if name not in tied}
    signed = untied if len(untied) >= FEWEST_COLUMNS else signed
    names = sorted(signed, key=lambda name: -relevance(signed[name]))
    while math.comb(len(names), FEWEST_COLUMNS) > MOST_SETS:
        names.pop()
    kept = [name for name in signed if name in set(names)]
    sets = tuple(itertools.combinations(kept, FEWEST_COLUMNS))
    return Parities({name: signs_of(signed[name]) for name in kept}, sets, None)


def surprising(answer: Measurement, mixture: TableMixture, size: float) -> tuple[Triple, ...]:
    """The sets whose parity the model does not expect, the farthest off first."""
    asked = answer.statistic
    if not isinstance(asked, Parities):
        raise TypeError("a screen is made of parities only")
    pool = mixture.pool(Tuning.pool, public_rng(4))
    expected = asked(pool) * (size / pool.rows)
    off = np.abs(answer.values - expected)
    noise = math.sqrt(answer.sigma**2 + size + size**2 / pool.rows)
    if len(off) >= Tuning.many:  # most sets are of no matter, so that what they are off is noise or a loose fit
        noise = max(noise, float(np.median(off)) / ndtri(0.75))
    limit = max(-ndtri(Tuning.false / len(asked.sets) / 2) * noise, Tuning.strength * size)
    order = np.argsort(-off, kind="stable")[: Tuning.most_kept]
    return tuple(asked.sets[place] for place in order if off[place] > limit)


def question_of(one_way: OneWays, triples: tuple[Triple, ...], adjacency: Adjacency, mu: float) -> Cells:
    """The tables of three columns, on cells as fine as their noise allows."""
    sigma = noise_scale(Cells(triples, {}, None).sensitivity(adjacency), mu)
    shown = (one_way.size / (Tuning.holds * sigma)) ** (1 / 3)
    levels = int(np.clip(shown, Tuning.fewest_levels, Tuning.most_levels))
    columns = {name: one_way.columns[name] for triple in triples for name in triple}
    grids = {name: column.grid.merge(_coarse(column, levels)[column.groups]) for name, column in columns.items()}
    return Cells(triples, grids, None)


def _coarse(column: OneWay, levels: int) -> IntArray:
    """The coarse cell of each group: neighbours joined, or the largest categories alone; missing stays alone."""
    n = column.ordered
    if n == 0:
        return group_rare(column.grouped.sum(axis=1), math.sqrt(column.variance.mean()), levels)
    groups = merge_to(column.grouped[:n], column.variance[:n], column.widths[:n].astype(np.int64), levels)
    return np.append(groups, np.arange(len(column.grouped) - n) + groups.max() + 1)


def tables_of(answer: Measurement, one_way: OneWays, asked: Cells) -> tuple[TripleTable, ...]:
    """The tables of an answer to this question."""
    coarse = {name: _cells_of_groups(one_way.columns[name], asked, name) for name in asked.grids}
    found = asked.split(answer.values.astype(float)).items()
    return tuple(
        TripleTable(names, {name: coarse[name] for name in names}, table, answer.sigma) for names, table in found
    )


def _cells_of_groups(column: OneWay, asked: Cells, name: str) -> IntArray:
    """The coarse cell of each group of a column, from the grid of codes."""
    starts = np.array(column.grid.starts)[np.unique(np.array(column.grid.cells), return_index=True)[1]]
    cells = asked.grids[name].cells_of(starts.astype(np.int32)).astype(np.int64)
    return cells[np.unique(column.groups, return_index=True)[1]]


def pairs_again(pairs: PairTables) -> Cells:
    """The question of all pairs once more, with the weights that they had."""
    least = min(pairs.sigma.values())
    weights = tuple(least / pairs.sigma[pair] for pair in pairs.tables)
    named = {name for pair in pairs.tables for name in pair}
    return Cells(tuple(pairs.tables), {name: pairs.grids[name] for name in pairs.grids if name in named}, None, weights)


def _counted_again(pairs: PairTables, answer: Measurement, asked: Cells) -> PairTables:
    """The pairs after a second answer to the same question, each table by the precision of the two."""
    tables, sigma = {}, {}
    weights = asked.weights or (1.0,) * len(asked.tables)
    split = asked.split(answer.values.astype(float)).values()
    for (pair, first), second, weight in zip(pairs.tables.items(), split, weights, strict=True):
        one, other = pairs.sigma[pair] ** -2, (answer.sigma / weight) ** -2
        tables[pair] = (one * first + other * second.reshape(first.shape)) / (one + other)
        sigma[pair] = (one + other) ** -0.5
    return replace(pairs, tables=tables, sigma=sigma)


def measure_triples(
    curator: CuratorLike, plan: TablesPlan, one_way: OneWays, pairs: PairTables, expected: TableMixture
) -> list[Measurement]:
    """Screen all threes, then count those that stand out, or the pairs once more."""
    screen, rest = plan.mu_triples
    answer = curator.measure(parities_of(one_way, pairs.ties), screen)
    surprises = surprising(answer, expected, one_way.size)
    found = tuple(names for names in surprises if not pairs.ties.keys() & set(names))
    asked = question_of(one_way, found, plan.adjacency, rest) if found else pairs_again(pairs)
    return [answer, curator.measure(asked, rest)]


def add_answers(pairs: PairTables, one_way: OneWays, answers: list[Measurement]) -> PairTables:
    """The tables with what was asked on: those of three columns, or the pairs as counted twice."""
    asked = answers[-1].statistic
    if not isinstance(asked, Cells):
        raise BundleError("the last measurement is no table; use the version that made the bundle")
    if all(len(names) == FEWEST_COLUMNS for names in asked.tables):
        return replace(pairs, triples=tables_of(answers[-1], one_way, asked))
    if asked.tables != tuple(pairs.tables):
        raise BundleError("the pairs were counted otherwise the first time; use the version that made the bundle")
    return _counted_again(pairs, answers[-1], asked)
