"""Hiding among the clones (Feldman, McMillan and Talwar, arXiv 2012.12803).

Let every record's noise be (epsilon_0, delta_0)-DP for any change, let R_0 and R_1 be the two laws of the record that
changes, and delta_0 = 0 for the moment. Two laws this close are mixtures of the same Q_0 and Q_1, with weights
w = e^epsilon_0 / (e^epsilon_0 + 1) and 1 - w, crosswise; so R_0 + R_1 = Q_0 + Q_1. Any other record's law is at least
e^-epsilon_0 max(R_0, R_1) >= e^-epsilon_0 (Q_0 + Q_1) / 2: with probability e^-epsilon_0 it is a clone, one of Q_0 and
Q_1 by a fair coin. Whoever is told which records are clones sees only how many of them, and of the record, are Q_0:

    C ~ Binomial(n - 1, e^-epsilon_0),  A ~ Binomial(C, 1/2);  A + 1 with probability w, or 1 - w, otherwise A.

With delta_0 > 0, R_0 and R_1 are each within delta_0 / (e^epsilon_0 + 1) of laws that are so close, and another
record's law within (3/2) e^-epsilon_0 delta_0 of one that holds its clones; over n records and both tables that adds
at most (e^epsilon + 1) (1 + e^-epsilon_0 / 2) n delta_0 to delta. No place here knows how many numbers a record has.

The later paper (arXiv 2208.04591) has clones with probability 2 / (e^epsilon_0 + 1), almost twice as many. Its authors
withdrew that for records in general: it needs R_x >= (R_0 + R_1) / (e^epsilon_0 + 1), which fails where R_0 = R_1 is
e^epsilon_0 times another. It is kept to compare with, and is marked as not proven.
"""

import math
from enum import StrEnum

import numpy as np
from scipy.stats import binom

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import mu_of
from sfumato_papers.accounting.shuffling.verdict import Shuffled, checked

_SHARE = 0.02  # of delta, for delta_0
_WIDTH = 9.0  # deviations of a binomial that are looked at one by one
_GROUPS = 1_200  # numbers of clones that are looked at apart


class Clone(StrEnum):
    """How likely another record is to be a clone.

    proven      e^-epsilon_0
    stronger    2 / (e^epsilon_0 + 1): withdrawn by its authors for laws in general
    """

    PROVEN = "proven"
    STRONGER = "stronger"

    def probability(self, local: float) -> float:
        """That another record is a clone."""
        return math.exp(-local) if self is Clone.PROVEN else 2 / (math.exp(local) + 1)


def clones(records: int, epsilon: float, delta: float, clone: Clone = Clone.PROVEN) -> Shuffled:
    """The greatest kappa, for shadows of any width."""
    checked(records, epsilon, delta)
    least = mu_of(epsilon, delta)
    low, high = 0.0, math.log(records)
    while high - low > 1e-4:
        local = (low + high) / 2
        enough = clones_delta(records, local, epsilon, clone) <= delta * (1 - _SHARE)
        low, high = (local, high) if enough else (low, local)
    spent = (math.exp(epsilon) + 1) * (1 + math.exp(-low) / 2) * records
    kappa = max(least, mu_of(low, _SHARE * delta / spent)) if low > 0 else least
    if clone is Clone.STRONGER:
        return Shuffled(kappa, False, "the stronger clones were withdrawn for laws in general (arXiv 2208.04591)")
    return Shuffled(kappa, True, "hiding among the clones (arXiv 2012.12803)")


def clones_delta(records: int, local: float, epsilon: float, clone: Clone = Clone.PROVEN) -> float:
    """delta at epsilon of records whose noise is (local, 0)-DP each; what is not looked at is added.

    Fewer clones protect less, so numbers of clones are put together at the least of them.
    """
    counts, weights = _numbers_of_clones(records, clone.probability(local))
    own = 1 / (1 + math.exp(-local))
    total, seen = 0.0, 0.0
    for count, weight in zip(counts, weights, strict=True):
        half = _WIDTH * math.sqrt(count) / 2 + 6
        coins = binom.pmf(np.arange(int(count / 2 - half) - 1, int(count / 2 + half) + 2), count, 0.5)
        without, with_own = coins[1:], coins[:-1]
        here = own * with_own + (1 - own) * without
        there = (1 - own) * with_own + own * without
        total += weight * float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum())
        seen += weight * float(here.sum())
    return min(1.0, total + max(0.0, 1 - seen))


def _numbers_of_clones(records: int, probability: float) -> tuple[list[int], FloatArray]:
    mean = (records - 1) * probability
    deviation = math.sqrt(mean * (1 - probability))
    first = max(0, int(mean - _WIDTH * deviation - 5))
    counts = np.arange(first, min(records - 1, int(mean + _WIDTH * deviation + 40)) + 1)
    groups = np.arange(0, counts.size, math.ceil(counts.size / _GROUPS))
    weights: FloatArray = np.add.reduceat(binom.pmf(counts, records - 1, probability), groups)
    return counts[groups].tolist(), weights
