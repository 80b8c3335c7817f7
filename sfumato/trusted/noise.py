"""Gaussian noise rounded to whole numbers, exact in law, drawn in batches from a cryptographic source.

Why rounded: the sums inside the curator are vectors of integers, so  sum + round(sigma N) = round(sum + sigma N).  The
release is post-processing of the ideal Gaussian mechanism, and every theorem about that mechanism holds of it to the
last digit.

How exact: Box and Muller turn two uniform numbers U, V into two normal ones,
    sigma sqrt(-2 log U) cos(2 pi V)   and   sigma sqrt(-2 log U) sin(2 pi V).
64 bits of U and of V are drawn and the pair is computed in float64 together with a bound on how far it can be from the
value that all further bits would give. Where the bound does not decide the rounding, more bits are drawn and interval
arithmetic decides (the idea of interval refining: Haney et al., "Precision-based attacks and interval refining",
arXiv 2207.13793). Floating point never decides a doubtful draw, so the law is exact if the bound holds.

Why the bound holds: numpy states at most 4 units in the last place (2^-52) for log, sin and cos. The angle 2 pi V
carries at most 3 pi * 2^-52 from three roundings and 2 pi * 2^-64 from the bits not yet drawn, the radius 5 units, and
the last product half a unit: below 20 * 2^-52 of the radius in all, against the 64 * 2^-52 used. The bits of U not yet
drawn move the radius by at most sigma^2 2^-65 / (u r) to first order, against sigma^2 2^-63 / (u r) used; where u is
within 2^-40 of 0 or 1 and first order does not serve, the bound is infinite. The tests compare with 250-bit arithmetic
on random and on extreme words.
"""

import hashlib
import math
import os
from collections.abc import Callable
from typing import Any, Protocol

import mpmath
import numpy as np
from mpmath import libmp

from sfumato.trusted.arrays import FloatArray, IntArray, WordArray
from sfumato.trusted.fixed_point import LARGEST_SIGMA

DrawWords = Callable[[int], WordArray]

_RELATIVE_ERROR = 64 * 2.0**-52
_EDGE = np.uint64(1 << 24)
_PAIRS_AT_ONCE = 1 << 17
_INTERVAL = mpmath.MPIntervalContext()  # sound at any precision, so that threads may share it


class Noise(Protocol):
    """Where the curator takes its noise from."""

    @property
    def private(self) -> bool:
        """Whether nobody can know the noise."""

    def rounded_gaussian(self, sigma: float, size: int) -> IntArray:
        """`size` independent draws of a normal variable of standard deviation sigma, each rounded to a whole number."""

    def key(self) -> bytes:
        """A key by which records of a person are chosen; it moves no draw of the noise."""


class SecureNoise:
    """Noise from the operating system's cryptographic source. It has no state: no seed, nothing to copy on a fork."""

    private = True

    def rounded_gaussian(self, sigma: float, size: int) -> IntArray:
        """See `Noise`."""
        return rounded_gaussian(sigma, size, secure_words)

    def key(self) -> bytes:
        """See `Noise`."""
        return secure_words(4).tobytes()


class SeededNoise:
    """Noise that anybody who knows the seed can take off again.

    For tests and studies; it marks the release for good.
    """

    private = False

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._drawn = 0

    def _words(self, count: int) -> WordArray:
        self._drawn += 1
        key = f"{self._seed}/{self._drawn}".encode()
        return np.frombuffer(hashlib.shake_256(key).digest(8 * count), dtype=np.uint64)

    def rounded_gaussian(self, sigma: float, size: int) -> IntArray:
        """See `Noise`."""
        return rounded_gaussian(sigma, size, self._words)

    def key(self) -> bytes:
        """See `Noise`."""
        return hashlib.sha256(f"{self._seed}/key".encode()).digest()


def secure_words(count: int) -> WordArray:
    """Uniform 64-bit words from the operating system."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def rounded_gaussian(sigma: float, size: int, words: DrawWords) -> IntArray:
    """`size` draws of round(sigma N), N standard normal, from uniform words.

    Edge cases
        size 0: an empty vector. sigma not above 0, or above `LARGEST_SIGMA`: `ValueError`; both are public numbers.
    """
    if not 0 < sigma <= LARGEST_SIGMA:
        raise ValueError(f"sigma is {sigma}; it must lie above 0 and not above 2**40; ask with a larger mu")
    pairs = (size + 1) // 2
    drawn = np.empty((pairs, 2), dtype=np.int64)
    for start in range(0, pairs, _PAIRS_AT_ONCE):
        stop = min(start + _PAIRS_AT_ONCE, pairs)
        word = words(2 * (stop - start)).reshape(2, -1)
        drawn[start:stop] = _rounded_pairs(word[0], word[1], sigma, words).T
    return drawn.reshape(-1)[:size]


def _rounded_pairs(a: WordArray, b: WordArray, sigma: float, words: DrawWords) -> IntArray:
    value, bound = box_muller(a, b, sigma)
    nearest = np.floor(value + 0.5)
    to_the_next_half = 0.5 - np.abs(value - nearest)
    rounded = nearest.astype(np.int64)
    for i in np.flatnonzero((to_the_next_half <= bound).any(axis=0)):
        rounded[:, i] = refine(int(a[i]), int(b[i]), sigma, words)
    return rounded


def box_muller(a: WordArray, b: WordArray, sigma: float) -> tuple[FloatArray, FloatArray]:
    """The two normal values of each pair of words, and how far bits not yet drawn and rounding can move them."""
    to_one = ~a  # 1 - U in the same bits, so that log keeps its digits near U = 1
    u, rest = _unit(a), _unit(to_one)
    radius = sigma * np.sqrt(np.where(a < 1 << 63, -2 * np.log(u), -2 * np.log1p(-rest)))
    angle = b.astype(np.float64) * (2 * math.pi * 2.0**-64)
    bound = radius * _RELATIVE_ERROR + sigma * sigma * 2.0**-63 / (u * radius)
    bound[(a < _EDGE) | (to_one < _EDGE)] = np.inf
    return np.stack((radius * np.cos(angle), radius * np.sin(angle))), bound


def _unit(word: WordArray) -> FloatArray:
    """The middle of the interval of (0, 1) that the bits of a word leave open.

    Never 0, never 1 where a draw is decided.
    """
    unit: FloatArray = word.astype(np.float64) * 2.0**-64 + 2.0**-65
    return np.minimum(unit, 1 - 2.0**-53)


def refine(a: int, b: int, sigma: float, words: DrawWords) -> tuple[int, int]:
    """The rounded pair that starts with these words.

    More bits of both, in interval arithmetic, until both are decided.
    """
    interval, bits = _INTERVAL, 64
    while True:
        more = words(2)
        a, b, bits = a << 64 | int(more[0]), b << 64 | int(more[1]), bits + 64
        if a == 0:  # log 0: more bits are needed
            continue
        interval.prec = bits + 96
        u, v = (interval.mpf([word, word + 1]) / interval.mpf(2) ** bits for word in (a, b))
        radius = interval.mpf(sigma) * interval.sqrt(-2 * interval.log(u))
        angle = 2 * interval.pi * v
        first = _decided(radius * interval.cos(angle))
        second = _decided(radius * interval.sin(angle))
        if first is not None and second is not None:
            return first, second


def _decided(value: Any) -> int | None:
    """The whole number nearest to everything in the interval, if there is one.

    Sums of binary fractions are exact here.
    """
    low, high = (libmp.to_int(libmp.mpf_floor(libmp.mpf_add(end, libmp.fhalf))) for end in value._mpi_)
    return int(low) if low == high else None
