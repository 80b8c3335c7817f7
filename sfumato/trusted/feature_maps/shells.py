"""`shells`: count, sum and second moment of whitened records, apart for each shell of their distance."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps.bounded_map import UNIT, Vectors, amplitude, register_map, triangle, whole
from sfumato.trusted.feature_maps.features import in_order
from sfumato.trusted.feature_maps.whitening import Whitening
from sfumato.trusted.fixed_point import A_HAIR_LESS

_FIRST = 2.0  # deviations of t of a Gaussian class that the first shell reaches above the mean
_SHELLS = 11  # each reaches twice as far as the one before


@dataclass(frozen=True, eq=False)
class Shells:
    """svec(uu') in the block of the record's shell, u = (sqrt(g), z / sqrt(T_j)) / sqrt(1 + g).

    z = W (x - c), t = |z|^2; shell j holds the records with T_{j-1} < t <= T_j, the last one all beyond, pulled back to
    t = T_J. No Gaussian is assumed.

    Formal guarantees
        norm      UNIT: |uu'| = |u|^2 = (g + min(t, T_J) / T_j) / (1 + g) <= 1
        replace   UNIT sqrt(2): in one shell <uu', vv'> = (u.v)^2 >= 0, in two shells the blocks share no coordinate, so
                  |g - g'|^2 <= |g|^2 + |g'|^2 <= 2; what cutting adds is in `amplitude`
    """

    whitening: Whitening
    edges: tuple[float, ...]
    g: float

    name = "moments by shells"

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in zip((0.0, *self.edges), self.edges, strict=False))
        if not (self.edges and rising and self.g > 0):
            raise ValueError("shells need rising edges and a constant above 0")

    @classmethod
    def of(cls, whitening: Whitening) -> "Shells":
        """The shells that suit the dimension.

        The first holds about 95 % of a Gaussian class; g gives mean and covariance the least noise together.
        """
        d = len(whitening.centre)
        first = d + _FIRST * math.sqrt(2 * d)
        g = (math.sqrt(1 + 8 * d * d) - 1) / (4 * d * d)
        return cls(whitening, tuple(first * 2.0**j for j in range(_SHELLS)), g)

    @property
    def dimension(self) -> int:
        """How many columns there are."""
        return len(self.whitening.centre)

    @property
    def width(self) -> int:
        """See `BoundedMap`."""
        return (self.dimension + 1) * (self.dimension + 2) // 2

    @property
    def blocks(self) -> int:
        """See `BoundedMap`."""
        return len(self.edges)

    @property
    def replace(self) -> float:
        """See `BoundedMap`."""
        return math.sqrt(2) * UNIT

    def __call__(self, places: FloatArray) -> Vectors:
        """See `BoundedMap`."""
        z = self.whitening(places)
        d, (i, j, factor) = self.dimension, triangle(self.dimension + 1)
        t, edges = in_order(z * z), np.array(self.edges)
        shell = np.minimum(np.searchsorted(edges, t), len(edges) - 1)
        u = np.empty((d + 1, z.shape[1]))
        u[0] = math.sqrt(self.g)
        u[1:] = z / np.sqrt(np.maximum(t, edges[shell]))
        values = u[i] * u[j]
        values *= (factor * (amplitude(self.width) * A_HAIR_LESS / (1 + self.g)))[:, None]
        return Vectors(whole(values), shell)

    def to_dict(self) -> dict[str, Any]:
        """See `BoundedMap`."""
        return {"kind": "shells", "whitening": self.whitening.to_dict(), "edges": list(self.edges), "g": self.g}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Shells":
        """The map that `to_dict` wrote."""
        return cls(Whitening.from_dict(content["whitening"]), tuple(content["edges"]), content["g"])


register_map("shells", Shells.from_dict)
