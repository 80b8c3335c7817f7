"""Random slices: regions that are worked on one by one."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray


def regions(rng: np.random.Generator, X: FloatArray, slices: int) -> Iterator[NDArray[np.bool_]]:  # noqa: N803
    """Which records lie in each region; all of them in one where nothing is cut.

    The paper cuts "for feature" at n data points drawn uniformly and says no more: here one feature, drawn at random,
    at the values of n records. So the borders of regions are private values.
    """
    if not slices:
        yield np.ones(len(X), dtype=bool)
        return
    along = X[:, rng.integers(X.shape[1])]
    cuts = np.unique(along[rng.integers(len(X), size=slices)])
    region = np.searchsorted(cuts, along, side="right")
    for number in np.unique(region):
        yield region == number
