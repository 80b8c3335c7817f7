"""The law of T between two bounds: one rounded up, one rounded down.

What is asked of it is always the mean of a function that grows with T, so a T rounded up gives an upper bound and a T
rounded down a lower one. The relative error of a survival function is inherited by such a mean: by parts,
E[h(T)] = h(0) + integral of P(T > t) dh(t).
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, optimize, special

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.random_directions import OrthonormalFrame, check_clip
from sfumato_papers.accounting.rdp import log_moment

RATIO = 1 + 1.5e-4  # between the ends of a cell of a sum: sigma moves by half of that
_RATIO_OF_ONE = 1 + 2.5e-4  # of a cell of one block, where nothing else is rounded
_STEP = 1.5e-4  # of a block's mean: the lattice on which blocks are added up
_SMALLEST = 1e-5  # of the mean: where the first cell ends
_TAIL = 1e-20  # probability that is not looked at cell by cell
_FINE = np.longdouble  # of transforms: tails of 1e-12 are to be told from their rounding, on most machines by far
_TRANSFORM_ROUNDING = 10 * float(np.finfo(_FINE).eps)  # of each stage of a transform (Higham, theorem 24.2)


@dataclass(frozen=True)
class Law:
    """T lies in (low, high] with about this mass, cell by cell.

    `beyond` is probability that may lie anywhere. Each cell stands for so many `members` of a finer lattice, whose
    masses are off by at most `roughness` together, as the root of the sum of their squares.
    """

    low: FloatArray
    high: FloatArray
    mass: FloatArray
    members: FloatArray
    beyond: float = 0.0
    roughness: float = 0.0

    def error(self, weights: FloatArray) -> float:
        """How far a weighted sum of the masses may be off (Cauchy and Schwarz), and what lies beyond the cells."""
        return self.roughness * math.sqrt(float(self.members @ weights**2)) + self.beyond

    @property
    def misplaced(self) -> float:
        """A bound on all probability that is not where the cells say."""
        return self.error(np.ones_like(self.mass))

    def clipped(self, clip: float | None) -> "Law":
        """The law of min(T, clip): shadows are clipped to the radius R sqrt(clip) before the noise.

        Clipping to a ball brings no two points further apart, and no two points of it are further apart than its
        diameter. So |change| <= Delta min(sqrt(T), sqrt(clip)), with equality for opposite records.
        """
        if clip is None:
            return self
        top = check_clip(clip)
        return replace(self, low=np.minimum(self.low, top), high=np.minimum(self.high, top))

    def coarse(self, ratio: float) -> "Law":
        """Cells put together while the ends of a cell are no further apart than this ratio; still a bracket."""
        group = np.floor(np.log(np.maximum(self.high, np.finfo(float).tiny)) / math.log(ratio))
        first = np.flatnonzero(np.diff(group, prepend=-np.inf))
        last = np.append(first[1:], group.size) - 1
        mass, members = np.add.reduceat(self.mass, first), np.add.reduceat(self.members, first)
        return replace(self, low=self.low[first], high=self.high[last], mass=mass, members=members)


@lru_cache(maxsize=32)
def law_of(frame: OrthonormalFrame) -> Law:
    """T of a frame."""
    if frame.is_whole:
        return Law(np.ones(1), np.ones(1), np.ones(1), np.ones(1))
    return _of_one_block(frame) if frame.blocks == 1 else _of_blocks(frame)


def _survival(frame: OrthonormalFrame, t: FloatArray) -> FloatArray:
    """P(T > t) of one block, Beta(k/2, (d - k)/2)."""
    survival: FloatArray = special.betaincc(frame.block / 2, (frame.dimension - frame.block) / 2, np.clip(t, 0.0, 1.0))
    return survival


def _of_one_block(frame: OrthonormalFrame) -> Law:
    """Cells of one ratio from almost 0 to where almost nothing is left, and one up to 1."""
    first = frame.mean * _SMALLEST
    inner: FloatArray = np.exp(np.arange(math.log(first), 0.0, math.log(_RATIO_OF_ONE)))
    inner = inner[(inner < 1) & (_survival(frame, inner) > _TAIL)]
    edges = np.concatenate([[0.0], inner, [1.0]])
    mass = -np.diff(_survival(frame, edges))
    return Law(edges[:-1], edges[1:], mass, np.ones_like(mass))


def _of_blocks(frame: OrthonormalFrame) -> Law:
    """The sum of b blocks, each rounded to a lattice of step w: T lies in (s w, (s + b) w].

    The masses of the sum are a power of a transform. With u the rounding of one operation and n cells, a transform is
    off by at most 10 u log2(n) in relative norm; |F| <= 1, so its b-th power is off by b times as much, and by Young's
    inequality the sum has no greater norm than one block. All of it: 20 u b (1 + log2(n)) |p|, u being that of the
    longest floating-point numbers of the machine; those that come back are rounded as all others are. What wraps around
    is what lies beyond the last cell; Chernoff's bound of it, and what one block has beyond its own, are kept apart.
    """
    step = _STEP * frame.block / frame.dimension
    last = _chernoff(frame)
    size = 2 ** math.ceil(math.log2(last / step + frame.blocks + 2))
    one = -np.diff(_survival(frame, step * np.arange(min(size, _reach(frame, step)) + 1.0)))
    power = _power(fft.rfft(one.astype(_FINE), size), frame.blocks)
    mass = np.maximum(fft.irfft(power, size), 0.0).astype(float)
    roughness = 2 * _TRANSFORM_ROUNDING * frame.blocks * (1 + math.log2(size)) * float(np.linalg.norm(one))
    cells = np.arange(size)
    high = np.minimum((cells + frame.blocks) * step, float(frame.blocks))
    low = np.minimum(cells * step, high)
    return Law(low, high, mass, np.ones(size), 2 * _TAIL, roughness).coarse(RATIO)


def _power(base: NDArray[Any], exponent: int) -> NDArray[Any]:
    """By repeated squares, which take a fraction of the time of the machine's own power."""
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    square: NDArray[Any] = half * half
    return square * base if exponent % 2 else square


def _reach(frame: OrthonormalFrame, step: float) -> int:
    """So many cells hold all of one block but for what, over all blocks, is at most `_TAIL`."""
    a, b = frame.block / 2, (frame.dimension - frame.block) / 2
    last = math.ceil(float(special.betainccinv(a, b, _TAIL / frame.blocks / 2)) / step) + 1
    return min(last, math.ceil(1 / step))


def _chernoff(frame: OrthonormalFrame) -> float:
    """A point that T passes with probability at most `_TAIL`: log P(T >= t) <= log E[exp(c T)] - c t for every c."""

    def exponent(t: float) -> float:
        found = optimize.minimize_scalar(
            lambda c: log_moment(frame, math.exp(c)) - math.exp(c) * t, bounds=(-7.0, 11.0), method="bounded"
        )
        return float(found.fun)

    low, high = frame.mean, float(frame.blocks)
    while high > low * 1.01:
        middle = (low + high) / 2
        low, high = (low, middle) if exponent(middle) < math.log(_TAIL) else (middle, high)
    return high
