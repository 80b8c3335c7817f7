"""Raking: factors that give a distribution over allowed combinations the marginals that were seen. Post-processing."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import BoolArray, FloatArray, IntArray


class Tuning(TuningConstants, group="tables.raking"):
    """See `sfumato.fitting.tuning`."""

    sweeps = 40
    most_moved = 100.0  # by which a sweep moves a factor: noisy marginals may contradict the rules


_LEAST, _FURTHEST = 1e-300, 1e6  # of a mass that is not 0, of a factor from 1


@dataclass(frozen=True, eq=False)
class Factors:
    """The mass of every box in each class (classes x boxes), and by column what multiplies its marginal there."""

    mass: FloatArray
    factors: Mapping[str, FloatArray]


@dataclass(eq=False)
class _Column:
    """A column by its kinds of cells, which the same boxes hold."""

    held: FloatArray  # boxes x kinds
    seen: FloatArray  # classes x kinds
    now: FloatArray  # the marginal times the factor

    @property
    def inside(self) -> FloatArray:
        """What each box leaves of it (classes x boxes)."""
        return self.now @ self.held.T

    def move(self, mass: FloatArray) -> None:
        """Towards the marginal that was seen, where boxes have these masses."""
        inside = self.inside
        share = np.divide(mass, inside, out=np.zeros_like(mass), where=inside > 0)
        found = self.now * (share @ self.held)
        moved = np.divide(self.seen, found, out=np.ones_like(found), where=found > 0)
        self.now *= np.clip(moved, 1 / Tuning.most_moved, Tuning.most_moved)
        self.now /= self.now.sum(axis=1, keepdims=True)


def rake(columns: Mapping[str, tuple[BoolArray, IntArray, FloatArray]]) -> Factors:
    """The distribution of most entropy inside the boxes that has the marginals seen, by iterative proportional fitting.

    columns   what boxes hold of each (boxes x cells), the kind of each cell, its marginal (classes x cells)
    """
    by_kind = {name: _by_kind(*one) for name, one in columns.items()}
    for _ in range(Tuning.sweeps):
        for column in by_kind.values():
            column.move(_masses(by_kind))
    factors = {}
    for name, column in by_kind.items():
        factor = np.divide(column.now, column.seen, out=np.ones_like(column.now), where=column.seen > 0)
        factors[name] = np.clip(factor, 1 / _FURTHEST, _FURTHEST)[:, columns[name][1]]
    return Factors(_masses(by_kind), factors)


def _by_kind(held: BoolArray, kinds: IntArray, seen: FloatArray) -> _Column:
    first = np.unique(kinds, return_index=True)[1]
    summed = np.array([np.bincount(kinds, weights=row) for row in seen])
    return _Column(held[:, first].astype(np.float64), summed, summed.copy())


def _masses(columns: Mapping[str, _Column]) -> FloatArray:
    """The mass of every box in each class; zeros where a class fits into none."""
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.sum([np.log(column.inside) for column in columns.values()], axis=0)
    possible, top = np.isfinite(logs), np.max(logs, axis=1, keepdims=True)
    mass = np.where(possible, np.maximum(np.exp(logs - np.where(np.isfinite(top), top, 0.0)), _LEAST), 0.0)
    mass /= np.maximum(mass.sum(axis=1, keepdims=True), _LEAST)
    return mass


def rake_rows(start: FloatArray, weights: FloatArray, seen: FloatArray) -> FloatArray:
    """Distributions (rows x cells) that are 0 where `start` is, and by the rows' weights add up to what was seen.

    As nearly as the zeros allow: raking ends with the rows.
    """
    rows: FloatArray = start / start.sum(axis=1, keepdims=True)
    share = np.maximum(weights / weights.sum(), _LEAST)
    for _ in range(Tuning.sweeps if rows.shape[1] > 1 else 0):
        found = share @ rows
        rows = rows * np.divide(seen, found, out=np.ones_like(found), where=found > 0)
        rows /= rows.sum(axis=1, keepdims=True)
    return rows
