"""Which cells of a noisy table can be told apart.

Post-processing: it sees released counts and the law of their noise only.
"""

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray


class Tuning(TuningConstants, group="counts.merging"):
    """See `sfumato.fitting.tuning`."""

    level = 0.99  # two cells count as different if chance alone would make them this different in one case of a hundred
    rare = 3.0  # a category stands alone if its count is this many standard deviations above none
    false = 10.0  # categories without any record that stand alone by chance, in the mean of one column
    large = 0.05  # share of the records that groups are joined up to, even if they are alike: other columns may differ
    small = 0.01  # share below which a group is joined to any neighbour that is alike


def merge_alike(
    counts: FloatArray,
    variance: FloatArray,
    widths: NDArray[np.integer],
    large: float = Tuning.large,
    records: float | None = None,
) -> IntArray:
    """A group for each cell of an ordered column: neighbours whose densities noise cannot tell apart are joined.

    counts      noisy counts, cells x classes
    variance    of the noise of each cell's counts
    widths      how much of the scale each cell covers
    large       share of all records that groups are joined up to
    records     how many there are, where the cells are not all of the column's

    Bottom-up: the two neighbours that differ least are joined, until every two neighbours differ or hold too much. The
    difference is the chi-squared statistic of "the same density in every class", with the variance of noise and of
    sampling. In the end what is small, such as an empty cell between two large ones, is joined to what it is like.
    """
    limit, total = (
        2 * gammaincinv(counts.shape[1] / 2, Tuning.level),
        max(counts.sum() if records is None else records, 1.0),
    )

    def up_to_large(counts: FloatArray, variance: FloatArray, width: FloatArray) -> FloatArray:
        held = counts.sum(axis=1)
        too_much = held[:-1] + held[1:] > large * total
        return np.where(too_much, np.inf, _differences(counts, variance, width))

    def small_ones(counts: FloatArray, variance: FloatArray, width: FloatArray) -> FloatArray:
        held = counts.sum(axis=1)
        too_much = np.minimum(held[:-1], held[1:]) > Tuning.small * total
        return np.where(too_much, np.inf, _differences(counts, variance, width))

    first = _merged(counts, variance, widths.astype(float), up_to_large, limit, 1)
    joined = [sum_groups(part, first) for part in (counts, variance, widths.astype(float))]
    second: IntArray = _merged(joined[0], joined[1], joined[2], small_ones, limit, 1)
    return second[first]


def merge_within(kinds: IntArray, counts: FloatArray, variance: FloatArray, widths: NDArray[np.integer]) -> IntArray:
    """As `merge_alike`, but neighbours of different kinds are never joined."""
    groups = np.empty(len(kinds), dtype=np.int64)
    ends = (*np.flatnonzero(np.diff(kinds)) + 1, len(kinds))
    for first, last in itertools.pairwise((0, *ends)):
        at = slice(first, last)
        found = merge_alike(counts[at], variance[at], widths[at], records=float(counts.sum()))
        groups[at] = found + (groups[first - 1] + 1 if first else 0)
    return groups


def merge_to(counts: FloatArray, variance: FloatArray, widths: NDArray[np.integer], most: int) -> IntArray:
    """At most so many groups of neighbours: those that hold little and differ little are joined first."""

    def cost(counts: FloatArray, variance: FloatArray, width: FloatArray) -> FloatArray:
        held = counts.sum(axis=1).clip(0)
        costs: FloatArray = (held[:-1] + held[1:]) * np.sqrt(_differences(counts, variance, width))
        return costs

    return _merged(counts, variance, widths.astype(float), cost, np.inf, most)


Cost = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def _merged(
    counts: FloatArray, variance: FloatArray, width: FloatArray, cost: Cost, limit: float, least: int
) -> IntArray:
    """Join the two neighbours of least cost, as long as it is within the limit and more than `least` are left."""
    counts, variance, width = counts.copy(), variance.copy(), width.copy()
    cells, first = len(counts), np.arange(len(counts), dtype=np.float64)
    while len(counts) > least:
        costs = cost(counts, variance, width)
        i = int(np.argmin(costs))
        if costs[i] > limit:
            break
        for part in (counts, variance, width):
            part[i] += part[i + 1]
        counts, variance, width, first = (np.delete(part, i + 1, axis=0) for part in (counts, variance, width, first))
    return np.searchsorted(first, np.arange(cells), side="right") - 1


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
    alone = totals >= max(Tuning.rare, -float(ndtri(min(Tuning.false / len(totals), 0.5)))) * deviation
    if most is not None and alone.sum() + (not alone.all()) > most:
        smallest_kept = np.sort(totals)[::-1][most - 2]
        alone &= totals >= smallest_kept
    return np.where(alone, np.cumsum(alone) - 1, alone.sum())


def sum_groups(values: FloatArray, groups: IntArray) -> FloatArray:
    """Values of cells (first axis) added up within each group."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(groups.max() + 1))
    summed: FloatArray = np.add.reduceat(values[order], starts, axis=0)
    return summed
