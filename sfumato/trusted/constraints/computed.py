"""Columns that are never measured, because they follow from others: sums, differences, years, functions by a table."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints.numbers import Numbers
from sfumato.trusted.encoding import CategoricalCodec
from sfumato.trusted.schema.relations import Equation

_DAY = 86_400


@dataclass(frozen=True)
class Computed:
    """A column by an equation; null where one of its sources is."""

    equation: Equation
    seconds: bool  # whether years are between datetimes

    @property
    def column(self) -> str:
        """The column."""
        return self.equation.column

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it follows from."""
        return self.equation.sources

    def compute(self, numbers: Numbers) -> FloatArray:
        """The value of each record."""
        if self.equation.years:
            (first, last) = sorted(self.equation.terms)  # -1 is the earlier
            return full_years(*(numbers[name] // (_DAY if self.seconds else 1) for _, name in (first, last)))
        total = np.full(len(numbers[self.reads[0]]), self.equation.constant)
        for factor, name in self.equation.terms:
            total = total + factor * numbers[name]
        return total


def full_years(earlier: FloatArray, later: FloatArray) -> FloatArray:
    """How many birthdays lie after a day (in days since 1970) and not after another; NaN where one is unknown."""
    known = ~(np.isnan(earlier) | np.isnan(later))
    years, days = [], []
    for day in (earlier, later):
        date = np.where(known, day, 0).astype("datetime64[D]")
        year, month = date.astype("datetime64[Y]"), date.astype("datetime64[M]")
        years.append(year.astype(np.int64))
        days.append((month - year).astype(np.int64) * 31 + (date - month).astype(np.int64))
    full = years[1] - years[0] - (days[1] < days[0])
    return np.where(known, full.astype(np.float64), np.nan)


@dataclass(frozen=True)
class LookedUp:
    """A listed column whose value a table gives for each value of another."""

    column: str
    of: str
    child: CategoricalCodec
    parent: CategoricalCodec
    table: tuple[tuple[str | int | float, str | int | float], ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """The column that it follows from."""
        return (self.of,)

    def codes(self) -> np.ndarray:
        """The child's code for each code of the parent; of what the table does not name, that of nothing."""
        found = np.full(self.parent.size, self.child.otherwise if self.child.missing is None else self.child.missing)
        for value, image in self.table:
            found[self.parent.code_of(value)] = self.child.code_of(image)
        return found.astype(np.int32)

    def look_up(self, parent: pa.Array) -> pa.Array:
        """The child of each parent."""
        codes = self.codes()[self.parent.encode(parent)]
        return self.child.decode(codes, np.zeros(len(codes)))
