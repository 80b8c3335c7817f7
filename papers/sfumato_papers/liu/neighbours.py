"""What one changed label does to the fit: to the mean of a class, and to the counts of all."""

from typing import Literal, get_args

import numpy as np

from sfumato.errors import RequestError
from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.fitting import Fitted

Reading = Literal["leave", "both"]
"""Which neighbours bound the noise of class k: `leave`, its records that get another label, as (10) is printed; or
`both`, records that get label k as well, as lemma 1 and (23) are."""


def mean_shifts(X: FloatArray, y: AnyIntArray, fitted: Fitted, k: int, reading: Reading) -> FloatArray:  # noqa: N803
    """mu_k(D) - mu_k(D') for every neighbour D' that the reading counts, one row each."""
    if reading not in get_args(Reading):
        raise RequestError(f"adjacency is {reading!r}; it must be one of {', '.join(get_args(Reading))}")
    away = X - fitted.means[k]
    leave: FloatArray = away[y == k] / (fitted.counts[k] - 1)
    if reading == "leave":
        return leave
    return np.concatenate((leave, -away[y != k] / (fitted.counts[k] + 1)))


def neighbouring_counts(counts: AnyIntArray) -> AnyIntArray:
    """The counts of D, and then those of every neighbour: S'(D) of (14), times N. No class may lose its last (3)."""
    one = np.eye(len(counts), dtype=counts.dtype)
    moves = [one[b] - one[a] for a in range(len(counts)) for b in range(len(counts)) if a != b and counts[a] > 1]
    return np.stack([counts, *(counts + move for move in moves)])
