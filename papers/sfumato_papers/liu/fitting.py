"""A Gaussian for each class, fitted to labelled records without any privacy."""

from dataclasses import dataclass

import numpy as np

from sfumato.errors import DataError
from sfumato.trusted.arrays import AnyIntArray, FloatArray


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

    counts: AnyIntArray


def fit(X: FloatArray, y: AnyIntArray, classes: int) -> Fitted:  # noqa: N803 - X as in the paper
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
        raise DataError(
            "a covariance is singular, and (12) inverts it: no column may be a linear combination of others in a class"
        )
    return Fitted(counts / len(y), means, covariances, counts)


def check_records(X: FloatArray) -> None:  # noqa: N803
    """The paper takes records for vectors of real numbers: none may be missing or infinite."""
    if X.ndim != 2 or not np.isfinite(X).all():
        raise DataError("the paper assumes records of real numbers: a matrix with a finite number in every place")


def _check(X: FloatArray, y: AnyIntArray, classes: int) -> None:  # noqa: N803
    check_records(X)
    if y.shape != X.shape[:1]:
        raise DataError(f"there are {len(y)} labels for {len(X)} records; the paper assumes one for each")
    if not np.issubdtype(y.dtype, np.integer) or (y < 0).any() or (y >= classes).any():
        raise DataError(f"labels must be whole numbers from 0 to {classes - 1}, for {classes} classes")
    counts, d = np.bincount(y, minlength=classes), X.shape[1]
    if counts.min() <= d:
        raise DataError(
            f"class {counts.argmin()} has {counts.min()} records. The paper assumes one at least, and inverts every "
            f"covariance in (12): each class needs {d + 1}, one more than the records have columns"
        )
