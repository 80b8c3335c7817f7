"""The sums of small whole numbers, such as how many rows persons have."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register


@dataclass(frozen=True, repr=False)
class CodeSums(Titled):
    """The sum of the codes of each column in `most`, which says how large they are at most.

    Formal guarantees, d = number of columns, each in a block of weight 1 / most
        A code lies between 0 and `most`: one that were larger would count as `most`. So in the blocks' weights a record
        adds a number between 0 and 1 for each column.
        add-remove   sqrt(d): the norm of d ones. Attained by a record with the largest code in every column
        replace      sqrt(d): two numbers between 0 and 1 differ by 1 at most
        label        1 if the label is one of the columns, else 0: the other sums do not see it
    Edge cases
        Every value has a code, so nothing is dropped and nothing raises. No records: zeros.
    """

    most: Mapping[str, int]
    label: str | None = None

    def __post_init__(self) -> None:
        if not self.most or not all(isinstance(most, int) and 0 < most < 2**31 for most in self.most.values()):
            raise ValueError("sums of codes need the largest code of each column, from 1 on")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"the sum of {', '.join(self.most)}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return tuple(self.most)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return tuple(Block(1, 1 / most) for most in self.most.values())

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE | Adjacency.REPLACE:
                return math.sqrt(len(self.most))
            case Adjacency.LABEL:
                return float(self.label in self.most)
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        sums = [np.minimum(batch.codes[name], most).sum(dtype=np.int64) for name, most in self.most.items()]
        return np.array(sums, dtype=np.int64)

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        known = schema.by_name
        fits = (name in known and codes_of(known[name]).size == most + 1 for name, most in self.most.items())
        return all(fits) and self.label == schema.target

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {"kind": "code-sums", "most": dict(self.most), "label": self.label}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "CodeSums":
        """The statistic that `to_dict` wrote."""
        return cls(dict(content["most"]), content["label"])


register("code-sums", CodeSums.from_dict)
