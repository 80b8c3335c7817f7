"""`scores`: first and second moments of whitened records, bounded, whose expectation under a Gaussian is known exactly.

With z = W (x - c), t = |z|^2 and a damping kappa(t) that keeps the norm below 1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps.bounded_map import UNIT, Vectors, amplitude, register_map, triangle, whole
from sfumato.trusted.feature_maps.features import in_order
from sfumato.trusted.feature_maps.radial_weight import RadialWeight
from sfumato.trusted.feature_maps.whitening import Whitening
from sfumato.trusted.fixed_point import A_HAIR_LESS

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Hampel:
    """g = (w,  kappa a z,  kappa b svec(zz' - (t/d) I),  kappa e (t - c d) / sqrt(d)).

    Formal guarantees
        norm      UNIT: |zz' - (t/d) I|^2 = t^2 (1 - 1/d), so the part that varies is kappa nu(t) long with
                  nu^2 = a^2 t + b^2 t^2 (1 - 1/d) + e^2 (t - c d)^2 / d, and kappa is clipped to sqrt(1 - w^2) / nu(t)
        replace   2 sqrt(UNIT^2 - w^2), w in whole numbers: the constant cancels, the rest of each is at most
                  sqrt(UNIT^2 - w^2) long. That is more than UNIT sqrt(2) where w^2 < UNIT^2 / 2, so `Lift` serves there
        Both are checked on whole numbers, see `whole`.
    """

    whitening: Whitening
    damping: RadialWeight
    w: float
    a: float
    b: float
    e: float
    c: float

    name = "scores"

    def __post_init__(self) -> None:
        if not (0 < self.w < 1 and self.a > 0 and self.b > 0 and self.e > 0):
            raise ValueError("the scores need weights above 0 and a constant below 1")

    @property
    def dimension(self) -> int:
        """How many columns there are."""
        return len(self.whitening.centre)

    @property
    def width(self) -> int:
        """See `BoundedMap`."""
        return 2 + self.dimension + self.dimension * (self.dimension + 1) // 2

    @property
    def blocks(self) -> int:
        """See `BoundedMap`."""
        return 1

    @property
    def replace(self) -> float:
        """See `BoundedMap`."""
        constant = math.trunc(amplitude(self.width) * self.w)
        return max(math.sqrt(2) * UNIT, 2 * math.sqrt(UNIT**2 - constant**2))

    def norm(self, t: FloatArray) -> FloatArray:
        """nu(t)."""
        d = self.dimension
        off = t - self.c * d
        nu: FloatArray = np.sqrt(
            self.a * self.a * t + self.b * self.b * (1 - 1 / d) * (t * t) + self.e * self.e / d * (off * off)
        )
        return nu

    def __call__(self, places: FloatArray) -> Vectors:
        """See `BoundedMap`."""
        z = self.whitening(places)
        d, (i, j, factor) = self.dimension, triangle(self.dimension)
        t = in_order(z * z)
        bound = math.sqrt(1 - self.w * self.w) * A_HAIR_LESS
        kappa = np.clip(self.damping(t), 0.0, bound / np.maximum(self.norm(t), _TINY))
        scaled = amplitude(self.width) * kappa
        values = np.empty((self.width, z.shape[1]))
        values[0] = amplitude(self.width) * self.w
        values[1 : 1 + d] = self.a * scaled * z
        second = values[1 + d : -1]
        np.multiply(z[i], z[j], out=second)
        second *= factor[:, None]
        second[i == j] -= t / d
        second *= self.b * scaled
        values[-1] = self.e / math.sqrt(d) * scaled * (t - self.c * d)
        return Vectors(whole(values), np.zeros(z.shape[1], dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        """See `BoundedMap`."""
        weights = {name: getattr(self, name) for name in ("w", "a", "b", "e", "c")}
        return {
            "kind": "hampel",
            "whitening": self.whitening.to_dict(),
            "damping": self.damping.to_dict(),
            **weights,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Hampel":
        """The map that `to_dict` wrote."""
        weights = [content[name] for name in ("w", "a", "b", "e", "c")]
        return cls(Whitening.from_dict(content["whitening"]), RadialWeight.from_dict(content["damping"]), *weights)


@dataclass(frozen=True, eq=False)
class Lift:
    """g = kappa svec(uu'), u = (h, z).

    Formal guarantees
        norm      UNIT: |kappa uu'| = kappa (h^2 + t), and kappa is clipped to 1 / (h^2 + t)
        replace   UNIT sqrt(2): <kappa uu', kappa' vv'> = kappa kappa' (u.v)^2 >= 0 because kappa >= 0, so
                  |g - g'|^2 <= |g|^2 + |g'|^2 <= 2; what cutting adds is in `amplitude`
    """

    whitening: Whitening
    damping: RadialWeight
    h: float

    name = "scores"

    def __post_init__(self) -> None:
        if not self.h > 0:
            raise ValueError("the lift needs a height above 0")

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
        return 1

    @property
    def replace(self) -> float:
        """See `BoundedMap`."""
        return math.sqrt(2) * UNIT

    def norm(self, t: FloatArray) -> FloatArray:
        """h^2 + t."""
        return self.h * self.h + t

    def __call__(self, places: FloatArray) -> Vectors:
        """See `BoundedMap`: h^2, then sqrt(2) h z, then svec(zz')."""
        z = self.whitening(places)
        d, (i, j, factor) = self.dimension, triangle(self.dimension)
        t = in_order(z * z)
        scaled = amplitude(self.width) * np.clip(self.damping(t), 0.0, A_HAIR_LESS / self.norm(t))
        values = np.empty((self.width, z.shape[1]))
        values[0] = self.h * self.h * scaled
        values[1 : 1 + d] = math.sqrt(2) * self.h * scaled * z
        second = values[1 + d :]
        np.multiply(z[i], z[j], out=second)
        second *= factor[:, None]
        second *= scaled
        return Vectors(whole(values), np.zeros(z.shape[1], dtype=np.int64))

    def to_dict(self) -> dict[str, Any]:
        """See `BoundedMap`."""
        return {
            "kind": "lift",
            "whitening": self.whitening.to_dict(),
            "damping": self.damping.to_dict(),
            "h": self.h,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Lift":
        """The map that `to_dict` wrote."""
        return cls(Whitening.from_dict(content["whitening"]), RadialWeight.from_dict(content["damping"]), content["h"])


register_map("hampel", Hampel.from_dict)
register_map("lift", Lift.from_dict)
