"""Several statistics measured at once, in one pass over the records."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Statistic, Titled, register, statistic_from_dict


@dataclass(frozen=True, repr=False)
class Stacked(Titled):
    """The vectors of `parts` one below the other; part j has weight w_j.

    Formal guarantees
        add-remove, replace, label   sqrt(sum of (w_j Delta_j)^2), Delta_j the sensitivity of part j
        One change moves part j by at most Delta_j, and the parts lie in different coordinates.

        The noise of part j is sigma / w_j. Scaling part j by w_j turns it into noise sigma everywhere and sensitivity
        as above, so weights change how noise is shared, never the integers that are summed. The bound is attained where
        one change attains the bounds of all parts at once.
    """

    parts: tuple[Statistic, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.weights) or not all(0 < weight < math.inf for weight in self.weights):
            raise ValueError("a stack needs one weight above 0 for each part")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return "; ".join(part.title for part in self.parts)

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        stack = zip(self.parts, self.weights, strict=True)
        return tuple(Block(block.size, weight * block.weight) for part, weight in stack for block in part.blocks)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        return math.hypot(
            *(weight * part.sensitivity(adjacency) for part, weight in zip(self.parts, self.weights, strict=True))
        )

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        return np.concatenate([part(batch) for part in self.parts])

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return all(part.follows(schema) for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {"kind": "stacked", "parts": [part.to_dict() for part in self.parts], "weights": list(self.weights)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Stacked":
        """The statistic that `to_dict` wrote."""
        return cls(tuple(map(statistic_from_dict, content["parts"])), tuple(content["weights"]))


register("stacked", Stacked.from_dict)
