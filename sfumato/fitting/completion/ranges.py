"""From noisy counts of cells to the range that a column's values surely fill."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.completion.tuning import Tuning
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding.unknown import HIGHEST, LOWEST, NUMBERS, PER_OCTAVE, ZERO, codes_of_numbers, nearest_zero
from sfumato.trusted.feature_maps import Grid

_FARTHEST = 2.0**HIGHEST
_NOTHING = 2.0**LOWEST


class Range(NamedTuple):
    """From one number to another."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """How long it is."""
        return self.high - self.low

    def widen(self) -> "Range":
        """As much again on either side: what noise hid of the tails."""
        return Range(max(self.low - self.width, -_FARTHEST), min(self.high + self.width, _FARTHEST))


EVERYTHING = Range(-_FARTHEST, _FARTHEST)


class Cells(NamedTuple):
    """The cells of a question about one column: the codes at which they begin, the first left out, and their range."""

    begins: IntArray
    within: Range

    @property
    def grid(self) -> Grid:
        """The cell of every code; values that cannot be read have the last."""
        starts = (0, *self.begins.tolist(), NUMBERS)
        return Grid(starts, tuple(range(len(starts))), NUMBERS + 2)

    @property
    def ends(self) -> FloatArray:
        """The numbers at which cells begin and end."""
        return np.concatenate(([self.within.low], _lowest_of(self.begins), [self.within.high]))


def _lowest_of(codes: IntArray) -> FloatArray:
    """The number at which a code begins: of negative ones the end that is farther from 0."""
    return np.where(codes > ZERO, nearest_zero(codes), nearest_zero(codes - 1))


def octaves() -> Cells:
    """A cell between any two powers of two, of either sign, and one for 0."""
    steps = np.arange(HIGHEST - LOWEST, dtype=np.int64) * PER_OCTAVE
    return Cells(np.concatenate((ZERO - steps[::-1], ZERO + 1 + steps)), EVERYTHING)


def even(within: Range) -> Cells:
    """Cells of equal length; 0 has one of its own."""
    begins = codes_of_numbers(np.linspace(within.low, within.high, Tuning.cells + 1)[1:-1]).astype(np.int64)
    zero = [ZERO, ZERO + 1] if within.low < 0 < within.high else []
    return Cells(np.unique(np.concatenate((begins, np.array(zero, dtype=np.int64)))).clip(1), within)


def found(cells: Cells, counts: NDArray[np.int64], sigma: float) -> Range | None:
    """The range of the cells that stand out from the noise; None where none do."""
    runs = [run for run in (_worth_it(counts, sigma), _standing_out(counts, sigma)) if run]
    if not runs:
        return None
    ends = cells.ends
    return Range(float(ends[min(first for first, _ in runs)]), float(ends[max(last for _, last in runs)]))


def _worth_it(counts: NDArray[np.int64], sigma: float) -> tuple[int, int] | None:
    """The run of cells with the largest sum of counts, less a price for each, so that its ends hold more than noise."""
    before = np.concatenate(([0.0], np.cumsum(counts - Tuning.price * sigma)))
    gain = before[1:] - np.minimum.accumulate(before[:-1])
    last = int(gain.argmax())
    if gain[last] < Tuning.signal * sigma:
        return None
    return int(before[: last + 1].argmin()), last + 1


def _standing_out(counts: NDArray[np.int64], sigma: float) -> tuple[int, int] | None:
    """From the first to the last cell that stands out, or stretch of cells none of which does by itself."""
    sums, covered = np.concatenate(([0], np.cumsum(counts))), np.zeros(len(counts), dtype=bool)
    length = 1
    while length <= min(len(counts), Tuning.longest):
        loud = np.flatnonzero(sums[length:] - sums[:-length] > Tuning.sure * sigma * length**0.5)
        fresh = [first for first in loud if not covered[first : first + length].any()]
        for first in fresh:
            covered[first : first + length] = True
        length *= 2
    return (int(covered.argmax()), len(covered) - int(covered[::-1].argmax())) if covered.any() else None


def far_from_zero(within: Range) -> bool:
    """Whether a column's values lie so close together that powers of two hardly tell them apart."""
    sizes = sorted(map(abs, within))
    return within.low * within.high > 0 and sizes[1] <= 2.0**Tuning.octaves * sizes[0]


def reaches_below(within: Range) -> bool:
    """Whether a range has negative numbers, beyond those that count as 0."""
    return within.low < -_NOTHING
