"""What a whole release gives away about one record, to an attacker who knows everything else.

Each answer is a sum plus Gaussian noise, and later questions depend on earlier answers only. So to someone who knows
two neighbouring tables, the transcript tells them apart exactly as well as one Gaussian of the mu computed here.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import Statistic


class Sums(Protocol):
    """Where a statistic can be summed over records."""

    def sum(self, statistic: Statistic) -> IntArray:
        """The exact sum."""


def mu_between(measurements: Sequence[Measurement], here: Sums, there: Sums) -> float:
    """The mu that the answers spend on the difference of two tables."""
    squares = []
    for item in measurements:
        blocks = item.statistic.blocks
        weights = np.repeat([block.weight for block in blocks], [block.size for block in blocks])
        move = weights * (here.sum(item.statistic) - there.sum(item.statistic)) / item.sigma
        squares.append(float(move @ move))
    return math.sqrt(math.fsum(squares))
