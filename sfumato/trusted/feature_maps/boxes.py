"""`boxes`: how many records lie in each cell of a grid along some public directions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps.bounded_map import UNIT, Vectors, register_map
from sfumato.trusted.feature_maps.whitening import Whitening


@dataclass(frozen=True, eq=False)
class Boxes:
    """One unit in the block of the record's cell.

    z = W (x - c); the first `axes` coordinates of z are cut into `cells` equal parts of [-reach, reach], the outermost
    holding what lies beyond.

    Formal guarantees
        norm      UNIT: a record is in one cell
        replace   UNIT sqrt(2): two records are in the same cell or in two
    """

    whitening: Whitening
    axes: int
    cells: int
    reach: float

    name = "counts in boxes"

    def __post_init__(self) -> None:
        if not (1 <= self.axes <= len(self.whitening.centre) and self.cells >= 1 and 0 < self.reach < math.inf):
            raise ValueError("boxes need an axis, a cell and a reach at least")

    @property
    def width(self) -> int:
        """See `BoundedMap`."""
        return 1

    @property
    def blocks(self) -> int:
        """See `BoundedMap`."""
        return int(self.cells**self.axes)

    @property
    def replace(self) -> float:
        """See `BoundedMap`."""
        return math.sqrt(2) * UNIT

    def __call__(self, places: FloatArray) -> Vectors:
        """See `BoundedMap`."""
        z = self.whitening(places)[: self.axes]
        part = np.floor((z + self.reach) * (self.cells / (2 * self.reach))).clip(0, self.cells - 1).astype(np.int64)
        block = part[0]
        for next_part in part[1:]:
            block = block * self.cells + next_part
        return Vectors(np.full((1, places.shape[1]), float(UNIT)), block)

    @property
    def centres(self) -> FloatArray:
        """The middle of every cell (cells x axes), in z."""
        ticks = (np.arange(self.cells) + 0.5) * (2 * self.reach / self.cells) - self.reach
        return np.stack(np.meshgrid(*[ticks] * self.axes, indexing="ij"), axis=-1).reshape(-1, self.axes)

    def to_dict(self) -> dict[str, Any]:
        """See `BoundedMap`."""
        return {
            "kind": "boxes",
            "whitening": self.whitening.to_dict(),
            "axes": self.axes,
            "cells": self.cells,
            "reach": self.reach,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Boxes":
        """The boxes that `to_dict` wrote."""
        whitening = Whitening.from_dict(content["whitening"])
        return cls(whitening, content["axes"], content["cells"], content["reach"])


register_map("boxes", Boxes.from_dict)
