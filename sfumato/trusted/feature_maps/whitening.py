"""An affine map of places that is exact: whole numbers in, whole numbers times a power of two out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray, Int32Array
from sfumato.trusted.feature_maps.packing import pack, unpack
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from sfumato.trusted.fixed_point import EXACT

_FARTHEST = 2.0 ** (PLACE_BITS + 1)  # no record is farther from a centre in any column
_LARGEST = 2.0**30


@dataclass(frozen=True, eq=False)
class Whitening:
    """z = 2**-shift matrix (places - centre).

    The product runs on integer-valued floats that stay below 2**53: z is the same to the last bit wherever a record
    stands, in any order of the sums.
    """

    centre: Int32Array
    matrix: Int32Array
    shift: int

    def __post_init__(self) -> None:
        columns = len(self.centre)
        if self.matrix.shape != (columns, columns) or np.abs(self.centre.astype(np.int64)).max() > _FARTHEST / 2:
            raise ValueError("a whitening needs a square matrix and a centre in its range")
        if np.abs(self.matrix.astype(np.float64)).sum(axis=1).max() * _FARTHEST >= EXACT or not 0 <= self.shift <= 200:
            raise ValueError("the whitening is too large to be summed exactly")

    @classmethod
    def of(cls, matrix: FloatArray, centre: FloatArray) -> "Whitening":
        """The nearest exact map to z = matrix (x - centre), x from 0 to 1."""
        widest = max(float(np.abs(matrix).sum(axis=1).max()), 1e-30)
        room = min(_LARGEST * widest / float(np.abs(matrix).max(initial=1e-30)), EXACT / _FARTHEST - len(matrix))
        bits = math.floor(math.log2(room / widest))
        middle = np.rint(centre * 2.0**PLACE_BITS).clip(0, 2**PLACE_BITS)
        return cls(middle.astype(np.int32), np.rint(matrix * 2.0**bits).astype(np.int32), bits + PLACE_BITS)

    def __call__(self, places: FloatArray) -> FloatArray:
        """z of each record (columns x records)."""
        z: FloatArray = (self._matrix @ (places - self.centre[:, None])) * 2.0**-self.shift
        return z

    @cached_property
    def _matrix(self) -> FloatArray:
        return self.matrix.astype(np.float64)

    @property
    def exact_matrix(self) -> FloatArray:
        """The matrix that is applied to x from 0 to 1."""
        return self._matrix * 2.0 ** (PLACE_BITS - self.shift)

    @property
    def inverse(self) -> FloatArray:
        """From z back to x - centre."""
        return np.asarray(np.linalg.inv(self.exact_matrix), dtype=np.float64)

    @property
    def exact_centre(self) -> FloatArray:
        """The centre, from 0 to 1."""
        return self.centre.astype(np.float64) * 2.0**-PLACE_BITS

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        return {"centre": self.centre.tolist(), "matrix": pack(self.matrix), "shift": self.shift}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Whitening":
        """The map that `to_dict` wrote."""
        return cls(np.array(content["centre"], dtype=np.int32), unpack(content["matrix"]), int(content["shift"]))
