"""`waves`: the characteristic function of every column, sampled at public frequencies."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps.bounded_map import UNIT, Vectors, register_map
from sfumato.trusted.feature_maps.packing import pack, unpack
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS

FREQUENCY_BITS = 10  # frequencies are whole numbers of 2**-10 cycles over the range of a column
_TABLE_BITS = 16
_DROPPED = PLACE_BITS + FREQUENCY_BITS - _TABLE_BITS
_ANGLE = 2 * np.pi * (np.arange(2**_TABLE_BITS) + 0.5) / 2**_TABLE_BITS
_SINE_UNIT = 2.0**30
_COSINES, _SINES = (np.trunc(_SINE_UNIT * wave(_ANGLE)) for wave in (np.cos, np.sin))
_HIGHEST = 2**24


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """(count, cos(2 pi f x_j), sin(2 pi f x_j) for every frequency f of every column j), scaled to norm 1.

    With m frequencies in all (columns x L) and the count's squared weight w:

    Formal guarantees
        norm      UNIT: m pairs of squared length 1 and w, over m + w
        replace   UNIT max(1, 2 sqrt(m / (m + w))): the count cancels, and two points of a circle are at most 2 radii
                  apart. With w = m that is UNIT sqrt(2)
        Sine and cosine are a table of whole numbers indexed by whole numbers; everything is cut towards zero, so no
        pair is longer than its share of UNIT.
    """

    frequencies: NDArray[np.int32]  # columns x L
    weight: float  # w

    name = "waves"

    def __post_init__(self) -> None:
        if self.frequencies.ndim != 2 or not self.weight > 0 or np.abs(self.frequencies).max(initial=0) > _HIGHEST:
            raise ValueError("waves need frequencies below 2**14 cycles for every column and a weight above 0")

    @classmethod
    def of(cls, angular: FloatArray, weight: float) -> "FourierFeatures":
        """The waves of these frequencies, in radians over the range of a column."""
        units = np.rint(angular / (2 * np.pi) * 2**FREQUENCY_BITS)
        return cls(np.minimum(units, _HIGHEST).astype(np.int32), float(weight))

    @property
    def angular(self) -> FloatArray:
        """The frequencies in radians over the range of a column."""
        radians: FloatArray = self.frequencies * (2 * np.pi / 2**FREQUENCY_BITS)
        return radians

    @property
    def pairs(self) -> int:
        """How many frequencies there are in all columns."""
        return int(self.frequencies.size)

    @property
    def width(self) -> int:
        """See `BoundedMap`."""
        return 1 + 2 * self.pairs

    @property
    def blocks(self) -> int:
        """See `BoundedMap`."""
        return 1

    @property
    def radius(self) -> float:
        """The length of a pair."""
        return UNIT / math.sqrt(self.pairs + self.weight)

    @property
    def count(self) -> float:
        """What a record adds to the first coordinate."""
        return math.trunc(self.radius * math.sqrt(self.weight) * (1 - 2.0**-40))

    @property
    def replace(self) -> float:
        """See `BoundedMap`."""
        return UNIT * max(1.0, 2 * math.sqrt(self.pairs / (self.pairs + self.weight)))

    def __call__(self, places: FloatArray) -> Vectors:
        """See `BoundedMap`."""
        records = places.shape[1]
        values = np.empty((self.width, records))
        values[0] = self.count
        row, scale = 1, self.radius * (1 - 2.0**-40) / _SINE_UNIT
        whole_places = places.astype(np.int64)
        for column, frequencies in zip(whole_places, self.frequencies, strict=True):
            for frequency in frequencies:
                index = (column * int(frequency) >> _DROPPED) & (2**_TABLE_BITS - 1)
                values[row] = np.trunc(_COSINES.take(index) * scale)
                values[row + 1] = np.trunc(_SINES.take(index) * scale)
                row += 2
        return Vectors(values, np.zeros(records, dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        """See `BoundedMap`."""
        return {"kind": "waves", "frequencies": pack(self.frequencies), "weight": self.weight}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "FourierFeatures":
        """The waves that `to_dict` wrote."""
        return cls(unpack(content["frequencies"]), content["weight"])


register_map("waves", FourierFeatures.from_dict)
