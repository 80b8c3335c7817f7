"""What pictures show of edges, in whole numbers: how strong they are, which way they turn, and where they lie."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.schema import Column
from sfumato.statistics.features import in_order
from sfumato.statistics.places import PLACE_BITS

FloatArray = NDArray[np.float64]

LEAST_SIDE = 4  # of a picture in which edges can be told
_POINTS, _PIXELS_APART = 7, 2  # on each axis, around which edges are gathered: so many, and no closer than that
_OF_A_SIDE = 1 / 28  # the width of the finer filter, one pixel at least; the coarser is twice as wide
_REACH = 4  # widths, beyond which a filter is nothing
_PIXEL, _TAP, _POOL = 2.0**12, 2.0**12, 2.0**10
_TURNS = ((256, 0), (181, 181), (0, 256), (-181, 181))  # cosine and sine of four directions, and of their opposites
_DIRECTIONS = 2 * len(_TURNS)
_NUMBERS_AT_ONCE = 1 << 18


class Filters(NamedTuple):
    """Whole taps along one axis: of a Gaussian, its derivative, and what gathers around the points of the grid."""

    smooth: FloatArray
    slope: FloatArray
    pool: FloatArray

    @classmethod
    def along(cls, pixels: int, width: float) -> "Filters":
        """For an axis of so many pixels. Beyond its ends a picture goes on as it ends, so that a frame is no edge."""
        reach = math.ceil(_REACH * width)
        steps = np.arange(-reach, reach + 1)
        bell = np.exp(-(steps**2) / (2 * width**2)) / (width * math.sqrt(2 * math.pi))
        smooth, slope = np.zeros((pixels, pixels)), np.zeros((pixels, pixels))
        at = np.clip(np.arange(pixels)[:, None] + steps, 0, pixels - 1)
        np.add.at(smooth, (np.arange(pixels)[:, None], at), np.rint(_TAP * bell))
        np.add.at(slope, (np.arange(pixels)[:, None], at), np.rint(_TAP * bell * steps / width))
        points = min(_POINTS, pixels // _PIXELS_APART)
        step = pixels / points
        away = np.arange(pixels) - ((np.arange(points) + 0.5) * step - 0.5)[:, None]
        return cls(smooth, slope, np.rint(_POOL * np.exp(-2 * (away / step) ** 2) * math.sqrt(2 / math.pi) / step))


class Picture(NamedTuple):
    """The columns from `start` on, row by row, and the filters at each width along both axes."""

    start: int
    high: int
    wide: int
    filters: tuple[tuple[Filters, Filters], ...]

    @classmethod
    def of(cls, start: int, high: int, wide: int) -> "Picture":
        """With filters of two widths."""
        width = max(1.0, _OF_A_SIDE * min(high, wide))
        both = tuple((Filters.along(high, scale), Filters.along(wide, scale)) for scale in (width, 2 * width))
        return cls(start, high, wide, both)

    @property
    def size(self) -> int:
        """How many numbers it is told by."""
        down, across = self.filters[0]
        return len(self.filters) * _DIRECTIONS * len(down.pool) * len(across.pool)

    def __call__(self, places: FloatArray) -> FloatArray:
        """The numbers (size x records), from 0 to 2**21; zeros for a picture without an edge.

        Sums are of whole numbers below 2**53, exact in any order; the rest is single operations, in one order.
        """
        pixels = places[self.start : self.start + self.high * self.wide] * (_PIXEL / 2.0**PLACE_BITS)
        image = np.floor(pixels).reshape(self.high, self.wide, -1)
        edges = np.concatenate([part for filters in self.filters for part in _edges(image, *filters)])
        length = np.sqrt(in_order(edges * edges))
        found: FloatArray = np.rint(np.sqrt(edges / np.maximum(length, 1.0)) * 2.0**PLACE_BITS)
        return np.minimum(found, 2.0**PLACE_BITS)


def _edges(image: FloatArray, down: Filters, across: Filters) -> Iterator[FloatArray]:
    """The positive part of the slope in each direction, gathered around the points of the grid."""
    slopes = (_filtered(image, down.smooth, across.slope), _filtered(image, down.slope, across.smooth))
    right, below = (np.rint(slope * 2.0**-16) for slope in slopes)
    gathered_right, gathered_below = (_filtered(slope, down.pool, across.pool) for slope in (right, below))
    for cosine, sine in _TURNS:
        ahead = _filtered(np.maximum(cosine * right + sine * below, 0.0), down.pool, across.pool)
        behind = ahead - (cosine * gathered_right + sine * gathered_below)
        yield from (part.reshape(-1, part.shape[-1]) for part in (ahead, behind))


def _filtered(image: FloatArray, down: FloatArray, across: FloatArray) -> FloatArray:
    """One filter along each axis of pictures (rows x columns x records)."""
    found = np.matmul(across, image)
    both: FloatArray = (down @ found.reshape(len(found), -1)).reshape(len(down), len(across), -1)
    return both


@dataclass(frozen=True)
class Pictures:
    """Records that are pictures side by side: in which column each starts, its rows and its columns."""

    shapes: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        ends = [start + high * wide for start, high, wide in self.shapes]
        if not self.shapes or [start for start, _, _ in self.shapes] != [0, *ends[:-1]]:
            raise ValueError("pictures must follow each other from the first column on")
        if min(min(high, wide) for _, high, wide in self.shapes) < LEAST_SIDE:
            raise ValueError(f"a picture must have {LEAST_SIDE} rows and columns at least for edges to be told")

    @cached_property
    def _each(self) -> tuple[Picture, ...]:
        return tuple(Picture.of(*shape) for shape in self.shapes)

    @property
    def columns(self) -> int:
        """How many pixels there are."""
        return sum(high * wide for _, high, wide in self.shapes)

    @property
    def size(self) -> int:
        """How many numbers tell of them."""
        return sum(picture.size for picture in self._each)

    def __call__(self, places: FloatArray) -> FloatArray:
        """The numbers (size x records) of pictures whose pixels are whole numbers from 0 to 2**21."""
        found = np.empty((self.size, places.shape[1]))
        rows = max(1, _NUMBERS_AT_ONCE // self.columns)
        for start in range(0, places.shape[1], rows):
            some = places[:, start : start + rows]
            found[:, start : start + rows] = np.concatenate([picture(some) for picture in self._each])
        return found


def pictures_of(columns: Mapping[str, Column]) -> Pictures | None:
    """The pictures that a schema's columns are, if every one is part of a picture that is large enough for edges."""
    shapes, start = list[tuple[int, int, int]](), 0
    for _, run in groupby(columns.values(), key=lambda column: column.name):
        members = list(run)
        high, wide = getattr(members[0], "image", None) or (0, 0)
        if min(high, wide) < LEAST_SIDE or high * wide != len(members):
            return None
        shapes.append((start, high, wide))
        start += len(members)
    return Pictures(tuple(shapes)) if shapes else None
