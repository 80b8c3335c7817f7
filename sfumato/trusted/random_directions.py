"""Which directions a release of slices looks along, and how much of a change they can see.

A release of slices draws a d x (b k) matrix U, shows it, and shows every record's shadow X U with Gaussian noise on it.
U is made of b independent blocks; each block is k orthonormal directions, uniform over all such. So

    independent directions    b blocks of k = 1
    k-dimensional slices      b blocks of k
    one orthonormal frame     one block of k = m

If one record changes by z, its shadow changes by |z| sqrt(T) with T = |z U|^2 / |z|^2. U is uniform, so the law of T
is the same for every z: a sum of b independent Beta(k/2, (d - k)/2), mean b k / d, and never above b.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral
from typing import Any

from sfumato.errors import RequestError
from sfumato.trusted.budget import mu_of, noise_scale


class Directions(StrEnum):
    """When the directions were chosen.

    fresh    drawn from the operating system when the records already lay fixed; shown with the release
    fixed    known before: a seed in the code, directions of an earlier release, directions chosen by hand
    """

    FRESH = "fresh"
    FIXED = "fixed"


@dataclass(frozen=True)
class OrthonormalFrame:
    """`blocks` independent blocks of `block` orthonormal directions in `dimension` dimensions.

    Edge cases
        dimension 1                   one direction, T = 1: the Gaussian mechanism itself
        block = dimension, one block  T = 1: the Gaussian mechanism in turned coordinates
        block > dimension             `RequestError`: there is no such frame
        block = dimension, more       `RequestError`: every block repeats the whole record
    """

    dimension: int
    blocks: int
    block: int = 1

    def __post_init__(self) -> None:
        for name in ("dimension", "blocks", "block"):
            object.__setattr__(self, name, _counted(name, getattr(self, name)))
        if self.block > self.dimension:
            raise RequestError(
                f"{self.block} directions cannot be orthonormal in {self.dimension} dimensions; release X + noise "
                f"itself with sigma = sensitivity / mu: any number of directions then follows from it for free"
            )
        if self.block == self.dimension and self.blocks > 1:
            raise RequestError(
                f"each of {self.blocks} blocks repeats all {self.dimension} dimensions; release X + noise once"
            )

    @classmethod
    def orthonormal(cls, dimension: int, width: int) -> "OrthonormalFrame":
        """One frame of `width` orthonormal directions.

        Never worse than independent ones in Rényi divergence: U = Q S with Q Haar and independent of S, E[S^2] = I, so
        E[T_independent | Q] = T_orthonormal, and Jensen does the rest for every convex function of T.
        """
        return cls(dimension, 1, width)

    @classmethod
    def independent(cls, dimension: int, blocks: int, block: int = 1) -> "OrthonormalFrame":
        """Independent slices, each of `block` orthonormal directions."""
        return cls(dimension, blocks, block)

    @property
    def width(self) -> int:
        """How many numbers each record becomes."""
        return self.blocks * self.block

    @property
    def mean(self) -> float:
        """E[T]."""
        return self.width / self.dimension

    @property
    def deviation(self) -> float:
        """The standard deviation of T."""
        d, k = self.dimension, self.block
        return math.sqrt(self.blocks * 2 * k * (d - k) / (d * d * (d + 2)))

    @property
    def is_whole(self) -> bool:
        """Whether T is 1 for certain."""
        return self.block == self.dimension

    def most(self, clip: float | None = None) -> float:
        """The most that T can be: one for each block, or the clip where that is less."""
        return float(self.blocks) if clip is None else min(float(self.blocks), check_clip(clip))


def _counted(name: str, value: Any) -> int:
    """A whole number of any kind as a plain one."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise RequestError(f"{name} is {value!r}; it must be a whole number, 1 or more")
    return int(value)


def check_clip(clip: float) -> float:
    """The square of the radius that shadows are clipped to, in units of the squared radius of the records."""
    if not 0 < clip < math.inf:
        raise RequestError(f"clip is {clip!r}; it must be a number above 0, say the mean of T and two deviations")
    return float(clip)


def require_fresh(directions: Directions, frame: OrthonormalFrame, clip: float | None = None) -> None:
    """Refuse to average over directions that were known before.

    Whoever knows U can put a record where U sees most of it, so T is its greatest value and not a random one.
    """
    if directions not in tuple(Directions):
        raise RequestError(f"directions are {directions!r}; they must be one of {', '.join(Directions)}")
    if directions == Directions.FIXED:
        raise RequestError(
            f"the directions are fixed, and the average over them protects nobody: T can be {frame.most(clip):g}; "
            f"draw them anew from the operating system, or take `sigma_for_fixed`, which needs no chance in them"
        )


def sigma_for_fixed(frame: OrthonormalFrame, epsilon: float, delta: float, clip: float | None = None) -> float:
    """The noise, in units of the sensitivity, that holds for each frame of this shape, known or chosen by an enemy.

    Formal guarantees
        Given U, the release is a Gaussian mechanism of sensitivity Delta sqrt(T) <= Delta sqrt(most), so
        sigma = Delta sqrt(most) / mu is mu-GDP: `most` is 1 for an orthonormal frame, b for b independent blocks, and
        tau where shadows are clipped to radius R sqrt(tau), whatever the frame.
    """
    return noise_scale(math.sqrt(frame.most(clip)), mu_of(epsilon, delta))
