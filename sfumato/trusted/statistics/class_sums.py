"""Sums over the records of each class, each class looked at through a bounded map of its own."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.bounded_map import UNIT, BoundedMap, map_from_content
from sfumato.trusted.feature_maps.partition import Partition, parting_from_content
from sfumato.trusted.feature_maps.scaled_columns import ScaledColumns, columns_follow
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register

_NUMBERS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class ClassSums(Titled):
    """For class k the sum of maps[k] over the records that `parting` puts there.

    Formal guarantees, in units of 2**22
        add-remove   1: one record adds one vector to the sum of one class
        label        sqrt(2): it leaves the sum of one class and enters that of another, which lie in different
                     coordinates: 1 + 1. Where no target decides the class, a change of one column is a replacement
        replace      max(sqrt(2), the largest `replace` of the maps): in another class as before; in the same class two
                     vectors of one map
        The maps may differ from class to class and depend on all that was released before: no bound changes. Attained
        where the maps attain theirs.
    Edge cases
        A class without records is summed like any other: zeros. Every code has a place, so nothing raises.
    """

    places: ScaledColumns
    parting: Partition
    maps: tuple[BoundedMap, ...]

    def __post_init__(self) -> None:
        if self.parting.size != len(self.maps):
            raise ValueError("every class needs a map")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        kinds = sorted({one.name for one in self.maps})
        by = f" by {self.parting.target}" if self.parting.target else ""
        return f"{' and '.join(kinds)} of {len(self.places.names)} columns{by}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        target = self.parting.target
        return (*self.places.names, *(() if target is None else (target,)))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(sum(self.sizes), 1.0),)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How long the vector of each class is."""
        return tuple(one.width * one.blocks for one in self.maps)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return float(UNIT)
            case Adjacency.LABEL if self.parting.target is not None:
                return math.sqrt(2) * UNIT
            case Adjacency.REPLACE | Adjacency.LABEL:
                return max(math.sqrt(2) * UNIT, *(one.replace for one in self.maps))
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        totals = [np.zeros((one.blocks, one.width), dtype=np.int64) for one in self.maps]
        rows = max(1, _NUMBERS_AT_ONCE // max(one.width for one in self.maps))
        for part in batch.parts(rows, self.columns):
            places = self.places(part)
            order, bounds = self._by_class(part, places)
            for k, one in enumerate(self.maps):
                if bounds[k] < bounds[k + 1]:
                    values, block = one(places[:, order[bounds[k] : bounds[k + 1]]])
                    for number in np.unique(block):
                        # whole numbers of at most 2**22 each, 2**20 of them: the sum is exact
                        totals[k][number] += values[:, block == number].sum(axis=1).astype(np.int64)
        return np.concatenate([total.ravel() for total in totals])

    def _by_class(self, part: Batch, places: FloatArray) -> tuple[IntArray, IntArray]:
        """The records in the order of their classes, and where each class begins."""
        classes = self.parting(part, places)
        order = np.argsort(classes, kind="stable")
        return order, np.searchsorted(classes[order], np.arange(len(self.maps) + 1))

    def split(self, values: FloatArray | IntArray) -> list[FloatArray]:
        """The vector of a measurement class by class, in units (blocks x width)."""
        parts = np.split(np.asarray(values, dtype=np.float64) / UNIT, np.cumsum(self.sizes)[:-1])
        return [part.reshape(one.blocks, one.width) for part, one in zip(parts, self.maps, strict=True)]

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return columns_follow(self.places.columns, schema) and self.parting.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "class sums",
            "places": self.places.to_dict(),
            "parting": self.parting.to_dict(),
            "maps": [one.to_dict() for one in self.maps],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ClassSums":
        """The statistic that `to_dict` wrote."""
        return cls(
            ScaledColumns.from_dict(content["places"]),
            parting_from_content(content["parting"]),
            tuple(map(map_from_content, content["maps"])),
        )


register("class sums", ClassSums.from_dict)
