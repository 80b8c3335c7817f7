"""Listed columns that rules tie together are measured as one: a value for each combination that the rules allow.

So none of them is ever broken, and the columns' dependence on each other is known as well as a column by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import BoolArray, CodeArray, IntArray
from sfumato.trusted.encoding import CategoricalCodec

MOST_COMBINATIONS = 32


@dataclass(frozen=True, eq=False)
class Joint:
    """The combination of a record's codes in some listed columns.

    allowed   whether each combination may occur (an axis for each column). One that may not counts as the first that
              may among those that agree with it in as many columns, from the first on, as any does
    """

    names: tuple[str, ...]
    codecs: tuple[CategoricalCodec, ...]
    allowed: BoolArray

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that decide it."""
        return self.names

    @property
    def gives(self) -> tuple[str, ...]:
        """The columns of the table that follow from it."""
        return self.names

    @cached_property
    def combinations(self) -> IntArray:
        """The codes of each combination that may occur (combinations x columns)."""
        return np.argwhere(self.allowed)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Each combination in words."""
        words = [(*codec.texts, *(["missing"] if codec.nullable else [])) for codec in self.codecs]
        shown = [" / ".join(part[code] for part, code in zip(words, row, strict=True)) for row in self.combinations]
        return tuple(
            f"{text}{f' ({shown[:place].count(text) + 1})' * (text in shown[:place])}"
            for place, text in enumerate(shown)
        )

    @cached_property
    def _number_of(self) -> IntArray:
        """The number of the combination that each cell counts as."""
        numbers = np.full(self.allowed.shape, -1)
        numbers[tuple(self.combinations.T)] = np.arange(len(self.combinations))
        for cell in np.argwhere(~self.allowed):
            alike = np.cumprod(self.combinations == cell, axis=1).sum(axis=1)
            numbers[tuple(cell)] = int(np.argmax(alike))
        return numbers.ravel()

    def forward(self, codes: Sequence[CodeArray]) -> pa.DictionaryArray:
        """The combination of each record, from its codes in the columns."""
        cells = np.ravel_multi_index(tuple(codes), self.allowed.shape)
        return pa.DictionaryArray.from_arrays(self._number_of[cells].astype(np.int32), pa.array(self.texts))

    def backward(self, numbers: CodeArray) -> dict[str, pa.Array]:
        """The columns, from the numbers of combinations."""
        codes = self.combinations[numbers].astype(np.int32)
        middle = np.zeros(len(numbers))
        return {
            name: codec.decode(codes[:, place], middle)
            for place, (name, codec) in enumerate(zip(self.names, self.codecs, strict=True))
        }
