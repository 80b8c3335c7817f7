"""How far one changed record moves what is released, and what that is worth in epsilon.

Given the randomness within (starts of k-means, batches), a release is the means of clusters with Gaussian noise: two
tables are as far apart as their means in units of the noise, mu. Means are matched first, so that mere renumbering does
not count. Who does not know that randomness learns less; `told_apart` asks what such a one can do.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import beta

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import epsilon_of
from sfumato_papers.clustmix.framework import Synthetic

_MOVED = 1e-9
_LARGEST_MU = 36.0  # beyond, an epsilon is out of reach of float64
_THRESHOLDS = 49


class Moved(NamedTuple):
    """How many points move of how many, and the actual mu; infinite where the number of points changes."""

    points: int
    of: int
    mu: float

    def epsilon(self, delta: float) -> float:
        """The actual epsilon at this delta; what lies beyond float64 is named by the last that does not."""
        return math.inf if math.isinf(self.mu) else epsilon_of(min(self.mu, _LARGEST_MU), delta)


def moved(here: Synthetic, there: Synthetic) -> Moved:
    """Between the releases of two tables. Where a point has two scales of noise, the larger counts."""
    labels = np.union1d(here.y, there.y)
    if any((here.y == label).sum() != (there.y == label).sum() for label in labels):
        return Moved(max(len(here.y), len(there.y)), max(len(here.y), len(there.y)), math.inf)
    moves, sigmas = [], []
    for label in labels:
        mine, theirs = np.flatnonzero(here.y == label), np.flatnonzero(there.y == label)
        apart = ((here.means[mine][:, None] - there.means[theirs][None]) ** 2).sum(axis=-1)
        rows, columns = linear_sum_assignment(apart)
        moves.append(np.sqrt(apart[rows, columns]))
        sigmas.append(np.maximum(here.sigmas[mine[rows]], there.sigmas[theirs[columns]]))
    move, sigma = np.concatenate(moves), np.concatenate(sigmas)
    return Moved(int((move > _MOVED).sum()), len(move), float(np.sqrt(((move / sigma) ** 2).sum())))


class ToldApart(NamedTuple):
    """How often an event was seen in so many runs of either table, and the epsilon that this shows at least."""

    here: int
    there: int
    runs: int
    epsilon: float


def told_apart(score: Callable[[int, bool], float], runs: int, delta: float, confidence: float = 0.95) -> ToldApart:
    """A lower bound on epsilon from runs of the whole mechanism alone; score(run, other table) is one number of it.

    Half of the runs choose a threshold, the others count, by Clopper and Pearson.
    """
    mine, theirs = (np.array([score(run, other) for run in range(runs)]) for other in (False, True))
    half = runs // 2
    rules = _rules(mine[:half], theirs[:half], delta)
    best = [rule for rule in rules if rule[0] == max(rules)[0]]
    _, threshold, sign, swapped = best[len(best) // 2]  # of equally good ones, from the middle
    counts = [int((sign * values[half:] > sign * threshold).sum()) for values in (mine, theirs)]
    often, seldom = reversed(counts) if swapped else counts
    tested, tail = runs - half, (1 - confidence) / 2
    low = beta.ppf(tail, often, tested - often + 1) if often else 0.0
    high = beta.ppf(1 - tail, seldom + 1, tested - seldom) if seldom < tested else 1.0
    return ToldApart(often, seldom, tested, math.log((low - delta) / high) if low > delta else 0.0)


def _rules(mine: FloatArray, theirs: FloatArray, delta: float) -> list[tuple[float, float, int, bool]]:
    """How good each rule "above" or "below a threshold" is, either way round."""
    found = []
    for threshold in np.quantile(np.concatenate((mine, theirs)), np.linspace(0.02, 0.98, _THRESHOLDS)):
        for sign in (1, -1):
            p, q = ((sign * values > sign * threshold).mean() for values in (mine, theirs))
            for often, seldom, swapped in ((p, q, False), (q, p, True)):
                worth = math.log(max(often - delta, 1e-9) / max(seldom, 1 / len(mine)))
                found.append((worth, float(threshold), sign, swapped))
    return found
