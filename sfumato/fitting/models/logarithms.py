"""Sums of numbers that are kept as logarithms."""

import numpy as np

from sfumato.trusted.arrays import FloatArray


def log_sum(values: FloatArray) -> FloatArray:
    """log(sum(exp)) of each row, -inf where all are."""
    top = values.max(axis=1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: FloatArray = shift + np.log(np.exp(values - shift[:, None]).sum(axis=1))
    return total
