"""The numbers by which a record is told: its columns' places, or those of a picture aligned."""

from collections.abc import Mapping
from typing import Any, Protocol

from sfumato.errors import BundleError
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.alignment import AlignedImages, ImageFrame
from sfumato.trusted.feature_maps.scaled_columns import ScaledColumns
from sfumato.trusted.schema import Column


class Coordinates(Protocol):
    """A public map from a record to so many whole numbers from 0 to 2**21, which are its own to the last digit."""

    @property
    def columns(self) -> Mapping[str, Column]:
        """What it reads, as the schema has it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads, in order."""

    @property
    def size(self) -> int:
        """How many numbers there are."""

    @property
    def noun(self) -> str:
        """What they are numbers of, for titles."""

    def __call__(self, batch: Batch) -> FloatArray:
        """The numbers of each record (size x records)."""

    def to_dict(self) -> Any:
        """Plain content."""


def coordinates_from_content(content: Any) -> Coordinates:
    """The coordinates that `to_dict` wrote; places are a plain list of columns."""
    if isinstance(content, list):
        return ScaledColumns.from_dict(content)
    match content.get("kind"):
        case "aligned":
            return AlignedImages(
                ScaledColumns.from_dict(content["columns"]), ImageFrame(**content["frame"]), content["moves_alone"]
            )
        case other:
            raise BundleError(f"coordinates of kind {other!r} are not known to this version; update sfumato")
