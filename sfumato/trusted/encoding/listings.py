"""Where a value stands in a public list of values."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.trusted.encoding.values import Kind, Value, number_of_text

NOT_LISTED = -1
IS_NULL = -2


class Listing:
    """The values of a category column, as texts.

    A text is the entry that is spelt like it. A number is the entry that writes it, and so is a text that is spelt like
    none but writes a number: 7, 7.0, true and "7.0" may stand for "7", for "007" or for "True", whichever is listed. Of
    several entries that write one number, it is the one in plain digits, else the first.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(texts)
        self._places = {text.encode(): place for place, text in enumerate(self.texts)}

    @cached_property
    def numbers(self) -> dict[int | float, int]:
        """The place of each number that an entry writes."""
        places: dict[int | float, int] = {}
        for text, place in self._places.items():
            number = number_of_text(text)
            if number is not None and number == number and (number not in places or text == plain_text(number)):
                places[number] = place
        return places

    def position(self, value: Value) -> int:
        """The place of a value: `NOT_LISTED` or `IS_NULL` where it has none."""
        match value.kind:
            case Kind.NULL:
                return IS_NULL
            case Kind.NUMBER:
                return self.numbers.get(value.content, NOT_LISTED)
            case Kind.TEXT:
                return self.position_of_text(value.content)
            case Kind.DAY:
                return self._places.get(iso_day(value.content), NOT_LISTED)
        return NOT_LISTED

    def position_of_text(self, text: bytes) -> int:
        """The place of a text; one that says NaN is a null, unless it is listed."""
        if (place := self._places.get(text)) is not None:
            return place
        number = number_of_text(text)
        if number is None:
            return NOT_LISTED
        return self.numbers.get(number, NOT_LISTED) if number == number else IS_NULL

    @cached_property
    def in_bytes(self) -> pa.Array:
        """The texts, to be looked up in."""
        return pa.array([text.encode() for text in self.texts], pa.large_binary())

    @cached_property
    def in_floats(self) -> "NumberTable":
        """The numbers that a float64 can be."""
        return NumberTable(
            {number: place for number, place in self.numbers.items() if number == float(number)}, pa.float64()
        )

    @cached_property
    def in_integers(self) -> "NumberTable":
        """The numbers that an int64 can be."""
        return self._integers(-(2**63), pa.int64())

    @cached_property
    def in_unsigned(self) -> "NumberTable":
        """The numbers that a uint64 can be."""
        return self._integers(0, pa.uint64())

    def _integers(self, lowest: int, storage: pa.DataType) -> "NumberTable":
        highest = lowest + 2**64
        found = {number: place for number, place in self.numbers.items() if isinstance(number, int)}
        return NumberTable({n: place for n, place in found.items() if lowest <= n < highest}, storage)


class NumberTable:
    """Numbers of one Arrow type, and the place of each in a listing."""

    def __init__(self, places: dict[int | float, int], storage: pa.DataType) -> None:
        self.numbers = pa.array(list(places), storage)
        self.places = np.array([*places.values(), NOT_LISTED], dtype=np.int64)  # last, where index -1 leads


def plain_text(number: int | float) -> bytes:
    """A number in its plain spelling: `7`, `0.5`."""
    return repr(number).encode()


def iso_day(days: int) -> bytes:
    """A day in its plain spelling: `2022-12-31`; empty where the calendar has no such day."""
    try:
        return str(np.datetime64(days, "D")).encode()
    except (OverflowError, ValueError):
        return b""
