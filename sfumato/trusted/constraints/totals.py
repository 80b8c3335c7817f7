"""Columns that add up to a total are measured as the share that each takes of what the ones before have left.

The last is what remains, so that the total holds in every sample.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints.numbers import Numbers


@dataclass(frozen=True)
class Parts:
    """The columns `names` that add up to `total`, a column or a constant, in multiples of `step`; 0: of anything."""

    names: tuple[str, ...]
    total: str | float
    step: float

    def whole(self, numbers: Numbers, rows: int) -> FloatArray:
        """The total of each record."""
        return numbers[self.total] if isinstance(self.total, str) else np.full(rows, self.total)


@dataclass(frozen=True)
class Share:
    """The share that one of the parts takes of what those before it leave; of nothing it takes nothing.

    The last part has no share: it is computed.
    """

    parts: Parts
    place: int

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that decide it."""
        before = self.parts.names[: self.place + 1]
        return (*before, *([self.parts.total] if isinstance(self.parts.total, str) else []))

    @property
    def gives(self) -> tuple[str, ...]:
        """The columns of the table that follow from it: with the last share all that is left is known."""
        names = self.parts.names
        return names[self.place :] if self.place == len(names) - 2 else names[self.place : self.place + 1]

    def left(self, numbers: Numbers, rows: int) -> FloatArray:
        """What the parts before this one leave of the total; below 0 where they are more than it."""
        left = self.parts.whole(numbers, rows)
        for name in self.parts.names[: self.place]:
            left = left - numbers[name]
        return left

    def forward(self, numbers: Numbers) -> FloatArray:
        """The share of each record; above 1 where the parts are more than the total."""
        own = numbers[self.parts.names[self.place]]
        left = self.left(numbers, len(own))
        return np.divide(own, left, out=np.zeros_like(own), where=left > 0)

    def backward(self, share: FloatArray, numbers: Numbers) -> dict[str, FloatArray]:
        """The part, and with the last share the last part."""
        left, step = self.left(numbers, len(share)), self.parts.step
        taken = share * left
        taken = np.minimum(np.rint(taken / step) * step, left) if step else taken
        found = {self.parts.names[self.place]: taken}
        if len(self.gives) > 1:
            found[self.parts.names[-1]] = np.maximum(left - taken, 0.0)
        return found
