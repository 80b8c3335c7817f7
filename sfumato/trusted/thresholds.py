"""How often a value must occur, noise included, to be named in a discovered list.

Formal guarantees
    Let D and D' be neighbours, k the records of one person that count (1 where there are no persons), and let the
    mechanism add noise round(sigma N) to the count of every key that a table holds and show those above T.
    1. At most k records of a table are not in the other one. So at most k keys are held by D alone, each by k records
       at most, and the same is true of D'.
    2. One of them is shown with probability P(c + round(sigma N) > T) <= P(sigma N >= T + 1/2 - k), for c <= k: the
       noise is rounded to the nearest integer, exactly (see `noise`), so this is a tail of the normal law, no
       approximation of one. Any of them: k times that at most, which `threshold` keeps at or below delta.
    3. Let Z be what is shown of the keys of D alone, Z' of D' alone. Both are empty except with probability delta, so
       the total variation between them is delta at most; and they are independent of what is shown of the common keys.
    4. Those are shown with Gaussian noise: mu-GDP, see `KeyCounts` and `Curator`. Exchange Z for Z' first, which costs
       delta, then the common counts: P(M(D) in A) <= delta + P((common of D, Z') in A) <= delta + delta_mu(epsilon)
       + e^epsilon P(M(D') in A).
    Several questions in a row, and others beside them: exchange all Z first, one after the other, each given the same
    answers before it; that costs the sum of their deltas. What is left are the Gaussian parts, which compose as ever
    (Dong, Roth and Su 2019, corollary 3.3), with steps between them that are the same for both tables. So all together
    is (epsilon, delta_mu(epsilon) + sum of deltas)-differentially private, which is what `Budget` sets aside.
"""

import math

from scipy.special import ndtr, ndtri

_ROUNDING = 1e-12  # more than `ndtr` and its argument err by, shown in the tests against 60-digit arithmetic


def tail(distance: float, sigma: float) -> float:
    """An upper bound on the probability that sigma N is at or above a distance, N standard normal."""
    return float(ndtr(-distance / sigma)) * (1 + _ROUNDING)


def threshold(sigma: float, records: int, delta: float) -> int:
    """The least T at which a key that one change creates is shown with probability delta at most.

    Edge cases
        A delta so small that its tail underflows as a float64: `tail` is 0 only where the exact one is below 1e-300.
    """
    above = math.floor(records - 0.5 - sigma * float(ndtri(delta / records))) - 1
    while records * tail(above + 0.5 - records, sigma) > delta:
        above += 1
    return above
