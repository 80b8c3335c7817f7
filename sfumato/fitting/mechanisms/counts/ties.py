"""Which categories are functions of another, by the released tables. Post-processing."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from sfumato.fitting.mechanisms.counts.functions import Functions, families, from_root, learn_function
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import Pair, PairTables
from sfumato.fitting.models.table_mixture.ties import Tie, function_table
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray


class Tuning(TuningConstants, group="counts.ties"):
    """See `sfumato.fitting.tuning`."""

    off = 0.02  # share of the records away from the likeliest child of their parent, up to which it is a function
    sure = 2.5  # deviations of that share that noise explains
    known_to = 0.03  # deviation of that share above which nothing is seen
    of_others = 0.2  # both at most, of the records not of the largest child: a skewed one is no function of everything
    chance = 0.01  # that noise alone makes a cell of a table stand out
    standing_out = 0.01  # share of the records that cells away from the likeliest child hold that stand out
    there = 3.0  # deviations above none from which a child is possible
    fewest = 3  # groups of a parent
    held = 0.8  # share of the records whose parent stands alone
    most_cells = 1 << 20  # of parent by child


@dataclass(frozen=True, eq=False)
class Edge:
    """A child that seems to be a function of a parent; `off`: how much of it is not."""

    off: float
    parent: str
    child: str
    table: FloatArray  # probability of the child's groups given those of the parent


def add_ties(functions: Functions, one_way: OneWays, pairs: PairTables, ruled: Collection[str] = ()) -> PairTables:
    """The tables with the ties that they show, and with the functions that the schema names.

    What is drawn from another column cannot keep rules of its own, so that no column is tied that is `ruled`. A parent
    is nobody's child and a child has one parent. The parent with most children comes first, then the surest.
    """
    ties = _functions(functions, one_way, pairs)
    related = families(functions)
    edges = [
        edge
        for pair in pairs.tables
        for edge in _edges(one_way, pairs, pair)
        if edge.child not in related and edge.child not in ruled and edge.parent not in ties
    ]
    children = {edge.parent: sum(one.parent == edge.parent for one in edges) for edge in edges}
    for edge in sorted(edges, key=lambda edge: (-children[edge.parent], edge.off)):
        parents = {tie.parent for tie in ties.values()}
        if edge.child not in parents and not {edge.child, edge.parent} & ties.keys():
            ties[edge.child] = Tie(edge.parent, _of_cells(edge, one_way))
    return replace(pairs, ties=ties)


def _functions(functions: Functions, one_way: OneWays, pairs: PairTables) -> dict[str, Tie]:
    learnt = {}
    for child, parent in functions:
        counts = [one_way.columns[name].counts.sum(axis=1) for name in (parent, child)]
        learnt[child] = learn_function(pairs.functions[child, parent], pairs.sigma_of_functions, *counts)
    return {
        child: Tie(root, function_table(to, one_way.columns[child].grid.size))
        for child, (root, to) in from_root(functions, learnt).items()
    }


def _of_cells(edge: Edge, one_way: OneWays) -> FloatArray:
    parent, child = one_way.columns[edge.parent], one_way.columns[edge.child]
    table: FloatArray = edge.table[parent.groups][:, child.groups] * child.inside
    made: FloatArray = table / table.sum(axis=1, keepdims=True)
    return made


def _edges(one_way: OneWays, pairs: PairTables, pair: Pair) -> list[Edge]:
    table, sd = pairs.tables[pair].sum(axis=0), pairs.sigma[pair] * math.sqrt(one_way.classes.count)
    columns = [one_way.columns[name] for name in pair]
    whole = all(len(one_way.columns[name].grouped) == pairs.coarse[name].max() + 1 for name in pair)
    if not whole or any(column.ordered for column in columns):
        return []
    if columns[0].grid.size * columns[1].grid.size > Tuning.most_cells:
        return []
    found = (_edge(one_way, pair[0], pair[1], table, sd), _edge(one_way, pair[1], pair[0], table.T, sd))
    return [edge for edge in found if edge is not None]


def _edge(one_way: OneWays, parent: str, child: str, table: FloatArray, sd: float) -> Edge | None:
    """The edge from parent to child (a row for each group of the parent), if the table looks like that of a function.

    Only modes are added up, a cell for each row, so that the share of the records off them is known well.
    """
    column, size = one_way.columns[parent], one_way.size
    totals, alone = _counts(column), np.bincount(column.groups) == 1  # what is rare together may well differ
    held = size - float(totals[~alone].sum())
    if table.shape[1] < 2 or len(table) < max(Tuning.fewest, table.shape[1]) or held < Tuning.held * size:
        return None
    of_rare = float(column.variance[~alone].sum()) * one_way.classes.count
    known_to = math.sqrt(alone.sum() * sd**2 + of_rare) / held
    off = 1 - float(table[alone].max(axis=1).sum()) / held
    others = Tuning.of_others * (1 - float(_counts(one_way.columns[child]).max()) / size)
    limit = min(max(Tuning.off, Tuning.sure * known_to), others)
    tends = _standing_out(table[alone], sd) > Tuning.standing_out * size
    if known_to > min(Tuning.known_to, others) or off > limit or tends:
        return None
    return Edge(off, parent, child, _conditional(table, sd, totals))


def _counts(column: OneWay) -> FloatArray:
    counts: FloatArray = np.maximum(column.grouped.sum(axis=1), 1.0)
    return counts


def _standing_out(table: FloatArray, sd: float) -> float:
    """Records in cells away from the modes that stand out of the noise: a function has none, a mere tendency has."""
    away = table.copy()
    away[np.arange(len(table)), table.argmax(axis=1)] = 0
    return float(away[away >= -float(ndtri(Tuning.chance / table.size)) * sd].sum())


def _conditional(table: FloatArray, sd: float, totals: FloatArray) -> FloatArray:
    """The probability of the child given the parent: what stands out, or else the likeliest; a hair of all for each."""
    kept = np.where(table >= Tuning.there * sd, table, 0.0)
    none = ~kept.any(axis=1)
    kept[none, table[none].argmax(axis=1)] = 1.0
    positive = table.clip(0).sum(axis=0)
    hair = 1 / (totals + 1)[:, None]
    made: FloatArray = (1 - hair) * kept / kept.sum(axis=1, keepdims=True) + hair * positive / positive.sum()
    return made
