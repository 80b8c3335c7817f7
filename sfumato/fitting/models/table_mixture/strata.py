"""Draws from many distributions at once: as many as are asked of each, evenly spread over it, in random order."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray

_WORD = 64
_LONG = 1 << 10  # places, beyond which it is quicker to look up each draw than each place


def draw_strata(theta: FloatArray, counts: IntArray, rng: np.random.Generator) -> IntArray:
    """See `draw_all_strata`, of one table."""
    return next(draw_all_strata([theta], counts, rng))


def draw_all_strata(thetas: list[FloatArray], counts: IntArray, rng: np.random.Generator) -> Iterator[IntArray]:
    """For each theta places in its rows, which are up to a factor distributions: counts[k] of row k, then of the next.

    The draws of a row are one from each of as many equal parts of [0, 1), so that sums over them hardly vary, and then
    shuffled. All rows are shuffled by one sort of numbers that are the row, random bits and the place.
    """
    row_bits = len(counts).bit_length()
    rows = np.repeat(np.arange(len(counts), dtype=np.uint64) << np.uint64(_WORD - row_bits), counts)
    for theta in thetas:
        place_bits = theta.shape[1].bit_length()
        keys = rng.integers(0, 1 << (_WORD - row_bits), len(rows), dtype=np.uint64)
        keys &= np.uint64(2**_WORD - (1 << place_bits))
        keys |= rows
        keys |= _in_order(theta, counts, rng) if theta.shape[1] <= _LONG else _in_order_of_long(theta, counts, rng)
        keys.sort()
        keys &= np.uint64((1 << place_bits) - 1)
        yield keys.view(np.int64)


def _in_order(theta: FloatArray, counts: IntArray, rng: np.random.Generator) -> NDArray[np.uint64]:
    """The places of all draws, those of each row in order: the draw from part i is at (i + uniform) / count."""
    up_to = np.cumsum(theta, axis=1)
    up_to /= up_to[:, -1:]  # first, so that all up to which nothing is left out are 1 to the last bit
    up_to *= counts[:, None]
    part = up_to.astype(np.int64)
    up_to -= part
    within = part + (np.cumsum(counts) - counts)[:, None]  # several ends in one part are compared with one number
    other = np.diff(within.ravel(), prepend=-1) != 0
    part += rng.random(np.count_nonzero(other)).take(np.cumsum(other) - 1).reshape(part.shape) < up_to
    below = np.diff(part, axis=1, prepend=0)
    return np.repeat(np.tile(np.arange(theta.shape[1], dtype=np.uint64), len(theta)), below.ravel())


def _in_order_of_long(theta: FloatArray, counts: IntArray, rng: np.random.Generator) -> NDArray[np.uint64]:
    """The same, each draw looked up."""
    found = [np.zeros(0, dtype=np.int64)]
    for row, count in zip(theta, counts.tolist(), strict=True):
        up_to = np.cumsum(row)
        draws = (np.arange(count) + rng.random(count)) / max(count, 1) * up_to[-1]
        # a product that is rounded up must not lead beyond the last place that has some probability
        last = np.searchsorted(up_to, up_to[-1])
        found.append(np.minimum(np.searchsorted(up_to, draws, side="right"), last))
    return np.concatenate(found).astype(np.uint64)
