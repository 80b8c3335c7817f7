"""Records told by the edges of their pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.encoding import Batch
from sfumato.schema import Column
from sfumato.statistics.pictures import Pictures, pictures_of
from sfumato.statistics.places import FloatArray, Places


@dataclass(frozen=True)
class Oriented:
    """Of every picture, a run of columns that the schema calls an image: the square roots of its edges' shares.

    The slope of the picture, smoothed at two widths, is taken in eight directions; what is positive is gathered around
    7 x 7 points. A record has as many numbers from 0 to 2**21 as `size` says, and they are its own: no other record
    and no order of sums can change a digit of them.
    """

    places: Places

    def __post_init__(self) -> None:
        _ = self.pictures

    @property
    def columns(self) -> Mapping[str, Column]:
        """See `Coordinates`."""
        return self.places.columns

    @property
    def names(self) -> tuple[str, ...]:
        """See `Coordinates`."""
        return self.places.names

    @cached_property
    def pictures(self) -> Pictures:
        """What the columns are."""
        found = pictures_of(self.places.columns)
        if found is None:
            raise ValueError("edges are told of columns that are all part of a picture")
        return found

    @property
    def size(self) -> int:
        """See `Coordinates`."""
        return self.pictures.size

    def __call__(self, batch: Batch) -> FloatArray:
        """See `Coordinates`."""
        return self.pictures(self.places(batch))

    def to_content(self) -> dict[str, Any]:
        """See `Coordinates`."""
        return {"kind": "oriented", "columns": self.places.to_content()}
