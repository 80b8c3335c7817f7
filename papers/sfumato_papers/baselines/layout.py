"""How a record looks to a network, and back.

A number is itself; a category of k values is k zeros and ones, and so is the label, which comes last. What a network
gives is soft: numbers between 0 and 1 by a sigmoid, and for each category and the label a softmax.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato_papers.baselines.interface import Table, Tensor

Choice = Callable[[FloatArray], IntArray]
"""One value for each row of a soft block."""


@dataclass(frozen=True)
class Layout:
    """The places of a record's columns: `kinds` and `classes` as in `Table`."""

    kinds: tuple[int, ...]
    classes: int

    @classmethod
    def of(cls, table: Table) -> "Layout":
        """That of a table."""
        return cls(table.kinds, table.classes)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where each column of the table is, and the label at the end."""
        ends = np.cumsum([max(kind, 1) for kind in (*self.kinds, self.classes)]).tolist()
        return tuple(slice(start, end) for start, end in zip((0, *ends), ends, strict=False))

    @property
    def width(self) -> int:
        """Of a whole record."""
        return int(self.places[-1].stop)

    @property
    def label(self) -> slice:
        """Where the label is. All before it are features."""
        return self.places[-1]

    @cached_property
    def numbers(self) -> IntArray:
        """Places of the numbers."""
        starts = [place.start for place, kind in zip(self.places, self.kinds, strict=False) if not kind]
        return np.array(starts, dtype=np.int64)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """Places of the categories, and then of the label."""
        kinds = (*self.kinds, self.classes)
        return tuple(place for place, kind in zip(self.places, kinds, strict=True) if kind)

    def encode(self, table: Table) -> FloatArray:
        """A row for each record."""
        rows = np.zeros((len(table), self.width))
        each = np.arange(len(table))
        for place, kind, values in zip(self.places, (*self.kinds, self.classes), (*table.X.T, table.y), strict=True):
            if kind:
                rows[each, place.start + values.astype(np.int64)] = 1
            else:
                rows[:, place.start] = values
        return rows

    def decode(self, soft: FloatArray, choose: Choice) -> tuple[FloatArray, IntArray]:
        """Features and labels of soft rows; numbers are cut to [0, 1]."""
        columns = [
            choose(soft[:, place]) if kind else np.clip(soft[:, place.start], 0, 1)
            for place, kind in zip(self.places, self.kinds, strict=False)
        ]
        return np.column_stack(columns).astype(np.float64), choose(soft[:, self.label])

    def squash(self, raw: Tensor) -> Tensor:
        """The soft rows of what comes out of a network's last layer."""
        import torch

        return self._squashed(raw, lambda block: torch.softmax(block, dim=1))

    def sample(self, raw: Tensor) -> Tensor:
        """Rows with zeros and ones, drawn from the softmax, whose gradients are nearly those of soft rows."""
        from torch.nn.functional import gumbel_softmax

        return self._squashed(raw, lambda block: gumbel_softmax(block, hard=True))

    def _squashed(self, raw: Tensor, of_block: Callable[[Tensor], Tensor]) -> Tensor:
        import torch

        parts = [
            of_block(raw[:, place]) if kind else torch.sigmoid(raw[:, place])
            for place, kind in zip(self.places, (*self.kinds, self.classes), strict=True)
        ]
        return torch.cat(parts, dim=1)


def largest(block: FloatArray) -> IntArray:
    """The value with the largest entry."""
    values: IntArray = block.argmax(axis=1).astype(np.int64)
    return values


def drawn(rng: np.random.Generator) -> Choice:
    """Each value as often as its entry says."""

    def choose(block: FloatArray) -> IntArray:
        below = np.cumsum(block, axis=1)
        chance = rng.random((len(block), 1)) * below[:, -1:]
        values: IntArray = np.minimum((below <= chance).sum(axis=1), block.shape[1] - 1).astype(np.int64)
        return values

    return choose
