"""Which cells of a noisy table can be told apart.

Post-processing: it sees released counts and the law of their noise only.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEVEL = 0.99  # two cells count as different if chance alone would make them this different in one case of a hundred
_RARE = 3.0  # a category stands alone if its count is this many standard deviations above none


def merge_neighbours(counts: FloatArray, variance: FloatArray, widths: NDArray[np.integer]) -> IntArray:
    """A group for each cell of an ordered column: neighbours whose densities noise cannot tell apart are joined.

    counts      noisy counts, cells x classes
    variance    of the noise of each cell's counts
    widths      how much of the scale each cell covers

    Bottom-up: the two neighbours that differ least are joined, until every two neighbours differ. The difference is the
    chi-squared statistic of "the same density in every class", with the variance of noise and of sampling.
    """
    counts, variance, width = counts.astype(float), variance.astype(float), widths.astype(float)
    first = np.arange(len(counts))
    limit = chi2.ppf(_LEVEL, counts.shape[1])
    while len(counts) > 1:
        differences = _differences(counts, variance, width)
        i = int(np.argmin(differences))
        if differences[i] > limit:
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


def group_rare(totals: FloatArray, deviation: float) -> IntArray:
    """A group for each category: those whose count stands out of the noise alone, all others together."""
    alone = totals >= _RARE * deviation
    return np.where(alone, np.cumsum(alone) - 1, alone.sum())


def sum_groups(values: FloatArray, groups: IntArray) -> FloatArray:
    """Values of cells (first axis) added up within each group."""
    summed = np.zeros((groups.max() + 1, *values.shape[1:]))
    np.add.at(summed, groups, values)
    return summed
