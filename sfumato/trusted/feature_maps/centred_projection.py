"""How a wide record looks from the centre of its class, along a few directions or all: exact, in whole numbers."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray, Int32Array, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.coordinates import Coordinates, coordinates_from_content
from sfumato.trusted.feature_maps.packing import pack, unpack
from sfumato.trusted.feature_maps.partition import Partition, parting_from_content
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS, columns_follow
from sfumato.trusted.fixed_point import EXACT
from sfumato.trusted.schema import Schema

_NUMBERS_AT_ONCE = 1 << 22
_FARTHEST = 2.0 ** (PLACE_BITS + 1)  # no record is farther from a centre in any column
_LARGEST = 2.0**30


@dataclass(frozen=True, eq=False)
class CentredProjection:
    """z = 2**-shift directions (places - centre of the class); without directions z has all places.

    Places, centres and directions are whole numbers and their products stay below 2**53, so that z is a function of the
    record alone, to the last bit, wherever it stands and in any order of the sums.

    centres      a row for each class of the parting
    directions   a row for each direction, or None
    """

    places: Coordinates
    parting: Partition
    centres: Int32Array
    directions: Int32Array | None
    shift: int

    def __post_init__(self) -> None:
        columns = self.places.size
        if self.centres.shape != (self.parting.size, columns) or np.abs(self.centres).max() > _FARTHEST / 2:
            raise ValueError("a view needs a centre in its range for each class")
        if self.directions is not None and (
            self.directions.ndim != 2
            or self.directions.shape[1] != columns
            or np.abs(self.directions.astype(np.float64)).sum(axis=1).max() * _FARTHEST >= EXACT
        ):
            raise ValueError("the directions of a view do not fit, or are too long to be summed exactly")
        if not 0 <= self.shift <= 200:
            raise ValueError("the shift of a view must lie between 0 and 200")

    @classmethod
    def of(
        cls, places: Coordinates, parting: Partition, centres: FloatArray, directions: FloatArray | None = None
    ) -> "CentredProjection":
        """The nearest exact view, centres and records from 0 to 1 in each column; one centre serves all classes."""
        middle = np.rint(np.atleast_2d(centres) * 2.0**PLACE_BITS).clip(0, 2**PLACE_BITS).astype(np.int32)
        middle = np.broadcast_to(middle, (parting.size, middle.shape[1])).copy()
        if directions is None:
            return cls(places, parting, middle, None, PLACE_BITS)
        widest = max(float(np.abs(directions).sum(axis=1).max()), 1e-30)
        room = min(
            _LARGEST * widest / float(np.abs(directions).max(initial=1e-30)), EXACT / _FARTHEST - directions.shape[1]
        )
        bits = math.floor(math.log2(room / widest))
        whole = np.rint(directions * 2.0**bits).astype(np.int32)
        return cls(places, parting, middle, whole, bits + PLACE_BITS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""
        target = self.parting.target
        return (*self.places.names, *(() if target is None else (target,)))

    @property
    def width(self) -> int:
        """How many numbers z has."""
        return self.places.size if self.directions is None else len(self.directions)

    def parts(self, batch: Batch) -> Iterator[tuple[FloatArray, IntArray]]:
        """z (width x records) and the class of each record, so many records at a time as memory bears."""
        rows = max(1, _NUMBERS_AT_ONCE // self.places.size)
        for part in batch.parts(rows, self.columns):
            away = self.places(part)
            classes = self.parting(part, away)
            away -= self._centres[:, classes]
            yield (away if self._matrix is None else self._matrix @ away) * 2.0**-self.shift, classes

    @cached_property
    def _centres(self) -> FloatArray:
        return np.ascontiguousarray(self.centres.T, dtype=np.float64)

    @cached_property
    def _matrix(self) -> FloatArray | None:
        return None if self.directions is None else self.directions.astype(np.float64)

    @property
    def exact_directions(self) -> FloatArray:
        """What is applied to records from 0 to 1."""
        columns = self.places.size
        return np.eye(columns) if self._matrix is None else self._matrix * 2.0 ** (PLACE_BITS - self.shift)

    @property
    def exact_centres(self) -> FloatArray:
        """The centres, from 0 to 1."""
        return self.centres.astype(np.float64) * 2.0**-PLACE_BITS

    def follows(self, schema: Schema) -> bool:
        """Whether it looks at columns as the schema has them, and parts records by its target."""
        return columns_follow(self.places.columns, schema) and self.parting.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        return {
            "places": self.places.to_dict(),
            "parting": self.parting.to_dict(),
            "centres": pack(self.centres),
            "directions": None if self.directions is None else pack(self.directions),
            "shift": self.shift,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "CentredProjection":
        """The view that `to_dict` wrote."""
        directions = content["directions"]
        return cls(
            coordinates_from_content(content["places"]),
            parting_from_content(content["parting"]),
            unpack(content["centres"]),
            None if directions is None else unpack(directions),
            int(content["shift"]),
        )
