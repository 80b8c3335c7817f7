"""From noisy counts to distributions. Post-processing: it sees released counts and the law of their noise only."""

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.trusted.arrays import FloatArray, IntArray


def project(counts: FloatArray, total: float) -> FloatArray:
    """The non-negative counts nearest to noisy ones that add up to `total` > 0 (least squares on the simplex)."""
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    too_much = excess[np.flatnonzero(falling > excess)[-1]]
    return np.maximum(counts - float(too_much), 0.0)


def shrink(values: FloatArray, towards: FloatArray, variance: FloatArray) -> FloatArray:
    """Noisy values drawn towards a guess as far as noise explains the distance (positive-part James and Stein)."""
    distance = float(((values - towards) ** 2).sum())
    explained = float(variance.sum())
    return towards + max(0.0, 1 - explained / distance) * (values - towards) if distance > 0 else values


def class_totals(tables: list[FloatArray]) -> tuple[FloatArray, float]:
    """The records of each class, from tables (cells x classes) of equal noise, and the variance in noise variances.

    Every table adds up to the same totals; a sum over A cells has A times the noise variance, so it gets weight 1 / A.
    """
    weights = np.array([1 / len(table) for table in tables])
    totals: FloatArray = np.tensordot(weights, [table.sum(axis=0) for table in tables], axes=1) / weights.sum()
    return totals, 1 / float(weights.sum())


def distributions(counts: FloatArray, variance: FloatArray, totals: FloatArray) -> FloatArray:
    """The distribution over cells in every class (classes x cells) from noisy counts (cells x classes).

    The pooled distribution comes first, because it is known best; each class is drawn towards it as far as noise and
    sampling explain the difference, then made a distribution. One record's worth of the pooled distribution is added to
    each class, and one spread evenly to the pool: no cell is impossible.
    """
    size, cells = totals.sum(), len(counts)
    pooled = (project(counts.sum(axis=1), size) + 1 / cells) / (size + 1)
    theta = np.empty((len(totals), cells))
    for c, total in enumerate(totals):
        expected = total * pooled
        near = shrink(counts[:, c], expected, variance + expected)
        theta[c] = (project(near, total) + pooled) / (total + 1)
    return theta


def inside_groups(
    counts: FloatArray, variance: FloatArray, groups: IntArray, widths: NDArray[np.integer]
) -> FloatArray:
    """The probability of every cell given its group, from the cells' own noisy counts, drawn towards even density."""
    share = widths / sum_groups(widths.astype(float), groups)[groups]
    inside = np.empty(len(counts))
    for group in range(groups.max() + 1):
        at = groups == group
        total = max(counts[at].sum(), 1.0)
        even = total * share[at]
        inside[at] = (project(shrink(counts[at], even, variance[at] + even), total) + share[at]) / (total + 1)
    return inside
