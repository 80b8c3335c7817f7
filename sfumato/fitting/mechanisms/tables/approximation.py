"""Approximate: the mixture of products that explains the noisy tables best. Post-processing.

    p(x, y = c) = sum over components k of class c of  pi_k prod_j theta_kj[x_j]

theta lives on the groups of each column; the pair tables see it through the 0/1 map G from groups to coarse cells.
With A = theta G the pair tables of a class are A' diag(pi) A, so that error and gradient are a few matrix products. The
error is that of a Gaussian measurement: squared residuals over their variance; and a Dirichlet prior draws every
component to the marginals of its class, so that noise alone makes no two columns depend on each other.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.pairs import PairTables
from sfumato.fitting.mechanisms.tables.coarse_map import coarse_map
from sfumato.fitting.mechanisms.tables.empty_cells import Tuning as Empty
from sfumato.fitting.mechanisms.tables.empty_cells import empty_cells
from sfumato.fitting.mechanisms.tables.families import Families
from sfumato.fitting.mechanisms.tables.start import Start
from sfumato.fitting.mechanisms.tables.triple_evidence import TripleEvidence
from sfumato.fitting.models.table_mixture.ties import family_of
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import Float32Array, FloatArray, IntArray


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
    fade_square = 0.99


_TINY = np.finfo(np.float32).tiny
_STARTS = 100  # the first of the public seeds that are of other starts than the usual


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
    """

    one_way: Float32Array
    one_way_precision: Float32Array
    coarse: Float32Array
    pairs: Float32Array
    pair_precision: Float32Array
    offsets: IntArray  # where the groups of each column start
    triples: tuple[TripleEvidence, ...] = ()
    whole: WholeRecords | None = None


def evidence(one_way: OneWays, pairs: PairTables | None, whole: WholeRecords | None = None) -> Evidence:
    """Stack the tables. Sampling variance is added to that of noise, so that a large budget does not chase counts."""
    columns, size = list(one_way.columns.values()), one_way.size
    offsets = np.cumsum([0, *(len(column.grouped) for column in columns)])
    variance = np.concatenate([c.variance + c.grouped.mean(axis=1).clip(1) for c in columns]) / size**2
    paired = [] if pairs is None else [name for name in one_way.columns if name in set(itertools.chain(*pairs.tables))]
    levels = [] if pairs is None else [int(pairs.coarse[name].max()) + 1 for name in paired]
    starts = dict(zip(paired, np.cumsum([0, *levels]).tolist(), strict=False))
    tables = np.zeros((one_way.classes.count, sum(levels), sum(levels)), dtype=np.float32)
    precision = np.zeros((sum(levels), sum(levels)), dtype=np.float32)
    if pairs is not None:
        for (one, other), table in pairs.tables.items():
            if other in family_of(pairs.ties, one):  # no product, given the component
                continue
            rows = slice(starts[one], starts[one] + table.shape[1])
            across = slice(starts[other], starts[other] + table.shape[2])
            empty = empty_cells(one_way, pairs, (one, other))
            held = np.where(empty, 0.0, table) / size
            tables[:, rows, across], tables[:, across, rows] = held, held.transpose(0, 2, 1)
            surer = np.where(empty.all(axis=0), Empty.surer, 1.0) * (size / pairs.sigma[one, other]) ** 2
            precision[rows, across], precision[across, rows] = surer, surer.T
    coarse = coarse_map(one_way, pairs, starts, sum(levels))
    stacked = np.concatenate([column.grouped for column in columns]) / size
    groups = {name: slice(*ends) for name, *ends in zip(one_way.columns, offsets, offsets[1:], strict=False)}
    triples = () if pairs is None else tuple(TripleEvidence.of(triple, groups, size) for triple in pairs.triples)
    sure = (1 / variance).astype(np.float32)[:, None]
    return Evidence(stacked.astype(np.float32), sure, coarse, tables, precision, offsets[:-1], triples, whole)


@dataclass
class ProductMixture:
    """Components with their class, as logits: theta by column (softmax within each), pi over all components."""

    logits: Float32Array  # of components, or families, by groups
    weight_logits: Float32Array
    owner: IntArray  # the class of each component
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
        column = self._column
        logits = self.logits if self.families is None else self.families.spread(self.logits)
        e = np.exp(logits - np.maximum.reduceat(logits, self.offsets, axis=1)[:, column])
        theta: Float32Array = (e / np.add.reduceat(e, self.offsets, axis=1)[:, column]).astype(np.float32)
        return theta

    @property
    def pi(self) -> Float32Array:
        """The weight of each component."""
        e: Float32Array = np.exp(self.weight_logits - self.weight_logits.max())
        pi: Float32Array = e / e.sum()
        return pi

    @property
    def _prior(self) -> float | Float32Array:
        """Records of the marginals that draw each component; those of a family together have as many as one alone."""
        prior = Tuning.prior if self.prior is None else self.prior
        return prior if self.families is None else prior / self.families.sizes[:, None]

    def error(self, seen: Evidence) -> tuple[float, Float32Array, Float32Array]:
        """Minus the log-posterior up to a constant, and its gradient by both kinds of logits."""
        theta, pi = self.theta, self.pi
        member = (self.owner[:, None] == np.arange(seen.one_way.shape[1])).astype(np.float32)
        off = theta.T @ (pi[:, None] * member) - seen.one_way
        push = seen.one_way_precision * off
        total = 0.5 * float((push * off).sum())
        by_class = (member @ push.T).astype(np.float32)
        by_theta, by_pi = pi[:, None] * by_class, (theta * by_class).sum(axis=1)
        cells = theta @ seen.coarse
        by_cells = np.zeros_like(cells)
        for c, table in enumerate(seen.pairs):
            own = self.owner == c
            mine, weight = cells[own], pi[own, None]
            off = mine.T @ (weight * mine) - table
            push = seen.pair_precision * off
            total += 0.25 * float((push * off).sum())  # every pair stands on both sides of the diagonal
            pushed = mine @ push
            by_cells[own] = weight * pushed
            by_pi[own] += 0.5 * (pushed * mine).sum(axis=1)
        by_theta += by_cells @ seen.coarse.T
        total += sum(triple.add_error(theta, pi, by_theta, by_pi) for triple in seen.triples)
        if seen.whole is not None:
            total += seen.whole.add_error(theta, pi, member, by_theta, by_pi)
        inner = theta * by_theta
        by_logits = inner - theta * np.add.reduceat(inner, self.offsets, axis=1)[:, self._column]
        by_logits += self._prior * (theta - self.marginals)
        total -= float((self._prior * self.marginals * np.log(np.maximum(theta, _TINY))).sum())
        by_weights = pi * (by_pi - pi @ by_pi)
        if self.families is None:
            return total, by_logits, by_weights
        within, shares = self.families.within(pi), self.families.shares
        total -= Tuning.prior * float((shares * np.log(np.maximum(within, _TINY))).sum())
        return total, self.families.gather(by_logits), by_weights + Tuning.prior * (within - shares)

    def fit(self, seen: Evidence, steps: int) -> None:
        """Adam with a linear warm-up and a cosine to zero."""
        warm = max(1, int(Tuning.warm * steps))
        parameters = (self.logits, self.weight_logits)
        memories = [(np.zeros_like(parameter), np.zeros_like(parameter)) for parameter in parameters]
        for t in range(steps):
            _, *gradients = self.error(seen)
            rate = Tuning.rate * min(
                (t + 1) / warm, 0.5 * (1 + np.cos(np.pi * max(0, t - warm) / max(1, steps - warm)))
            )
            for parameter, gradient, (mean, square) in zip(parameters, gradients, memories, strict=True):
                mean += (1 - Tuning.fade) * (gradient - mean)
                square += (1 - Tuning.fade_square) * (gradient * gradient - square)
                size = np.sqrt(square / (1 - Tuning.fade_square ** (t + 1))) + 1e-8
                parameter -= (rate / (1 - Tuning.fade ** (t + 1)) * mean / size).astype(np.float32)


def _without_prior(mixture: ProductMixture, held: FloatArray) -> FloatArray:
    """Theta less what the prior gave it, some times over: where components hold nothing, marginals would leak in.

    held   the records of each component
    """
    theta = mixture.theta.astype(np.float64)
    share = np.minimum(Tuning.taken_off * Tuning.prior / np.maximum(held, 1.0), Tuning.most_taken_off)
    less: FloatArray = np.maximum(theta - share[:, None] * mixture.marginals, Tuning.left * theta)
    return less


def approximate(
    one_way: OneWays, seen: Evidence, start: Start, steps: int, number: int = 0
) -> tuple[FloatArray, list[FloatArray]]:
    """Fit the components: their weights, and theta by column (components x groups), 0 outside of their box.

    number   another one is another jitter around the start
    """
    rng = public_rng(0 if number == 0 else _STARTS + number)  # it breaks the tie between components
    owner, marginals = start.owner, start.marginals.astype(np.float32)
    jitter = np.where(start.siblings > 1, Tuning.jitter, 0.0)[:, None]
    with np.errstate(divide="ignore"):
        logits = (np.log(start.base.astype(np.float32)) + jitter * rng.normal(size=start.base.shape)).astype(np.float32)
    weights = np.log(start.weights).astype(np.float32)
    mixture = ProductMixture(logits, weights, owner, marginals, seen.offsets, start.families)
    mixture.fit(seen, steps)
    pi = mixture.pi.astype(np.float64)
    # the classes' totals are known better than the fit knows them
    pi *= (one_way.totals / one_way.size)[owner] / np.bincount(owner, weights=pi)[owner]
    theta = np.split(_without_prior(mixture, one_way.size * pi), seen.offsets[1:], axis=1)
    return pi / pi.sum(), [part / part.sum(axis=1, keepdims=True) for part in theta]
