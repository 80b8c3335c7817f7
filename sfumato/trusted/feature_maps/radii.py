"""`radii`: how many records lie at each distance from a public centre."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps.bounded_map import UNIT, Vectors, register_map
from sfumato.trusted.feature_maps.features import in_order
from sfumato.trusted.feature_maps.whitening import Whitening


@dataclass(frozen=True, eq=False)
class Radii:
    """One unit in the block of the record's distance.

    z = W (x - c), t = |z|^2; block j holds the records with T_{j-1} < t <= T_j, the last one all beyond.

    Formal guarantees
        norm      UNIT: a record is in one block
        replace   UNIT sqrt(2): two records are in the same block or in two
    """

    whitening: Whitening
    edges: tuple[float, ...]

    name = "counts by distance"

    def __post_init__(self) -> None:
        edges = (0.0, *self.edges, math.inf)
        if len(edges) < 3 or not all(low < high for low, high in pairwise(edges)):
            raise ValueError("distances need at least one edge, and edges that rise")

    @property
    def width(self) -> int:
        """See `BoundedMap`."""
        return 1

    @property
    def blocks(self) -> int:
        """See `BoundedMap`."""
        return len(self.edges) + 1

    @property
    def replace(self) -> float:
        """See `BoundedMap`."""
        return math.sqrt(2) * UNIT

    def __call__(self, places: FloatArray) -> Vectors:
        """See `BoundedMap`."""
        z = self.whitening(places)
        block = np.searchsorted(np.array(self.edges), in_order(z * z))
        return Vectors(np.full((1, places.shape[1]), float(UNIT)), block)

    def to_dict(self) -> dict[str, Any]:
        """See `BoundedMap`."""
        return {"kind": "radii", "whitening": self.whitening.to_dict(), "edges": list(self.edges)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Radii":
        """The map that `to_dict` wrote."""
        return cls(Whitening.from_dict(content["whitening"]), tuple(content["edges"]))


register_map("radii", Radii.from_dict)
