"""The random map of the weights."""

from typing import NamedTuple

import numpy as np

from sfumato.trusted.arrays import FloatArray


class FrequencyMap(NamedTuple):
    """F' of (26) and (27) by its columns: entry i is meant as the probability that the weights become outcome i.

    true     where they are those of the table (26)
    other    where they are those of any neighbour (27): these columns are all alike
    """

    true: FloatArray
    other: FloatArray

    @property
    def probabilities(self) -> FloatArray:
        """What the true weights become, so that it can be drawn: their column, divided by its sum.

        Where all g have one sign the column is constant: every outcome is equally likely, whatever epsilon_0 is.
        """
        column: FloatArray = self.true / self.true.sum()
        return column


def frequency_map(g: FloatArray, epsilon: float) -> FrequencyMap:
    """The optimum of (24), for the objective g of each outcome.

    Its rows add up to 1, as (13e) asks; its columns, which would have to, do not.
    """
    ratio = np.exp(np.where(g >= 0, epsilon, -epsilon))
    true = 1 / (1 + (len(g) - 1) * ratio)
    return FrequencyMap(true, ratio * true)
