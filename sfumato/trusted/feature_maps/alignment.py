"""Pictures aligned: moved, slanted and stretched so that their ink lies as that of an average picture.

Handwriting leans and grows from hand to hand. Aligned, pictures of a class lie nearly in a plane; how each was
moved is kept beside it, so that nothing is lost.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS, ScaledColumns
from sfumato.trusted.schema import Column

MOVES = 5  # numbers that say how a picture was moved: across, down, slant, width, height
LEAST_SIDE = 4  # of a picture that can be moved
_LEAST_SPREAD, _BEYOND = 1e-100, 1e100  # pixels: far from where squares underflow or overflow
_FARTHEST, _STEEPEST, _SMALLEST, _LARGEST = 1 / 4, 1.0, 0.6, 1.65  # of a side; slant; width and height
_INK_BITS = 12
_AN_OUNCE = 1.0  # full pixels of ink that every picture has where the average has it: a blank one stays where it is
_NUMBERS_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class ImageFrame:
    """How the ink of an average picture lies: where, how slanted, and how far it spreads to either side.

    In pixels from the middle of the picture. Ink is what is high, or if `dark` what is low. Pictures without paper
    around their ink, such as photographs, are `still`: none is moved.
    """

    high: int
    wide: int
    still: bool
    dark: bool
    across: float
    down: float
    slant: float
    width: float
    height: float

    def __post_init__(self) -> None:
        numbers = (self.across, self.down, self.slant, self.width, self.height)
        if min(self.high, self.wide) < LEAST_SIDE or not all(spread > _LEAST_SPREAD for spread in numbers[3:]):
            raise ValueError(f"a frame has {LEAST_SIDE} rows and columns at least, and ink that spreads")
        if not all(isinstance(number, float | int) and abs(number) < _BEYOND for number in numbers):
            raise ValueError("the ink of a frame lies too far out")

    @property
    def pixels(self) -> int:
        """d."""
        return self.high * self.wide

    def ink(self, places: FloatArray) -> FloatArray:
        """Of pixels from 0 to 1, or what gives them back."""
        return 1 - places if self.dark else places

    @cached_property
    def down_and_across(self) -> tuple[FloatArray, FloatArray]:
        """Where pixels lie (high x 1 x 1, and 1 x wide x 1), from the middle."""
        down, across = (np.arange(side, dtype=np.float64) - (side - 1) / 2 for side in (self.high, self.wide))
        return down[:, None, None], across[None, :, None]


class Moves(NamedTuple):
    """How pictures were moved: a number for each, absolute, in pixels or as a factor."""

    across: FloatArray
    down: FloatArray
    slant: FloatArray
    width: FloatArray
    height: FloatArray

    @classmethod
    def of(cls, ink: FloatArray, frame: ImageFrame) -> "Moves":
        """Of pictures (pixels x records) whose ink is in whole numbers of 2**-12.

        Sums are of whole numbers below 2**53, exact in any order; the rest is single operations.
        """
        if frame.still:
            return cls.none(frame, ink.shape[1])
        across, down = (2 * np.arange(side) - (side - 1) for side in (frame.wide, frame.high))  # half pixels
        u, v = np.tile(across, frame.high), np.repeat(down, frame.wide)
        powers = np.array([np.ones_like(u), u, v, u * u, u * v, v * v], dtype=np.float64)
        units = np.array([1.0, 0.5, 0.5, 0.25, 0.25, 0.25])[:, None] * 2.0**-_INK_BITS
        mass, x, y, xx, xy, yy = (powers @ ink) * units
        mass = mass + _AN_OUNCE
        x, y = (x + _AN_OUNCE * frame.across) / mass, (y + _AN_OUNCE * frame.down) / mass
        own = frame.height**2
        lean = frame.slant * own
        broad = frame.width**2 + frame.slant * lean
        xx = (xx + _AN_OUNCE * (broad + frame.across**2)) / mass - x * x
        xy = (xy + _AN_OUNCE * (lean + frame.across * frame.down)) / mass - x * y
        yy = (yy + _AN_OUNCE * (own + frame.down**2)) / mass - y * y
        yy = np.maximum(yy, 1e-6)
        slant = xy / yy
        width = np.sqrt(np.maximum(xx - xy * slant, 0.0)) / frame.width
        return cls(x, y, slant, width, np.sqrt(yy) / frame.height).within(frame)

    @classmethod
    def none(cls, frame: ImageFrame, records: int) -> "Moves":
        """Of records that lie as the frame does."""
        return cls(*(np.full(records, value) for value in (frame.across, frame.down, frame.slant, 1.0, 1.0)))

    def within(self, frame: ImageFrame) -> "Moves":
        """None farther than a frame allows."""
        far_across, far_down = _FARTHEST * frame.wide, _FARTHEST * frame.high
        return Moves(
            np.clip(self.across, frame.across - far_across, frame.across + far_across),
            np.clip(self.down, frame.down - far_down, frame.down + far_down),
            np.clip(self.slant, frame.slant - _STEEPEST, frame.slant + _STEEPEST),
            np.clip(self.width, _SMALLEST, _LARGEST),
            np.clip(self.height, _SMALLEST, _LARGEST),
        )

    def to_places(self, frame: ImageFrame) -> FloatArray:
        """From 0 to 1 (moves x records)."""
        return np.array(
            [
                0.5 + (self.across - frame.across) / (2 * _FARTHEST * frame.wide),
                0.5 + (self.down - frame.down) / (2 * _FARTHEST * frame.high),
                0.5 + (self.slant - frame.slant) / (2 * _STEEPEST),
                (self.width - _SMALLEST) / (_LARGEST - _SMALLEST),
                (self.height - _SMALLEST) / (_LARGEST - _SMALLEST),
            ]
        )

    @classmethod
    def from_places(cls, places: FloatArray, frame: ImageFrame) -> "Moves":
        """What `to_places` made."""
        if frame.still:
            return cls.none(frame, places.shape[1])
        across, down, slant, width, height = np.clip(places, 0.0, 1.0)
        return cls(
            frame.across + (across - 0.5) * (2 * _FARTHEST * frame.wide),
            frame.down + (down - 0.5) * (2 * _FARTHEST * frame.high),
            frame.slant + (slant - 0.5) * (2 * _STEEPEST),
            _SMALLEST + width * (_LARGEST - _SMALLEST),
            _SMALLEST + height * (_LARGEST - _SMALLEST),
        )


def align(ink: FloatArray, moves: Moves, frame: ImageFrame) -> FloatArray:
    """Pictures (pixels x records) as they would be without their moves."""
    if frame.still:
        return ink
    down, across = frame.down_and_across
    lower, beside = down - frame.down, (across - frame.across) - frame.slant * (down - frame.down)
    sheared = moves.slant * moves.height
    return _looked_up(
        ink, moves.down + moves.height * lower, moves.across + moves.width * beside + sheared * lower, frame
    )


def set_back(aligned: FloatArray, moves: Moves, frame: ImageFrame) -> FloatArray:
    """Aligned pictures with their moves."""
    if frame.still:
        return aligned
    down, across = frame.down_and_across
    lower = (down - moves.down) / moves.height
    beside = ((across - moves.across) - moves.slant * (down - moves.down)) / moves.width
    return _looked_up(aligned, frame.down + lower, frame.across + beside + frame.slant * lower, frame)


def _looked_up(image: FloatArray, down: FloatArray, across: FloatArray, frame: ImageFrame) -> FloatArray:
    """The ink at places between pixels, by the four around it; beyond the picture there is none.

    Single operations alone, so that a picture has the same digits in any company.
    """
    records = image.shape[1]
    shape = (frame.high, frame.wide, records)
    wider = frame.wide + 3
    padded = np.zeros((frame.high + 3, wider, records))
    padded[1:-2, 1:-2] = image.reshape(shape)
    row = np.broadcast_to(np.clip(down + (frame.high + 1) / 2, 0.0, frame.high + 1), shape)
    column = np.broadcast_to(np.clip(across + (frame.wide + 1) / 2, 0.0, frame.wide + 1), shape)
    above, left = np.floor(row), np.floor(column)
    lower, right = row - above, column - left
    at = ((above * wider + left) * records + np.arange(records)).astype(np.int64)
    flat = padded.ravel()
    top = flat.take(at) * (1 - right) + flat.take(at + records) * right
    bottom = flat.take(at + wider * records) * (1 - right) + flat.take(at + (wider + 1) * records) * right
    found: FloatArray = (top * (1 - lower) + bottom * lower).reshape(frame.pixels, records)
    return found


@dataclass(frozen=True)
class AlignedImages:
    """The ink of each picture aligned, then how it was moved; or the moves alone. Whole numbers from 0 to 2**21.

    They are a record's own: no other record and no order of sums can change a digit of them.
    """

    places: ScaledColumns
    frame: ImageFrame
    moves_alone: bool = False

    def __post_init__(self) -> None:
        if picture_of(self.places.columns) != (self.frame.high, self.frame.wide):
            raise ValueError("columns that are aligned must be the picture of their frame")

    @property
    def columns(self) -> Mapping[str, Column]:
        """See `Coordinates`."""
        return self.places.columns

    @property
    def names(self) -> tuple[str, ...]:
        """See `Coordinates`."""
        return self.places.names

    @property
    def size(self) -> int:
        """See `Coordinates`."""
        return MOVES if self.moves_alone else self.frame.pixels + MOVES

    @property
    def noun(self) -> str:
        """See `Coordinates`."""
        return "moves of pictures" if self.moves_alone else "aligned pictures"

    def __call__(self, batch: Batch) -> FloatArray:
        """See `Coordinates`."""
        found = np.empty((self.size, batch.rows))
        rows = max(1, _NUMBERS_AT_ONCE // self.frame.pixels)
        for number, part in enumerate(batch.parts(rows, self.names)):
            places = align_images(self.places(part) * 2.0**-PLACE_BITS, self.frame)
            found[:, number * rows : number * rows + part.rows] = np.rint(places[-self.size :] * 2.0**PLACE_BITS)
        return found

    def to_dict(self) -> dict[str, Any]:
        """See `Coordinates`."""
        columns = self.places.to_dict()
        return {"kind": "aligned", "columns": columns, "frame": asdict(self.frame), "moves_alone": self.moves_alone}


def align_images(places: FloatArray, frame: ImageFrame) -> FloatArray:
    """Of pictures (pixels x records) from 0 to 1: the ink aligned, then the moves, from 0 to 1."""
    ink = frame.ink(places)
    moves = Moves.of(np.floor(ink * 2.0**_INK_BITS), frame)
    return np.concatenate((align(ink, moves, frame), moves.to_places(frame)))


def picture_of(columns: Mapping[str, Column]) -> tuple[int, int] | None:
    """Rows and columns of the one picture that a schema's columns are, if they are one that can be moved."""
    names = {column.name for column in columns.values()}
    image = getattr(next(iter(columns.values()), None), "image", None)
    if image is None or len(names) > 1 or min(image) < LEAST_SIDE or math.prod(image) != len(columns):
        return None
    return int(image[0]), int(image[1])
