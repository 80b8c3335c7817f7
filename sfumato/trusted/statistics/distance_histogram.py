"""How far records lie from the centre of their class, counted in cells."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.centred_projection import CentredProjection
from sfumato.trusted.feature_maps.clipping import lengths
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register


@dataclass(frozen=True, eq=False, repr=False)
class DistanceHistogram(Titled):
    """Counts of |z| by the rising `ends` of cells: at most the first, between two of them, beyond the last.

    Formal guarantees
        A record is in exactly one cell, whatever its class.
        add-remove       1
        replace, label   sqrt(2): one cell loses 1 and another gains 1; a label moves the centre, and so the cell
    Edge cases
        No records: zeros. A length that is not a number would be beyond the last end.
    """

    view: CentredProjection
    ends: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.ends or any(low >= high for low, high in zip((-1.0, *self.ends), self.ends, strict=False)):
            raise ValueError("the ends of the cells must rise from 0")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"distances of {self.view.places.noun} in {self.view.width} directions, in {len(self.ends) + 1} cells"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return self.view.columns

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(len(self.ends) + 1, 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return 1.0
            case Adjacency.REPLACE | Adjacency.LABEL:
                return math.sqrt(2)
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        counts = np.zeros(len(self.ends) + 1, dtype=np.int64)
        for z, _ in self.view.parts(batch):
            counts += np.bincount(np.searchsorted(self.ends, lengths(z)), minlength=len(counts))
        return counts

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return self.view.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {"kind": "distances", "view": self.view.to_dict(), "ends": list(self.ends)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "DistanceHistogram":
        """The statistic that `to_dict` wrote."""
        return cls(CentredProjection.from_dict(content["view"]), tuple(content["ends"]))


register("distances", DistanceHistogram.from_dict)
