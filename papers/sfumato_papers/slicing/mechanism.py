"""The slicing mechanism as published: noisy projections of every record, released once.

    d   width of a row              R       radius of the ball that rows are clipped to
    m   directions, at most d       sigma   standard deviation of the noise on each projection
    U   the directions, d x m       N       independent standard normal numbers

The release is (U, X U + sigma N). All that is made of it later costs nothing more: any number of steps, networks and
restarts. But noise is added to every record and not to a sum of them, so it does not shrink with the number of records.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from sfumato.errors import DataError, RequestError
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.random_directions import OrthonormalFrame
from sfumato_papers.accounting import SlicingProfile
from sfumato_papers.baselines.interface import Tensor
from sfumato_papers.baselines.layout import Layout

Angles = Literal["orthonormal", "independent"]
MOST_SLICES = 20
"""Of a wide row, where their number is not given."""
DIRECTIONS = "Directions must be unknown until the records are fixed. Who seeds the generator knows them before."
NUMBER = "The number of records is public: each has its row in the release."
ROUNDING = "Noise is of floating-point numbers: what their last digits tell is not counted."
_BELOW_ONE = 1 - 2.0**-48  # so that a clipped row is inside the ball after rounding


@dataclass(frozen=True, eq=False)
class NoisySlices:
    """What is released: `directions` (d x m, each of length 1), `values` (a row for each record, m wide), `sigma`."""

    directions: FloatArray
    values: FloatArray
    sigma: float

    guarantee: ClassVar[str] = (
        "guarantee: as claimed by the paper on the slicing mechanism, any (epsilon, delta) for which `Slicing.sigma` "
        "is no greater than this sigma, for one replaced record. Nothing in this package has been checked as a release "
        "has: for study only."
    )
    faults: ClassVar[tuple[str, ...]] = (DIRECTIONS, NUMBER, ROUNDING)


@dataclass(frozen=True)
class Slicing:
    """The settings of a release; all of them are public.

    slices   how many directions; the width of a row, but 20 at most, if not given
    radius   rows longer than this are shortened to it
    frame    directions at right angles to each other, or independent ones; both uniform on the sphere
    seed     of the directions, which must not have one: see below

    Formal guarantees
        One replaced record moves a clipped row by 2 R at most. Given U, its projections are a Gaussian mechanism whose
        shift is the length of the projected difference. U is drawn after the records are there and from nothing that
        they depend on, so that the privacy profile is the mean over U of the Gaussian one. Whoever picks records when
        U is known puts their difference along U: that mean is then no bound, and a seed is refused.
    Edge cases
        A row above the radius is clipped, a row of zeros stays. A constant column is one like the others. No rows: no
        values. d = 1: the one direction is 1 or -1. More directions than d: `RequestError`, because d of them at right
        angles already tell all that X + sigma' N tells, of which any number of slices can be made for less noise.
    """

    slices: int | None = None
    radius: float = 1.0
    frame: Angles = "orthonormal"
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.slices is not None and (
            isinstance(self.slices, bool) or not isinstance(self.slices, int | np.integer) or self.slices < 1
        ):
            raise RequestError(f"slices is {self.slices!r}; it must be a whole number, at least one direction")
        if not 0 < self.radius < math.inf:
            raise RequestError(f"radius is {self.radius}; it must be a number above 0, say 1")
        if self.frame not in get_args(Angles):
            raise RequestError(f"frame is {self.frame!r}; it must be one of {', '.join(get_args(Angles))}")
        if self.seed is not None:
            raise RequestError(
                f"seed is {self.seed}; directions known before the records make the exact privacy profile invalid, "
                "because a record can be chosen along them: leave the seed out, and directions are drawn after the data"
            )

    @property
    def sensitivity(self) -> float:
        """How far one replaced record moves its row: from one end of the ball to the other."""
        return 2 * self.radius

    def count(self, width: int) -> int:
        """How many directions a row of this width gets."""
        if self.slices is None:
            return min(width, MOST_SLICES)
        if self.slices > width:
            raise RequestError(
                f"slices is {self.slices}, and a row has {width} entries: more directions than that need more noise "
                f"and tell nothing that {width} orthonormal ones do not; lower `slices`, and slice the release further"
            )
        return self.slices

    def sigma(self, width: int, epsilon: float, delta: float) -> float:
        """The least noise for (epsilon, delta) on slices of rows of this width, by the exact profile."""
        make = OrthonormalFrame.orthonormal if self.frame == "orthonormal" else OrthonormalFrame.independent
        return self.sensitivity * SlicingProfile(make(width, self.count(width))).sigma(epsilon, delta).upper

    def __call__(self, rng: np.random.Generator, rows: FloatArray, sigma: float) -> NoisySlices:
        """Rows clipped, projected and noised. The directions are the first thing that is drawn."""
        if rows.ndim != 2 or not rows.shape[1] or not np.isfinite(rows).all():
            raise DataError("slices need rows of finite numbers, one entry each at least")
        if not 0 <= sigma < math.inf:
            raise RequestError(f"sigma is {sigma}; it must be a finite number, and 0 only where nothing is private")
        width = rows.shape[1]
        directions = FRAMES[self.frame](rng, width, self.count(width))
        exact = clipped(rows, self.radius) @ directions
        return NoisySlices(directions, exact + sigma * rng.standard_normal(exact.shape), sigma)


def clipped(rows: FloatArray, radius: float) -> FloatArray:
    """Rows, those above the radius shortened to it."""
    with np.errstate(over="ignore"):  # the length of a huge row is infinite, and the row becomes zero
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    over = lengths > radius
    shares = np.divide(radius * _BELOW_ONE, lengths, out=np.ones_like(lengths), where=over)
    inside: FloatArray = rows * shares
    return inside


def orthonormal(rng: np.random.Generator, width: int, count: int) -> FloatArray:
    """Directions at right angles, uniform among all such frames: the Q of a Gaussian matrix, R's diagonal positive."""
    frame, triangle = np.linalg.qr(rng.standard_normal((width, count)))
    signed: FloatArray = frame * np.sign(np.diag(triangle))
    return signed


def independent(rng: np.random.Generator, width: int, count: int) -> FloatArray:
    """Directions that know nothing of each other, each uniform on the sphere."""
    drawn = rng.standard_normal((width, count))
    units: FloatArray = drawn / np.linalg.norm(drawn, axis=0)
    return units


FRAMES = {"orthonormal": orthonormal, "independent": independent}


@dataclass(frozen=True, eq=False)
class Ball:
    """The public map of rows of a `Layout` into the ball: moved by `centre`, then scaled by `factor`."""

    centre: FloatArray
    factor: float

    @classmethod
    def of(cls, layout: Layout, radius: float) -> "Ball":
        """Numbers are centred at 1/2 and a block of k at 1/k; the longest row that there can be gets length `radius`.

        A centred number is 1/2 long at most, and a centred block of k always sqrt(1 - 1/k).
        """
        centre = np.full(layout.width, 0.5)
        sizes = np.array([block.stop - block.start for block in layout.blocks])
        for block, size in zip(layout.blocks, sizes, strict=True):
            centre[block] = 1 / size
        longest = math.sqrt(len(layout.numbers) / 4 + float((1 - 1 / sizes).sum()))
        return cls(centre, radius / longest)

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Rows in the ball."""
        moved: FloatArray = (rows - self.centre) * self.factor
        return moved

    def of_tensor(self, rows: Tensor) -> Tensor:
        """The same for what a generator makes."""
        return (rows - rows.new_tensor(self.centre)) * self.factor
