"""What the paper minimises instead of the divergence."""

import numpy as np

from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.fitting import Fitted


def objective(fitted: Fitted, gammas: FloatArray, mean_covariances: FloatArray, outcomes: AnyIntArray) -> FloatArray:
    """g of (12) for each outcome, a row of counts that stand for released weights.

    It is not the expected KL: -E ln|Sigma + W| is replaced by -E ln|W| and ln|Sigma| is left out. It grows without
    bound as the noise on the covariances vanishes, and its sign depends on the unit of measurement.
    """
    d, precisions = fitted.dimensions, fitted.precisions
    by_covariance = d * np.log(gammas) + (d + 1) / gammas * np.trace(precisions, axis1=1, axis2=2)
    by_mean = np.einsum("kij,kji->k", precisions, mean_covariances)
    weights = outcomes / fitted.counts.sum()
    g: FloatArray = (weights * (np.log(weights / fitted.weights) + (by_covariance + by_mean) / 2)).sum(axis=1)
    return g
