"""A mixture of products, class by class, and how far it is off from noisy tables.

    p(x, y = c) = sum over components k of class c of  pi_k prod_j theta_kj[x_j]

theta lives on the groups of each column; the pair tables see it through the 0/1 map G from groups to coarse cells.
With A = theta G the pair tables of a class are A' diag(pi) A, so that error and gradient are a few matrix products.
The error is that of a Gaussian measurement: squared residuals over their variance; and a Dirichlet prior draws every
component to the marginals of its class, so that noise alone makes no two columns depend on each other.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from sfumato.fitting.mechanisms.tables.coarse_map import CoarseMap
from sfumato.fitting.mechanisms.tables.families import Families
from sfumato.fitting.mechanisms.tables.triple_evidence import TripleEvidence
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import BoolArray, Float32Array, IntArray
from sfumato.trusted.encoding.scratch import scratch_array


class Tuning(TuningConstants, group="tables.approximation"):
    """See `sfumato.fitting.tuning`."""

    jitter = 0.8  # spread of the components' logits around the marginals at the start
    prior = 2.0  # records of the marginals that the Dirichlet prior gives every component
    taken_off = 4.0  # times what the prior gave every component that is taken off in the end
    most_taken_off = 0.05  # of the marginals: more would leave the noise of small components
    left = 1e-3  # of a probability that is left at least: nothing that the schema allows is ever excluded
    rate = 0.3
    warm = 0.1
    fade = 0.9  # Adam's memories
    fade_square = 0.95


_TINY = np.finfo(np.float32).tiny


class WholeRecords(Protocol):
    """What was measured of all columns together, as far as a mixture of products can be held against it."""

    @property
    def sigma(self) -> float:
        """The noise of one answer, in records."""

    def add_error(
        self,
        theta: Float32Array,
        pi: Float32Array,
        member: Float32Array,
        by_theta: Float32Array,
        by_pi: Float32Array,
    ) -> float:
        """Half the squared residuals by their precision; adds its gradient to the last two arrays.

        member   components x classes, 1 where a component is of a class
        """


@dataclass(frozen=True)
class Evidence:
    """All noisy tables on the scale of probabilities, stacked.

    one_way   groups of all columns x classes, with the precision (one over variance) of each row
    coarse    0/1 map from groups to coarse cells; columns of no pair have none, so that wide tables cost no squares
    pairs     classes x coarse cells x coarse cells, symmetric, with the precision of each entry; 0: not measured
    held      which groups of all columns these are; others are left as they start
    """

    one_way: Float32Array
    one_way_precision: Float32Array
    coarse: CoarseMap
    pairs: Float32Array
    pair_precision: Float32Array
    offsets: IntArray  # where the groups of each column start
    held: BoolArray
    triples: tuple[TripleEvidence, ...] = ()
    whole: WholeRecords | None = None


@dataclass
class ProductMixture:
    """Components with their class, as logits: theta by column (softmax within each), pi over all components."""

    logits: Float32Array  # of components, or families, by groups
    weight_logits: Float32Array
    owner: IntArray  # the class of each component, rising
    marginals: Float32Array  # components x groups: those of their class; 0 where a component gives no probability
    offsets: IntArray
    families: Families | None = None  # where some components have the same logits
    prior: float | None = None  # records of the marginals that draw each component; None: as in `Tuning`

    @cached_property
    def _column(self) -> IntArray:
        return np.repeat(np.arange(len(self.offsets)), np.diff(np.append(self.offsets, self.logits.shape[1])))

    @property
    def theta(self) -> Float32Array:
        """Components x groups of all columns."""
        logits = self.logits if self.families is None else self.families.spread(self.logits)
        theta = _room_like(logits)
        np.subtract(logits, self._spread(np.maximum.reduceat(logits, self.offsets, axis=1)), out=theta)
        np.exp(theta, out=theta)
        theta /= self._spread(np.add.reduceat(theta, self.offsets, axis=1))
        return theta

    def _spread(self, of_columns: Float32Array) -> Float32Array:
        """What a column has, for each of its groups."""
        rows = len(of_columns)
        spread = scratch_array(rows * len(self._column), of_columns.dtype).reshape(rows, -1)
        return of_columns.take(self._column, axis=1, out=spread, mode="clip")

    @property
    def pi(self) -> Float32Array:
        """The weight of each component."""
        e: Float32Array = np.exp(self.weight_logits - self.weight_logits.max())
        pi: Float32Array = e / e.sum()
        return pi

    @property
    def prior_records(self) -> float | Float32Array:
        """Records of the marginals that draw each component; those of a family together have as many as one alone."""
        prior = Tuning.prior if self.prior is None else self.prior
        return prior if self.families is None else prior / self.families.sizes[:, None]

    def error(self, seen: Evidence) -> float:
        """Minus the log-posterior, up to a constant."""
        theta, pi, member = self.theta, self.pi, self.member(seen)
        off = theta.T @ (pi[:, None] * member) - seen.one_way
        total = 0.5 * float((seen.one_way_precision * off**2).sum())
        cells = seen.coarse.cells_of(theta)
        for own, table in zip(self.classes(seen), seen.pairs, strict=True):
            off = _together(cells[own], pi[own]) - table
            total += 0.25 * float((seen.pair_precision * off**2).sum())  # a pair stands on both sides of the diagonal
        nowhere = np.zeros_like(theta), np.zeros_like(pi)
        total += sum(triple.add_error(theta, pi, *nowhere) for triple in seen.triples)
        if seen.whole is not None:
            total += seen.whole.add_error(theta, pi, member, *nowhere)
        total -= float((self.prior_records * self.marginals * np.log(np.maximum(theta, _TINY))).sum())
        if self.families is None:
            return total
        within = np.maximum(self.families.within(pi), _TINY)
        return total - Tuning.prior * float((self.families.shares * np.log(within)).sum())

    def slope(self, seen: Evidence) -> tuple[Float32Array, Float32Array]:
        """The gradient of the error by both kinds of logits."""
        theta, pi, member = self.theta, self.pi, self.member(seen)
        push = seen.one_way_precision * (theta.T @ (pi[:, None] * member) - seen.one_way)
        by_theta = np.matmul(member, push.T, out=_room_like(theta))
        by_pi = np.einsum("kg,kg->k", theta, by_theta)
        by_theta *= pi[:, None]
        cells = seen.coarse.cells_of(theta)
        by_cells = _room_like(cells)
        for own, table in zip(self.classes(seen), seen.pairs, strict=True):
            off = _together(cells[own], pi[own])
            off -= table
            off *= seen.pair_precision
            pushed = np.matmul(cells[own], off, out=by_cells[own])
            by_pi[own] += 0.5 * np.einsum("kc,kc->k", pushed, cells[own])
            pushed *= pi[own, None]
        seen.coarse.add_groups_of(by_cells, by_theta)
        for triple in seen.triples:
            triple.add_error(theta, pi, by_theta, by_pi)
        if seen.whole is not None:
            seen.whole.add_error(theta, pi, member, by_theta, by_pi)
        by_theta *= theta
        moved = self._spread(np.add.reduceat(by_theta, self.offsets, axis=1))
        moved *= theta
        by_theta -= moved
        np.subtract(theta, self.marginals, out=moved)
        moved *= self.prior_records
        by_theta += moved
        by_weights: Float32Array = (pi * (by_pi - pi @ by_pi)).astype(pi.dtype)
        if self.families is None:
            return by_theta, by_weights
        by_weights += Tuning.prior * (self.families.within(pi) - self.families.shares)
        return self.families.gather(by_theta), by_weights

    def member(self, seen: Evidence) -> Float32Array:
        """Components x classes: 1 where a component is of a class."""
        member: Float32Array = (self.owner[:, None] == np.arange(seen.one_way.shape[1])).astype(self.logits.dtype)
        return member

    def classes(self, seen: Evidence) -> list[slice]:
        """Where the components of each class stand."""
        ends = np.searchsorted(self.owner, np.arange(seen.one_way.shape[1] + 1))
        return [slice(*pair) for pair in itertools.pairwise(ends.tolist())]

    def fit(self, seen: Evidence, steps: int) -> None:
        """Adam with a linear warm-up and a cosine to zero.

        On one core: products are so small that a second one gains a fifth, and on a machine that is busy with other
        work each of them would wait for it.
        """
        with threadpool_limits(limits=1, user_api="blas"):
            self._fit(seen, steps)

    def _fit(self, seen: Evidence, steps: int) -> None:
        parameters = (self.logits, self.weight_logits)
        memories = [(np.zeros_like(parameter), np.zeros_like(parameter)) for parameter in parameters]
        for t in range(steps):
            rate = rate_of(t, steps)
            for parameter, slope, (mean, square) in zip(parameters, self.slope(seen), memories, strict=True):
                mean *= Tuning.fade
                mean += np.multiply(slope, 1 - Tuning.fade, out=_room_like(slope))
                slope *= slope
                slope *= 1 - Tuning.fade_square
                square *= Tuning.fade_square
                square += slope
                size = np.sqrt(square, out=slope)
                size *= 1 / math.sqrt(1 - Tuning.fade_square ** (t + 1))
                size += 1e-8
                step = np.divide(mean, size, out=size)
                step *= rate / (1 - Tuning.fade ** (t + 1))
                parameter -= step


def rate_of(t: int, steps: int) -> float:
    """How far step `t` of so many goes: a linear warm-up, then half a cosine to zero."""
    warm = max(1, int(Tuning.warm * steps))
    rate: float = Tuning.rate * min((t + 1) / warm, 0.5 * (1 + np.cos(np.pi * max(0, t - warm) / max(1, steps - warm))))
    return rate


def _together(cells: Float32Array, weight: Float32Array) -> Float32Array:
    """The weighted sum of what components say of every two cells: a matrix by its own transpose, at half the cost."""
    half = np.multiply(np.sqrt(weight)[:, None], cells, out=_room_like(cells))
    width = cells.shape[1]
    together: Float32Array = np.matmul(half.T, half, out=scratch_array(width**2, cells.dtype).reshape(width, width))
    return together


def _room_like(array: Float32Array) -> Float32Array:
    """Without content. Most of a step's time would else be that of getting memory from the system."""
    room: Float32Array = scratch_array(array.size, array.dtype).reshape(array.shape)
    return room
