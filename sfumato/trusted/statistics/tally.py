"""How often each whole number occurs."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import IntArray


def tally(numbers: NDArray[Any], size: int) -> IntArray:
    """How often each number from 0 up to `size` occurs: `np.bincount`, but of use to several threads.

    That function keeps all other threads waiting. A sparse matrix with a one for each record, in the row of its number,
    has the counts as sums of its rows, and the product that finds them leaves the other threads alone.
    """
    unsigned = numbers.view(f"u{numbers.dtype.itemsize}")  # in which a number below 0 is a large one
    if unsigned.max(initial=0) >= size:  # the product would write beyond its memory
        raise ValueError("a record lies outside its table")
    from scipy.sparse import csc_array  # a receiver does not count, and may not have it

    ends = np.array((0, len(numbers)), dtype=numbers.dtype)
    matrix = csc_array((_ones(len(numbers)), numbers, ends), shape=(size, 1))
    counts: IntArray = matrix @ _ones(1)
    return counts


@lru_cache(maxsize=4)
def _ones(count: int) -> IntArray:
    return np.ones(count, dtype=np.int64)
