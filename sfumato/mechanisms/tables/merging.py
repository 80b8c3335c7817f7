"""Which cells of a noisy table can be told apart.

Post-processing: it sees released counts and the law of their noise only.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEVEL = 0.99  # two cells count as different if chance alone would make them this different in one case of a hundred
_RARE = 3.0  # a category stands alone if its count is this many standard deviations above none
_LARGE = 0.025  # share of the records: two groups that both hold more are not joined, for other columns may differ


def merge_alike(
    counts: FloatArray, variance: FloatArray, widths: NDArray[np.integer], large: float = _LARGE
) -> IntArray:
    """A group for each cell of an ordered column: neighbours whose densities noise cannot tell apart are joined.

    counts      noisy counts, cells x classes
    variance    of the noise of each cell's counts
    widths      how much of the scale each cell covers
    large       share of all records: two cells that both hold more are not joined

    Bottom-up: the two neighbours that differ least are joined, until every two neighbours differ. The difference is the
    chi-squared statistic of "the same density in every class", with the variance of noise and of sampling.
    """
    limit, many = chi2.ppf(_LEVEL, counts.shape[1]), large * max(counts.sum(), 1.0)

    def cost(counts: FloatArray, variance: FloatArray, width: FloatArray) -> FloatArray:
        held = counts.sum(axis=1)
        both_large = np.minimum(held[:-1], held[1:]) > many
        return np.where(both_large, np.inf, _differences(counts, variance, width))

    return _merged(counts, variance, widths, cost, limit, 1)


def merge_to(counts: FloatArray, variance: FloatArray, widths: NDArray[np.integer], most: int) -> IntArray:
    """At most so many groups of neighbours: those that hold little and differ little are joined first."""

    def cost(counts: FloatArray, variance: FloatArray, width: FloatArray) -> FloatArray:
        held = counts.sum(axis=1).clip(0)
        costs: FloatArray = (held[:-1] + held[1:]) * np.sqrt(_differences(counts, variance, width))
        return costs

    return _merged(counts, variance, widths, cost, np.inf, most)


Cost = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def _merged(
    counts: FloatArray, variance: FloatArray, widths: NDArray[np.integer], cost: Cost, limit: float, least: int
) -> IntArray:
    """Join the two neighbours of least cost, as long as it is within the limit and more than `least` are left."""
    counts, variance, width = counts.astype(float), variance.astype(float), widths.astype(float)
    first = np.arange(len(counts))
    while len(counts) > least:
        costs = cost(counts, variance, width)
        i = int(np.argmin(costs))
        if costs[i] > limit:
            break
        for part in (counts, variance, width):
            part[i] += part[i + 1]
        counts, variance, width, first = (np.delete(part, i + 1, axis=0) for part in (counts, variance, width, first))
    return np.searchsorted(first, np.arange(len(widths)), side="right") - 1


def _differences(counts: FloatArray, variance: FloatArray, width: FloatArray) -> FloatArray:
    """How much each cell differs from the next."""
    density = counts / width[:, None]
    spread = (variance[:, None] + counts.clip(0)) / width[:, None] ** 2
    chi: FloatArray = (np.diff(density, axis=0) ** 2 / (spread[:-1] + spread[1:])).sum(axis=1)
    return chi


def group_rare(totals: FloatArray, deviation: float, most: int | None = None) -> IntArray:
    """A group for each category: those whose count stands out of the noise alone, all others together.

    At most `most` groups, if given: then the largest stand alone.
    """
    alone = totals >= _RARE * deviation
    if most is not None and alone.sum() + (not alone.all()) > most:
        smallest_kept = np.sort(totals)[::-1][most - 2]
        alone &= totals >= smallest_kept
    return np.where(alone, np.cumsum(alone) - 1, alone.sum())


def sum_groups(values: FloatArray, groups: IntArray) -> FloatArray:
    """Values of cells (first axis) added up within each group."""
    summed = np.zeros((groups.max() + 1, *values.shape[1:]))
    np.add.at(summed, groups, values)
    return summed
