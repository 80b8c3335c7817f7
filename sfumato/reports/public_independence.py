"""Whether a noisy table of two columns shows more dependence than noise and chance would.

Let T be the table (r x c) of n records that are drawn independently, with noise of deviation s in every cell, and let
both columns be independent, with shares p and q. For vectors a and b with a'p = b'q = 0 the number a'T b has mean 0 and
variance s^2 |a|^2 |b|^2 + n (a' diag(p) a) (b' diag(q) b): noise, and which records were drawn. Bases of all such a and
b in which both matrices are diagonal make all these numbers uncorrelated, so that the sum of their squares, each over
its variance, follows a chi-squared law with (r - 1) (c - 1) degrees of freedom.

p and q are those of the table itself. With a orthogonal to T 1 and b to T' 1 noise in them takes away from the sum and
does not add to it, as long as the table's total stands above its own noise.

The sum of all is blunt where columns have an order. So the same is asked of single scores, the ranks of ordered cells,
on one side or both, and the least of these probabilities is taken, times how many were asked.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray

_STANDS = 6.0  # deviations of its own noise by which a total must lie above 0
_CELLS = 10  # that an ordered column is put together to
_VALUES = 24  # of a list that are kept apart
_SEEN = 4.0  # deviations of noise that a value must hold to be kept apart
_ONE_RECORD = 1.0  # added to every variance: with little noise a nearly empty cell proves nothing
_SPLITS = 500  # terms of the continued fraction


@dataclass(frozen=True, eq=False)
class Side:
    """The cells of one column in a table: the number of each ordered cell, NaN for missing; None for a list."""

    numbers: FloatArray | None


def chance_of_table(table: FloatArray, sigma: float, sides: tuple[Side, Side], together: int = 1) -> float:
    """The probability that independent columns make a table at least this far from independence.

    table      noisy counts, cells of one column by cells of the other
    sigma      the deviation of the noise in every cell
    sides      what the cells of both columns are
    together   how many records may belong to one person, and be alike

    Returns 1 where the table does not stand above its noise.

    Example
        >>> either = Side(None)
        >>> chance_of_table(np.array([[900.0, 100.0], [100.0, 900.0]]), 10.0, (either, either)) < 1e-9
        True
    """
    total = float(table.sum())
    if min(table.shape) < 2 or total < _STANDS * sigma * math.sqrt(table.size):
        return 1.0
    rows = _Cells.of(table.sum(axis=1), sigma * math.sqrt(table.shape[1]), sides[0])
    columns = _Cells.of(table.sum(axis=0), sigma * math.sqrt(table.shape[0]), sides[1])
    merged = rows.merge(columns.merge(table.T).T)
    chances = [
        _chance(one @ merged @ other.T, sigma**2, together * total, spread, also)
        for (one, spread), (other, also) in itertools.product(rows.bases(), columns.bases())
    ]
    return min(1.0, len(chances) * min(chances)) if chances else 1.0


def _chance(seen: FloatArray, noise: float, records: float, one: FloatArray, other: FloatArray) -> float:
    """Of uncorrelated numbers: whose squares are so large."""
    variances = noise + records * np.outer(one, other) + _ONE_RECORD
    return tail_of_chi_squared(float((seen**2 / variances).sum()), seen.size)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a column put together to fewer: the group of each, the groups' shares and their ranks, if any."""

    groups: IntArray
    shares: FloatArray
    ranks: FloatArray | None

    @classmethod
    def of(cls, counts: FloatArray, noise: float, side: Side) -> "_Cells":
        if side.numbers is None:
            groups = _group_listed(counts, noise)
            return cls(groups, _shares_of(counts, groups), None)
        groups, ordered = _group_ordered(counts, side.numbers)
        shares = _shares_of(counts, groups)
        middles = np.cumsum(shares) - shares / 2
        ranks = np.where(np.arange(len(shares)) < ordered, middles, np.nan)
        return cls(groups, shares, ranks)

    def merge(self, table: FloatArray) -> FloatArray:
        """The rows of a table put together."""
        merged = np.zeros((len(self.shares), table.shape[1]))
        np.add.at(merged, self.groups, table)
        return merged

    def bases(self) -> list[tuple[FloatArray, FloatArray]]:
        """All contrasts, and the one of the ranks; each with the share of the records' variance that it sees."""
        if len(self.shares) < 2:
            return []
        sizes = np.bincount(self.groups).astype(np.float64)
        complement = np.linalg.svd((self.shares / np.sqrt(sizes))[None])[2][1:]
        full = complement / np.sqrt(sizes)  # orthogonal to the shares, and of unit noise
        spread, turned = np.linalg.eigh((full * self.shares.clip(0)) @ full.T)
        found = [(turned.T @ full, spread.clip(0))]
        if self.ranks is not None and len(self.shares) > 2:
            away = self.ranks - float(np.nansum(self.ranks * self.shares)) / float(
                self.shares[~np.isnan(self.ranks)].sum()
            )
            score = np.nan_to_num(away)
            score /= math.sqrt(float((sizes * score**2).sum())) or 1.0
            found.append((score[None], np.array([float((self.shares.clip(0) * score**2).sum())])))
        return found


def _shares_of(counts: FloatArray, groups: IntArray) -> FloatArray:
    held = np.bincount(groups, weights=counts).astype(np.float64)
    shares: FloatArray = held / held.sum()
    return shares


def _group_listed(counts: FloatArray, noise: float) -> IntArray:
    """Values that stand above their noise each alone, all others together."""
    order = np.argsort(-counts, kind="stable")
    kept = [place for place in order[:_VALUES].tolist() if counts[place] > _SEEN * noise]
    groups = np.full(len(counts), len(kept))
    groups[kept] = np.arange(len(kept))
    return groups if len(kept) < len(counts) else np.arange(len(counts))


def _group_ordered(counts: FloatArray, numbers: FloatArray) -> tuple[IntArray, int]:
    """Neighbours together until each group holds its part of the records; missing alone. And how many are ordered."""
    order = np.argsort(numbers, kind="stable")  # NaN last
    present = int((~np.isnan(numbers)).sum())
    held = counts[order[:present]].clip(0)
    reached = (np.cumsum(held) - held / 2) / max(float(held.sum()), 1e-300)
    _, place = np.unique(np.minimum((reached * _CELLS).astype(np.int64), _CELLS - 1), return_inverse=True)
    ordered = int(place.max(initial=-1)) + 1
    groups = np.empty(len(counts), dtype=np.int64)
    groups[order[:present]] = place
    groups[order[present:]] = ordered
    return groups, ordered


def tail_of_chi_squared(value: float, degrees: int) -> float:
    """The probability that a chi-squared variable is at least this large.

    By the series of the incomplete gamma function below its middle, and by its continued fraction above.

    Example
        >>> round(tail_of_chi_squared(3.841, 1), 3)
        0.05
    """
    a, x = degrees / 2, value / 2
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for k in range(1, _SPLITS * 4):
            term *= x / (a + k)
            total += term
            if term < total * 1e-16:
                break
        return max(0.0, 1 - scale * total)
    b, c = x + 1 - a, 1e300
    d = 1 / b
    fraction = d
    for k in range(1, _SPLITS):
        step = -k * (k - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return min(1.0, scale * fraction)
