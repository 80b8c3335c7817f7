"""The random map of the weights."""

import numpy as np

from sfumato.published.liu.fitting import FloatArray


def frequency_map(g: FloatArray, epsilon: float) -> FloatArray:
    """F' of (26) and (27), for the objective g of each outcome. The true weights are the first row and column.

    Entry (i, j) is meant as the probability that j becomes i. Its rows add up to 1, as (13e) asks, and its columns,
    which would have to, do not.
    """
    neighbours = len(g) - 1
    sign = np.where(g >= 0, 1.0, -1.0)
    ratio = np.exp(sign * epsilon)
    true = 1 / (1 + neighbours * ratio)  # (26)
    others = np.repeat((ratio * true)[:, None], neighbours, axis=1)  # (27)
    return np.column_stack((true, others))


def outcome_probabilities(F: FloatArray) -> FloatArray:  # noqa: N803 - F as in the paper
    """What the true weights become, so that it can be drawn: their column of F', divided by its sum.

    Where all g have one sign the column is constant: every outcome is equally likely, whatever epsilon_0 is.
    """
    column: FloatArray = F[:, 0] / F[:, 0].sum()
    return column
