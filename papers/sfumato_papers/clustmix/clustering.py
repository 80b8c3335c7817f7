"""Clusters of which none has fewer than so many records: by a mixture of round Gaussians, by k-means, or at random.

The paper leaves out how the best assignment of (3) is found. Here it is a hard expectation maximisation from k-means:
records go where they are likeliest, as far as sizes allow, and then each cluster takes their mean and spread. The
paper's own way out, constrained k-means, is taken where a cluster has no spread or the time is over: twenty seconds, so
that a slow machine may give other clusters than a fast one.
"""

import time
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sfumato.trusted.arrays import FloatArray, IntArray

_ROUNDS = 20  # of expectation and maximisation, and of exchanges within an assignment
_SETTLED = 1e-3  # the share of records that may still move when it ends
_SECONDS = 20.0


class Clusters(NamedTuple):
    """The cluster of each record, and the centre of each cluster."""

    member: IntArray
    centres: FloatArray


def gmm_constrained(rng: np.random.Generator, X: FloatArray, clusters: int, smallest: int) -> Clusters:  # noqa: N803
    """GMMConstrained: each cluster a round Gaussian with a mean and a spread of its own."""
    start = constrained_kmeans(rng, X, clusters, smallest)
    member, begin = start.member, time.monotonic()
    for _ in range(_ROUNDS):
        centres = _means(X, member, clusters)
        spreads = _spreads(X, member, centres)
        if not (spreads > 0).all() or time.monotonic() - begin > _SECONDS:
            return start
        likelihood = -distances(X, centres) / (2 * spreads) - X.shape[1] / 2 * np.log(spreads)  # log p(x | theta), (3)
        before, member = member, assigned(likelihood, smallest)
        if (before != member).mean() <= _SETTLED:
            break
    return Clusters(member, _means(X, member, clusters))


def constrained_kmeans(rng: np.random.Generator, X: FloatArray, clusters: int, smallest: int) -> Clusters:  # noqa: N803
    """The same with one spread for all: records go to the nearest centre, as far as sizes allow."""
    from sklearn.cluster import MiniBatchKMeans

    seed = int(rng.integers(2**31))
    rough = MiniBatchKMeans(clusters, n_init=1, random_state=seed, batch_size=2048, max_iter=30).fit(X)
    centres = rough.cluster_centers_.astype(np.float64)
    for _ in range(3):
        member = assigned(-distances(X, centres), smallest)
        centres = _means(X, member, clusters)
    return Clusters(member, centres)


def random_groups(rng: np.random.Generator, X: FloatArray, clusters: int, smallest: int) -> Clusters:  # noqa: N803, ARG001
    """Records mixed at random, as before the paper: groups of one size, whatever the records are."""
    member = rng.permutation(np.arange(len(X)) % clusters)
    return Clusters(member, _means(X, member, clusters))


def assigned(likelihood: FloatArray, smallest: int) -> IntArray:
    """A cluster for each record (rows of records x clusters), likely ones, none with fewer than `smallest` records.

    Records ask for their likeliest cluster that still needs some, and it takes the likeliest of them; once no cluster
    needs any, the others go where they like. Then records leave, for a likelier one, clusters that can spare them.
    """
    records, clusters = likelihood.shape
    if records < clusters * smallest:
        raise ValueError("there are too few records for so many clusters of this size")
    member, sizes = np.full(records, -1), np.zeros(clusters, dtype=np.int64)
    free, wanted = np.arange(records), likelihood.copy()
    while (sizes < smallest).any():
        best = wanted[free].argmax(axis=1)
        order = np.lexsort((-wanted[free, best], best))
        asked = best[order]
        rank = np.arange(len(asked)) - np.searchsorted(asked, asked, side="left")
        taken = rank < (smallest - sizes)[asked]
        member[free[order[taken]]] = asked[taken]
        sizes += np.bincount(asked[taken], minlength=clusters)
        wanted[:, sizes >= smallest] = -np.inf
        free = free[member[free] < 0]
    member[free] = likelihood[free].argmax(axis=1)
    return _exchanged(likelihood, member, smallest)


def _exchanged(likelihood: FloatArray, member: IntArray, smallest: int) -> IntArray:
    """The same after records have left clusters that can spare them, those first that gain most."""
    everyone, best = np.arange(len(member)), likelihood.argmax(axis=1)
    for _ in range(_ROUNDS):
        gain = likelihood[everyone, best] - likelihood[everyone, member]
        movers = np.flatnonzero((gain > 0) & (best != member))
        movers = movers[np.lexsort((-gain[movers], member[movers]))]
        left = member[movers]
        spare = np.bincount(member, minlength=likelihood.shape[1]) - smallest
        rank = np.arange(len(left)) - np.searchsorted(left, left, side="left")
        moving = movers[rank < spare[left]]
        if not len(moving):
            break
        member[moving] = best[moving]
    return member


def distances(X: FloatArray, centres: FloatArray) -> FloatArray:  # noqa: N803
    """Squared distances of all records from all centres."""
    square: FloatArray = (X**2).sum(axis=1)[:, None] - 2 * (X @ centres.T) + (centres**2).sum(axis=1)
    return np.maximum(square, 0.0, out=square)


def _means(X: FloatArray, member: IntArray, clusters: int) -> FloatArray:  # noqa: N803
    counts = np.bincount(member, minlength=clusters)
    sums = csr_array((np.ones(len(X)), (member, np.arange(len(X)))), shape=(clusters, len(X))) @ X
    means: FloatArray = sums / counts[:, None]
    return means


def _spreads(X: FloatArray, member: IntArray, centres: FloatArray) -> FloatArray:  # noqa: N803
    """The variance of each cluster, the same along every feature."""
    squares, clusters = ((X - centres[member]) ** 2).mean(axis=1), len(centres)
    return np.bincount(member, squares, clusters) / np.bincount(member, minlength=clusters)
