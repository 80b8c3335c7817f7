"""Values that are multiples of a step, counted in steps: 37.3 in tenths is 373.

A step is multiple / 10**decimals, both whole, so that each of its multiples is the quotient of two floats that are
exact: the float64 nearest to the decimal, 37.3 and never 37.300000000000004.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.encoding import reading
from sfumato.trusted.encoding.decimals import Unit
from sfumato.trusted.encoding.values import ReadText, float_of_text
from sfumato.trusted.schema.steps import decimals_of

_MOST_POWERS = 17


class Step(NamedTuple):
    """The distance between two values, multiple / 10**decimals.

    Formal guarantees
        `counts` is IEEE arithmetic on each value alone: a product with a power of ten, then a quotient. Both are
        monotone. The schema sees to it that bounds are below 2**50 units of the last decimal, so that a count that
        `numbers` writes is less than half a step from where `counts` finds it, and rounding leads back to it.
    """

    multiple: int
    decimals: int

    @classmethod
    def of(cls, spacing: Fraction) -> "Step":
        """The step that a schema names."""
        decimals = decimals_of(spacing)
        return cls(int(spacing * 10**decimals), decimals)

    @property
    def size(self) -> float:
        """The step as a number."""
        return float(Fraction(self.multiple, 10**self.decimals))

    def counts(self, numbers: FloatArray) -> FloatArray:
        """How many steps each number is, not rounded."""
        with np.errstate(over="ignore", invalid="ignore"):  # a warning would tell of a value
            counts: FloatArray = numbers * 10.0**self.decimals
        counts /= self.multiple
        return counts

    def numbers(self, counts: FloatArray) -> FloatArray:
        """The float64 nearest to so many steps, for whole counts; near to it for others."""
        numbers: FloatArray = counts * float(self.multiple) / 10.0**self.decimals
        return numbers

    def settled(self, counts: FloatArray) -> FloatArray:
        """The whole count of each value that a multiple is stored as, in 64 or 32 bits; others as they are."""
        with np.errstate(over="ignore", invalid="ignore"):
            whole = np.rint(counts)
            stored = self.numbers(whole)
            rounded = stored.astype(np.float32).astype(np.float64)
        return np.where((counts == self.counts(stored)) | (counts == self.counts(rounded)), whole, counts)

    @property
    def chain(self) -> tuple[Unit, ...]:
        """Counts of steps whose multiples are round, finest first: those that 1, 5, 10, 50 ... last decimals divide."""
        units = [k * 10**e for e in range(_MOST_POWERS) for k in (1, 5)]
        return tuple((count, 0) for count in sorted({math.lcm(unit, self.multiple) // self.multiple for unit in units}))


@dataclass(frozen=True)
class CountedReader:
    """Reads values as counts of steps."""

    step: Step
    of_text: ReadText = float_of_text

    def __call__(self, array: pa.Array) -> reading.Numbers:
        """See `reading.as_numbers`."""
        numbers, unread = reading.as_numbers(array, self.of_text)
        return reading.Numbers(self.step.counts(numbers), unread)


@dataclass(frozen=True)
class CountedWriter:
    """Writes counts of steps as the multiples that they are, as floats or as integers."""

    step: Step
    whole: bool

    def __call__(self, counts: FloatArray, null: BoolArray | None) -> pa.Array:
        """The values, null where it says so."""
        numbers = self.step.numbers(np.rint(counts))
        return pa.array(numbers.astype(np.int64) if self.whole else numbers, mask=null)
