"""The codes of columns whose bounds or list of values are still to be bought. They serve the buying and nothing else.

Like all codes they are a public map, a function of the schema alone, and every value has one.
    bounds: estimate   the leading bits of a float64, positive or negative, then a code for nulls; so that cells of any
                       scale, from 2**-30 to 2**50, can be counted
    values: discover   nothing: values are counted by their keys
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import CodeArray, FloatArray, IntArray
from sfumato.trusted.encoding.code_arrays import Limits, encode_array
from sfumato.trusted.encoding.scales import Read, read_of
from sfumato.trusted.schema import Column, TextFormat

LOWEST, HIGHEST = -30, 50  # powers of two: what is nearer to 0 counts as 0, what is farther off as the last
_BITS = 12  # of a number that count, behind the first: bounds are found to a four-thousandth
PER_OCTAVE = 1 << _BITS
ZERO = (HIGHEST - LOWEST) * PER_OCTAVE  # the code of 0; those of positive numbers are above
NUMBERS = 2 * ZERO + 1


class _OfTheBuying:
    """What no column has of which bounds or values are unknown: values to write."""

    def code_of(self, value: object) -> int | None:
        """See `Codes`."""
        raise NotImplementedError("bounds and values that are still unknown are for a release alone")

    def decode(self, codes: CodeArray, inside: FloatArray, limits: Limits = (None, None)) -> pa.Array:
        """See `Codes`."""
        raise NotImplementedError("bounds and values that are still unknown are for a release alone")

    def width(self, codes: CodeArray) -> FloatArray:
        """See `Codes`."""
        raise NotImplementedError("bounds and values that are still unknown are for a release alone")


@dataclass(frozen=True)
class UnboundedCodec(_OfTheBuying):
    """Numbers of any size by sign, power of two and the first twelve bits behind it.

    Edge cases, the code they get
        within 2**-30 of 0                    that of 0
        2**50 away from 0 or more, infinite   the first or last
        null, NaN, a value that cannot be read   one of their own, and not the same where the schema tells them apart
    """

    read: Read
    nullable: bool
    told_apart: bool
    size = NUMBERS + 2
    null = NUMBERS + 1

    @classmethod
    def of(cls, column: Column, text: TextFormat) -> "UnboundedCodec":
        """The codes of a number, integer, date or datetime column whose texts are written so."""
        return cls(read_of(column, text), column.missing, column.missing and column.otherwise is not None)

    @property
    def missing(self) -> int | None:
        """See `Codes`."""
        return self.null if self.nullable else None

    @property
    def unread(self) -> int:
        """The code of a value that cannot be read."""
        return self.null - self.told_apart

    def encode(self, array: pa.Array) -> CodeArray:
        """See `Codes`."""
        return encode_array(array, self._of_values, self.null)

    def _of_values(self, array: pa.Array) -> CodeArray:
        numbers, unread = self.read(array)
        codes = codes_of_numbers(numbers)
        codes[np.isnan(numbers)] = self.null
        if unread is not None:
            codes[unread] = self.unread
        return codes


def codes_of_numbers(numbers: FloatArray) -> CodeArray:
    """The code of each number; that of NaN is any. Every step is exact: powers of two and whole numbers."""
    with np.errstate(invalid="ignore"):  # a warning would tell of a NaN that signals
        size, below = np.fmin(np.abs(numbers), 2.0**HIGHEST), numbers < 0
    share, power = np.frexp(size)  # size = share * 2**power, share from 1/2 up to 1
    place = (power.astype(np.int64) - 1 - LOWEST) * PER_OCTAVE + np.floor((2 * share - 1) * PER_OCTAVE).astype(np.int64)
    place = np.where(size < 2.0**LOWEST, 0, np.minimum(place, ZERO - 1) + 1)
    return (ZERO + np.where(below, -place, place)).astype(np.int32)


def nearest_zero(codes: IntArray) -> FloatArray:
    """Of the numbers of each code the one that is nearest to 0; code 0 and those beyond the last are as the last."""
    place = np.clip(np.abs(codes - ZERO), 0, ZERO + 1)
    octave, part = np.divmod(place - 1, PER_OCTAVE)
    size = np.where(place == 0, 0.0, np.ldexp(1 + part / PER_OCTAVE, octave + LOWEST))
    return np.sign(codes - ZERO) * size


@dataclass(frozen=True)
class UnlistedCodec(_OfTheBuying):
    """One code for every value, and one for nulls: nothing is counted by them."""

    nullable: bool
    size = 2

    @property
    def missing(self) -> int | None:
        """See `Codes`."""
        return 1 if self.nullable else None

    def encode(self, array: pa.Array) -> CodeArray:
        """See `Codes`."""
        return encode_array(array, lambda values: np.zeros(len(values), dtype=np.int32), 1)
