"""A Gaussian for each class, fitted to labelled records without any privacy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Mixture:
    """p(y = k) = weights[k], and x given y = k is Gaussian (1)."""

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    @property
    def dimensions(self) -> int:
        """d of the paper."""
        return int(self.means.shape[1])

    @property
    def precisions(self) -> FloatArray:
        """Sigma_k^-1."""
        return np.linalg.inv(self.covariances).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Fitted(Mixture):
    """The mixture that (2) fits, and how many records each class has."""

    counts: IntArray


def fit(X: FloatArray, y: IntArray, classes: int) -> Fitted:  # noqa: N803 - X as in the paper
    """Frequencies (2a), means (2b) and unbiased covariances (2c) of the records of each class.

    Labels are 0 to classes - 1. The paper asks for one record in each class; (12) inverts every covariance, so that
    each class needs more records than dimensions.
    """
    _check(X, y, classes)
    counts = np.bincount(y, minlength=classes)
    members = [X[y == k] for k in range(classes)]
    means = np.array([x.mean(axis=0) for x in members])
    away = [x - mean for x, mean in zip(members, means, strict=True)]
    covariances = np.array([z.T @ z / (len(z) - 1) for z in away])
    if (np.linalg.matrix_rank(covariances, hermitian=True) < X.shape[1]).any():
        raise DataError("a covariance is singular; no column may be a linear combination of others within a class")
    return Fitted(counts / len(y), means, covariances, counts)


def _check(X: FloatArray, y: IntArray, classes: int) -> None:  # noqa: N803
    if X.ndim != 2 or y.shape != X.shape[:1] or not np.isfinite(X).all():
        raise DataError("the records must be a matrix of finite numbers, with one label for each row")
    if not np.issubdtype(y.dtype, np.integer) or (y < 0).any() or (y >= classes).any():
        raise DataError(f"labels must be whole numbers from 0 to {classes - 1}, for {classes} classes")
    if np.bincount(y, minlength=classes).min() <= X.shape[1]:
        raise DataError(f"each class needs more than {X.shape[1]} records, one more than the records have columns")
