"""Latitude and longitude as one column: the cell of a square grid in which a place lies.

Cells are numbered along Morton's curve, on which neighbours in number are neighbours on the map, so that the cells can
be merged, refined and counted like any column of integers.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.constraints.numbers import Numbers

BITS = 10  # of each coordinate
CELLS = 1 << (2 * BITS)


@dataclass(frozen=True)
class Cell:
    """The cell of a place. Both numbers are cut into equal parts between their bounds."""

    names: tuple[str, str]
    lows: tuple[float, float]
    widths: tuple[float, float]  # of a cell

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that decide it."""
        return self.names

    @property
    def gives(self) -> tuple[str, ...]:
        """The columns of the table that follow from it."""
        return self.names

    def forward(self, numbers: Numbers) -> FloatArray:
        """The cell of each record; NaN where a number is missing."""
        codes = np.zeros(len(numbers[self.names[0]]), dtype=np.int64)
        for shift, (name, low, width) in enumerate(zip(self.names, self.lows, self.widths, strict=True)):
            part = np.floor((np.nan_to_num(numbers[name], nan=low) - low) / width)
            codes |= _spread(part.clip(0, (1 << BITS) - 1).astype(np.int64)) << shift
        unknown = np.isnan(numbers[self.names[0]]) | np.isnan(numbers[self.names[1]])
        return np.where(unknown, np.nan, codes)

    def backward(self, cell: FloatArray, inside: tuple[FloatArray, FloatArray]) -> dict[str, FloatArray]:
        """Two numbers of each cell, at `inside` (0 to 1) of it, with as many digits as a cell can tell, and two."""
        codes = np.nan_to_num(cell).astype(np.int64)
        found = {}
        for shift, (name, low, width) in enumerate(zip(self.names, self.lows, self.widths, strict=True)):
            start = low + _gather(codes >> shift) * width
            number = np.round(start + inside[shift] * width, max(0, 2 - int(np.floor(np.log10(width)))))
            held = np.clip(number, start, np.nextafter(start + width, start))
            found[name] = np.where(np.isnan(cell), np.nan, held)
        return found


_MASKS = ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555))


def _spread(bits: IntArray) -> IntArray:
    """The bits of a number with room for another's between them."""
    for shift, mask in _MASKS:
        bits = (bits | (bits << shift)) & mask
    return bits


def _gather(bits: IntArray) -> IntArray:
    """The bits of a number that `_spread` has spread."""
    bits = bits & _MASKS[-1][1]
    for (shift, _), (_, mask) in zip(reversed(_MASKS), [*reversed(_MASKS[:-1]), (0, 0x0000FFFF)], strict=True):
        bits = (bits | (bits >> shift)) & mask
    return bits
