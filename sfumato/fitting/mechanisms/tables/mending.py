"""Mend a labeller where the classes in the leaves of public trees are not as it says. Post-processing.

In every node of a tree, from the root down, the noisy count of a class is compared with what the model expects there:

    count = expected x (how many records there are) x (how much likelier the class is) + noise

Both factors are drawn to those of the parent node as far as noise and sampling explain the difference. The first is
put aside: it is about the other columns, and no labeller can mend it. The second becomes a log-ratio of every leaf. How
far it strays in truth is what makes the counts in the leaves likeliest; where the model is right, that is next to
nothing, and no tree is needed.
"""

from dataclasses import dataclass, replace

import numpy as np

from sfumato.fitting.mechanisms.tables.sampling import asked_of
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import CellTree, Features, LeafLookup, Softmax
from sfumato.trusted.feature_maps.features import COEFFICIENT_UNIT, DIRECTION_UNIT, VALUE_UNIT, contrasts
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import LeafCounts


class Tuning(TuningConstants, group="tables.mending"):
    """See `sfumato.fitting.tuning`."""

    spreads = (0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4)  # of the classes in a leaf, relative
    by_level = 0.6  # of it, from a node to its child
    density = 1.0  # relative spread of the number of records
    most_factor = 10.0  # from a node to its child
    most_ratio = 5.0  # of a leaf, as a logarithm
    least_expected = 0.1  # records in a leaf
    worth_first = 8.0  # log-likelihood that a first tree must find to be worth its noise
    worth_another = 2.0


@dataclass(frozen=True, eq=False)
class Mending:
    """A model without trees, the trees that mend it, and what they make of the synthetic records."""

    model: Softmax
    pool: Batch
    told: FloatArray  # class probabilities of the pool, records x classes
    size: float
    trees: tuple[LeafLookup, ...] = ()

    def after(self, answer: Measurement) -> "Mending":
        """The mending after the counts in the leaves of one more tree.

        One that finds little is left out: along its cuts the model is about right, and noise would make it worse.
        """
        asked, share = asked_of(answer)
        if not isinstance(asked, LeafCounts):
            raise TypeError("a model is mended by counts in leaves only")
        leaf, classes = asked.tree.leaf(self.pool), self.told.shape[1]
        expected = np.stack([np.bincount(leaf, told, asked.tree.leaves) for told in self.told.T], axis=1)
        expected = expected * (share * self.size / len(leaf)) + Tuning.least_expected * self.told.mean(axis=0)
        counts = Counts.of(asked.tree, answer.values.reshape(-1, classes), expected, answer.sigma)
        spread, gain = counts.likeliest()
        if gain < (Tuning.worth_another if self.trees else Tuning.worth_first):
            return self
        ratios = counts.ratios(spread * Tuning.by_level) @ contrasts(classes)
        values = np.rint(ratios.clip(-Tuning.most_ratio, Tuning.most_ratio) / VALUE_UNIT).astype(np.int32).T
        told = self.told * np.exp(contrasts(classes) @ values * VALUE_UNIT).T[leaf]
        return replace(
            self,
            told=told / told.sum(axis=1, keepdims=True),
            trees=(*self.trees, LeafLookup(asked.tree, values)),
        )

    @property
    def mended(self) -> Softmax:
        """The model with the log-ratios of all trees added to its logits."""
        if not self.trees:
            return self.model
        features, contrast = self.model.features, self.told.shape[1] - 1
        rows, rank = features.directions.shape
        directions = np.zeros((rows + contrast * len(self.trees), rank + contrast), dtype=np.int32)
        directions[:rows, :rank] = features.directions
        directions[rows:, rank:] = np.tile(np.eye(contrast), (len(self.trees), 1)) / DIRECTION_UNIT
        added = np.rint(contrasts(contrast + 1).T / COEFFICIENT_UNIT).astype(np.int32)
        return Softmax(
            Features(features.lookups, directions, self.trees), np.concatenate((self.model.coefficients, added))
        )


@dataclass(frozen=True, eq=False)
class Counts:
    """Noisy and expected counts by class of every node of a tree, the inner nodes first, then the leaves."""

    seen: FloatArray  # nodes x classes
    expected: FloatArray
    variance: FloatArray  # of the noise, of each node
    parent: IntArray
    depth: IntArray

    @classmethod
    def of(cls, tree: CellTree, seen: FloatArray | IntArray, expected: FloatArray, sigma: float) -> "Counts":
        """From those of the leaves."""
        inner = len(tree.axes)
        kids = np.stack((tree.below, tree.above), axis=1).astype(np.int64)
        kids = np.where(kids < 0, inner - 1 - kids, kids)
        parent, depth = np.zeros(inner + tree.leaves, dtype=np.int64), np.zeros(inner + tree.leaves, dtype=np.int64)
        for node in range(inner):
            parent[kids[node]], depth[kids[node]] = node, depth[node] + 1
        leaves = [seen.astype(np.float64), expected, np.full(tree.leaves, sigma**2)]
        added = [np.concatenate((np.zeros((inner, *part.shape[1:])), part)) for part in leaves]
        for node in reversed(range(inner)):
            for part in added:
                part[node] = part[kids[node, 0]] + part[kids[node, 1]]
        return cls(added[0], added[1], added[2], parent, depth)

    def likeliest(self) -> tuple[float, float]:
        """How far ratios stray in the leaves, as makes their counts likeliest, and by how much against not at all.

        The latter is a logarithm. The noise of one leaf is not that of another, so chance alone seldom makes it large.
        """
        leaves = np.arange(len(self.seen) // 2, len(self.seen))
        found = {spread: _compare(self, leaves, self.expected[leaves], spread) for spread in (0.0, *Tuning.spreads)}
        likelihood = {spread: each.log_likelihood for spread, each in found.items()}
        best = max(likelihood, key=lambda spread: likelihood[spread])
        return best, likelihood[best] - likelihood[0.0]

    def ratios(self, spread: float) -> FloatArray:
        """How much likelier every class is than expected (leaves x classes), as logarithms.

        `spread` is from a node to its child.
        """
        ratio, density = np.ones_like(self.seen), np.ones(len(self.seen))
        for level in range(1, int(self.depth.max(initial=0)) + 1):
            at = np.flatnonzero(self.depth == level)
            up = self.parent[at]
            expected = self.expected[at] * ratio[up] * density[up, None]
            found = _compare(self, at, expected, spread)
            likelier = _factor(1 + found.left * found.kept / (expected * found.more[:, None]))
            mean = (expected * likelier).sum(axis=1) / expected.sum(axis=1)
            ratio[at], density[at] = ratio[up] * likelier / mean[:, None], density[up] * found.more
        return np.log(ratio[len(self.seen) // 2 :])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Of noisy counts of some nodes with expected ones: how many times more records there are, and what is left.

    `kept` is how much of that is not noise.
    """

    more: FloatArray
    left: FloatArray
    kept: FloatArray
    log_likelihood: float


def _compare(counts: Counts, at: IntArray, expected: FloatArray, spread: float) -> Comparison:
    noise, strays = counts.variance[at, None] + expected, (spread * expected) ** 2
    total, classes = expected.sum(axis=1), expected.shape[1]
    drawn = (Tuning.density * total) ** 2
    drawn = drawn / (drawn + noise.sum(axis=1))
    more = _factor(1 + drawn * (counts.seen[at].sum(axis=1) - total) / total)
    left = counts.seen[at] - expected * more[:, None]
    # what is left of the noise and of the truth once the number of records has been put aside
    share = expected / total[:, None] * drawn[:, None]
    noise, strays = (part * (1 - 2 * share) + share**2 * part.sum(axis=1)[:, None] for part in (noise, strays))
    fits = float((left**2 / (noise + strays) + np.log(noise + strays)).sum())
    # entries add up to about zero: one of them tells nothing
    return Comparison(more, left, strays / (noise + strays), -fits * (classes - 1) / (2 * classes))


def _factor(values: FloatArray) -> FloatArray:
    return values.clip(1 / Tuning.most_factor, Tuning.most_factor)
