"""Maps from one record to a vector of whole numbers that is never longer than one unit."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from sfumato.errors import BundleError
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.fixed_point import RECORD_NORM

UNIT = RECORD_NORM


class Vectors(NamedTuple):
    """A vector for each record (width x records), integer-valued, and the block of coordinates in which it lies."""

    values: FloatArray
    block: IntArray


class BoundedMap(Protocol):
    """What a class of records is looked at through.

    Formal guarantees that a class must argue in its docstring
        A record's vector is a function of that record alone, to the last bit, and of norm UNIT at most. The vectors of
        two records are at most `replace` apart.
    """

    @property
    def name(self) -> str:
        """What the sums are called."""

    @property
    def width(self) -> int:
        """How many coordinates a block has."""

    @property
    def blocks(self) -> int:
        """In how many blocks a record's vector can lie; it is zero in all others."""

    @property
    def replace(self) -> float:
        """How far apart the vectors of two records can be."""

    def __call__(self, places: FloatArray) -> Vectors:
        """The vectors of records, given by their places (columns x records)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain content; `kind` names the class."""


_KINDS: dict[str, Callable[[Mapping[str, Any]], BoundedMap]] = {}


def register_map(kind: str, make: Callable[[Mapping[str, Any]], BoundedMap]) -> None:
    """Name a class of maps. The list of names is closed."""
    _KINDS[kind] = make


def map_from_content(content: Mapping[str, Any]) -> BoundedMap:
    """The map that `to_dict` wrote; an unknown kind is refused."""
    kind = content.get("kind")
    if kind not in _KINDS:
        raise BundleError(f"a map of kind {kind!r} is not known to this version; update sfumato")
    return _KINDS[kind](content)


def amplitude(width: int) -> float:
    """What a vector of norm 1 is multiplied by before it is cut to whole numbers.

    So much below UNIT that cutting, which moves a coordinate by less than 1 and two vectors apart by less than
    sqrt(width), keeps  A sqrt(2) + sqrt(width) <= UNIT sqrt(2).
    """
    return float(UNIT - math.isqrt(width) - 1)


def whole(values: FloatArray) -> FloatArray:
    """Vectors (width x records) cut to whole numbers towards zero.

    The bound is checked on whole numbers, whose squares add up exactly: a vector that floats made longer than UNIT
    counts for nothing, and so does one that is not a number.
    """
    cut = np.trunc(values)
    within = np.einsum("ij,ij->j", cut, cut) <= float(UNIT) ** 2
    return cut if within.all() else np.where(within, cut, 0.0)


def triangle(dimension: int) -> tuple[IntArray, IntArray, FloatArray]:
    """The upper triangle of a symmetric matrix, and the factors that make `svec` keep lengths."""
    i, j = np.triu_indices(dimension)
    return i, j, np.where(i == j, 1.0, math.sqrt(2.0))
