"""What no account of a shuffle can pass: the curve of one pair of tables.

One record at c and all others at -c, against all at -c. In units of sigma and from -c, the likelihood ratio of the
shuffled table is the mean over its records of exp(kappa z_i - kappa^2 / 2), z_i normal. The curve of this pair lies
below that of the shuffle, so kappa from it lies above whatever is true. It is no promise.
"""

import math

import numpy as np

from sfumato.trusted.budget import mu_of
from sfumato_papers.accounting.shuffling.excess import mean_excess
from sfumato_papers.accounting.shuffling.verdict import Shuffled, checked, greatest

_POINTS = 200_001


def ceiling(records: int, epsilon: float, delta: float) -> Shuffled:
    """The kappa at which this pair reaches delta; any greater one is known to be wrong."""
    checked(records, epsilon, delta)
    kappa = greatest(lambda kappa: ceiling_delta(records, epsilon, kappa), delta, mu_of(epsilon, delta))
    return Shuffled(kappa, False, "a limit for every account, not a promise")


def ceiling_delta(records: int, epsilon: float, kappa: float) -> float:
    """delta at epsilon of this pair, in the worse direction."""
    z = np.linspace(-9.0, kappa + 9.5, _POINTS)
    density = np.exp(-z * z / 2)
    masses = density / density.sum()
    ratio, factor = np.exp(kappa * z - kappa**2 / 2), math.exp(epsilon)
    return max(mean_excess(values, masses, records) for values in (ratio - factor, 1 - factor * ratio))
