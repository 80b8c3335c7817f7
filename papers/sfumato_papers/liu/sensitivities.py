"""How far one changed label moves the mean and the covariance of a class, by what a baseline takes for granted.

The paper refers to another for the baselines' sensitivities, and does not print them. Three footings:

    range         x is within the range of the records, column by column; l2 is bounded by l1, as the paper says
    neighbours    the farthest that any neighbour of this very table moves
    unit ball     the same for the mean, and for the covariance as if |x| <= 1: what lemma 2 lets the proposal assume

None of them is a bound for every table, as differential privacy needs it: see `BASELINE_FAULTS`.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np

from sfumato.errors import DataError, RequestError
from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.fitting import Fitted
from sfumato_papers.liu.neighbours import Reading, mean_shifts

Footing = Literal["range", "neighbours", "unit ball"]


class Sensitivity(NamedTuple):
    """In l1 and in l2. A covariance is taken by its upper triangle."""

    mean_l1: float
    mean_l2: float
    covariance_l1: float
    covariance_l2: float


def sensitivity(
    X: FloatArray,  # noqa: N803
    y: AnyIntArray,
    fitted: Fitted,
    k: int,
    reading: Reading,
    footing: Footing,
) -> Sensitivity:
    """Of class k."""
    if footing not in get_args(Footing):
        raise RequestError(f"footing is {footing!r}; it must be one of {', '.join(get_args(Footing))}")
    if footing == "range":
        return _by_range(np.ptp(X, axis=0), int(fitted.counts[k]))
    shifts = mean_shifts(X, y, fitted, k, reading)
    if footing == "unit ball":
        return Sensitivity(*_longest(shifts), *_of_unit_vectors(X.shape[1], int(fitted.counts[k])))
    return Sensitivity(*_longest(shifts), *_longest(covariance_shifts(X, y, fitted, k, reading)))


def _longest(shifts: FloatArray) -> tuple[float, float]:
    return float(np.abs(shifts).sum(axis=1).max()), float(np.linalg.norm(shifts, axis=1).max())


def _by_range(span: FloatArray, count: int) -> Sensitivity:
    """With u the way from the other records' mean and S their covariance, removal takes  u u' / N - S / (N - 1)  away.

    |u| is within the span, and |S_ij| within a quarter of  span_i span_j (N - 1) / (N - 2). On the diagonal the terms
    work against each other. A mean moves by  u / N. Entering a class of N is leaving one of N + 1.
    """
    mean = float(span.sum()) / count
    squares = np.outer(span, span)
    diagonal = float(np.trace(squares)) / count
    rest = float(np.triu(squares, 1).sum()) * (1 / count + 1 / (4 * (count - 2))) if len(span) > 1 else 0.0
    return Sensitivity(mean, mean, diagonal + rest, diagonal + rest)


def _of_unit_vectors(dimensions: int, count: int) -> tuple[float, float]:
    """One  x x' / N  for another: the upper triangle of x x' is at most (d + 1) / 2 long in l1, and 1 in l2."""
    return (dimensions + 1) / count, np.sqrt(2) / count


def covariance_shifts(X: FloatArray, y: AnyIntArray, fitted: Fitted, k: int, reading: Reading) -> FloatArray:  # noqa: N803
    """Sigma_k(D') - Sigma_k(D) for every neighbour D' that the reading counts: a row for each, its upper triangle."""
    away, count = X - fitted.means[k], fitted.counts[k]
    if count == 2:
        raise DataError(f"class {k} has 2 records; without one of them it has no covariance, and needs 3")
    places = np.triu_indices(X.shape[1])
    now = fitted.covariances[k][places]

    def squares(z: FloatArray) -> FloatArray:
        return z[:, places[0]] * z[:, places[1]]

    leave: FloatArray = (now - count / (count - 1) * squares(away[y == k])) / (count - 2)
    if reading == "leave":
        return leave
    enter = (count / (count + 1) * squares(away[y != k]) - now) / count
    return np.concatenate((leave, enter))
