"""A column that is never below others is measured as its distance from the greatest of them.

`discharged >= admitted` is kept in every sample, because a distance is never negative; and its distribution is simpler
than that of a second date. Values that break the relation count as distance 0.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints.numbers import Numbers


@dataclass(frozen=True)
class Gap:
    """The distance of `column` from the greatest of its `references`, each with the least distance from it.

    Where no reference has a value the distance is from `start`.
    """

    column: str
    references: tuple[tuple[str, float], ...]
    start: float

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that decide it."""
        return self.column, *(name for name, _ in self.references)

    @property
    def gives(self) -> tuple[str, ...]:
        """The columns of the table that follow from it."""
        return (self.column,)

    def base(self, numbers: Numbers) -> FloatArray:
        """Where the distance is counted from."""
        nearest = np.fmax.reduce([numbers[name] + least for name, least in self.references])
        return np.where(np.isnan(nearest), self.start, nearest)

    def forward(self, numbers: Numbers) -> FloatArray:
        """The distance of each record, whose numbers lie no lower than they may; NaN where the column is missing."""
        return numbers[self.column] - self.base(numbers)

    def backward(self, distance: FloatArray, numbers: Numbers) -> dict[str, FloatArray]:
        """The column, given the distance and the references."""
        return {self.column: self.base(numbers) + distance}
