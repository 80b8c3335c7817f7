"""How far two columns are apart, as a person would compare them: shares of values, and places of numbers."""

from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.raw_values import RawColumn
from sfumato.trusted.arrays import AnyIntArray, FloatArray

_LOWEST, _HIGHEST = 0.01, 0.99  # quantiles of the real numbers between which their range lies
_SPARSE = 4  # integers for each record from which on those that occur are looked for
_SAME = 1e-4  # numbers that are nearer than this share of the range are the same: stored digits differ


@dataclass(frozen=True)
class Distance:
    """Two columns; 0 is equal, and a share of 1 is disjoint.

    share    of a listed column the total variation: the share of records whose value would have to change.
             Of numbers the Kolmogorov-Smirnov distance: the largest difference of the shares up to some number
    moved    of numbers the Wasserstein distance: how far a record's number has to move in the mean, as a share of the
             range of the real numbers; None for a listed column
    """

    share: float
    moved: float | None = None

    @property
    def measure(self) -> str:
        """The name of what `share` is."""
        return "total variation" if self.moved is None else "Kolmogorov-Smirnov"


def column_distance(real: RawColumn, other: RawColumn, *, listed: bool) -> Distance:
    """How far a column is from the real one; of two empty ones 0."""
    if listed:
        return Distance(total_variation(number_values(real), number_values(other)))
    here, there, width = _Places.of(real), _Places.of(other), range_of(real.values)
    return Distance(_kolmogorov_smirnov(here, there, _SAME * width), _wasserstein(here, there, width))


def number_values(listed: RawColumn) -> AnyIntArray:
    """The values of a listed column as integers from 0 on; null is 0."""
    return (np.nan_to_num(listed.values, nan=-1.0) + 1).astype(np.int32)


def total_variation(real: AnyIntArray, other: AnyIntArray) -> float:
    """Half the sum of the differences of the shares of all integers from 0 on."""
    size = 1 + max(int(part.max(initial=0)) for part in (real, other))
    if size > _SPARSE * (len(real) + len(other)):  # most integers occur nowhere
        values, places = np.unique(np.concatenate((real, other)), return_inverse=True)
        size, (real, other) = len(values), np.split(places, [len(real)])
    counts = [np.bincount(part, minlength=size) for part in (real, other)]
    shares = [count / max(len(part), 1) for count, part in zip(counts, (real, other), strict=True)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def range_of(numbers: FloatArray) -> float:
    """The range of the middle 98 % of the finite numbers; where these are equal of all, and else 1."""
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return 1.0
    middle = np.quantile(finite, [_LOWEST, _HIGHEST])
    return float(middle[1] - middle[0]) or float(finite.max() - finite.min()) or 1.0


@dataclass(frozen=True)
class _Places:
    """Where the records of a column of numbers are: a null stands before all numbers, an unreadable value after them.

    numbers   in rising order, of those that have one
    null, unread, number   shares of all records
    """

    numbers: FloatArray
    null: float
    unread: float
    number: float

    @classmethod
    def of(cls, column: RawColumn) -> "_Places":
        numbers, rows = np.sort(column.values[~np.isnan(column.values)]), max(len(column.values), 1)
        unread = int(column.unread.sum())
        return cls(numbers, (len(column.values) - len(numbers) - unread) / rows, unread / rows, len(numbers) / rows)

    def share_up_to(self, places: FloatArray) -> FloatArray:
        """The share of the records that are null or have a number up to each place."""
        below = np.searchsorted(self.numbers, places, side="right")
        return self.null + self.number * below / max(len(self.numbers), 1)


def _kolmogorov_smirnov(here: _Places, there: _Places, same: float) -> float:
    """The largest difference of the shares up to a place, where numbers that are `same` count as equal."""
    far = [abs(here.null - there.null)]
    for one, two in ((here, there), (there, here)):
        ahead = one.share_up_to(one.numbers) - two.share_up_to(one.numbers + same)
        far.append(float(ahead.max(initial=0.0)))
    return min(max(far), 1.0)


def _wasserstein(here: _Places, there: _Places, width: float) -> float:
    """How far numbers move in the mean, in ranges; one that becomes null or unreadable, or the reverse, moves by 1."""
    kinds = [np.array([one.number, one.null, one.unread]) for one in (here, there)]
    changed = float(np.abs(kinds[0] - kinds[1]).sum() / 2)
    return changed + min(here.number, there.number) * _mean_move(here.numbers, there.numbers) / width


def _mean_move(here: FloatArray, there: FloatArray) -> float:
    """The area between two distribution functions. What is infinite counts as the outermost finite number."""
    both = np.sort(np.concatenate((here, there)), kind="stable")  # two sorted runs
    finite = both[np.isfinite(both)]
    if not len(here) or not len(there) or not len(finite):
        return 0.0
    here, there, both = (part.clip(finite[0], finite[-1]) for part in (here, there, both))
    shares = [np.searchsorted(part, both[:-1], side="right") / len(part) for part in (here, there)]
    return float(np.abs(shares[0] - shares[1]) @ np.diff(both))
