"""How many values of a record lie on a bound of their columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.scaled_columns import ScaledColumns, columns_follow
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register


@dataclass(frozen=True, repr=False)
class AtBounds(Titled):
    """The number of columns, summed over the records, in which a record has the lowest or the highest code.

    Formal guarantees, d columns
        A record adds a number from 0 to d.
        add-remove, replace, label   d: attained by a record at a bound in every column, and another at none. A label
                                     that is one of the columns moves it by 1 at most, and one that is not by 0
    Edge cases
        No records: zero.
    """

    places: ScaledColumns

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"values on a bound, in {len(self.places.names)} columns"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return self.places.names

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(1, 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE | Adjacency.REPLACE | Adjacency.LABEL:
                return float(len(self.places.names))
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        ends = {name: scale.lowest_and_highest for name, scale in self.places.scales.items()}
        return np.array([sum(int(np.isin(batch.codes[name], ends[name]).sum()) for name in ends)], dtype=np.int64)

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return columns_follow(self.places.columns, schema)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {"kind": "at bounds", "places": self.places.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "AtBounds":
        """The statistic that `to_dict` wrote."""
        return cls(ScaledColumns.from_dict(content["places"]))


register("at bounds", AtBounds.from_dict)
