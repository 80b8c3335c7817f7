"""What class a picture is of, told by its edges."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.models.subspace_maths import FloatArray, log_normals
from sfumato.statistics.pictures import Pictures
from sfumato.statistics.places import PLACE_BITS

_PROBES = 100  # random edges at which two labellers are compared


@dataclass(frozen=True, eq=False)
class PictureLabeller:
    """u = directions'(edges - start) of class c is N(centres[c], covs[c]).

    pictures     how a record is made of pictures; its edges are numbers from 0 to 1
    directions   (edges x a), those along which the classes lie apart
    """

    pictures: Pictures
    start: FloatArray
    directions: FloatArray
    centres: FloatArray
    covs: FloatArray

    ARRAYS: ClassVar = ("start", "directions", "centres", "covs")

    def __post_init__(self) -> None:
        wanted = self.shapes(self.pictures, len(self.centres), self.directions.shape[-1])
        if any(getattr(self, name).shape != shape for name, shape in wanted.items()):
            raise ValueError("an array of the labeller does not have the shape that its classes and directions ask")
        if not all(np.isfinite(getattr(self, name)).all() for name in wanted):
            raise ValueError("the arrays of the labeller must be finite")
        if np.linalg.eigvalsh(self.covs).min() <= 0:
            raise ValueError("a covariance of the labeller must be positive in every direction")

    @staticmethod
    def shapes(pictures: Pictures, classes: int, directions: int) -> dict[str, tuple[int, ...]]:
        """The shape of every array."""
        return {
            "start": (pictures.size,),
            "directions": (pictures.size, directions),
            "centres": (classes, directions),
            "covs": (classes, directions, directions),
        }

    def log_densities(self, places: FloatArray) -> FloatArray:
        """Of every class (records x classes), for records (records x columns) with places from 0 to 1."""
        edges = self.pictures(np.rint(places.T * 2.0**PLACE_BITS)) * 2.0**-PLACE_BITS
        return self._of_edges(edges)

    def _of_edges(self, edges: FloatArray) -> FloatArray:
        along = (edges - self.start[:, None]).T @ self.directions
        return log_normals(along, self.centres, np.linalg.cholesky(self.covs).astype(np.float64))

    def distance(self, other: "PictureLabeller") -> float:
        """By what they say of the same edges, relative; directions may have other signs."""
        if self.pictures != other.pictures or self.centres.shape != other.centres.shape:
            return 1.0
        probes = np.random.default_rng(0).random((self.pictures.size, _PROBES))
        mine, theirs = self._of_edges(probes), other._of_edges(probes)
        return float((np.abs(mine - theirs) / (1 + np.abs(mine))).max())

    def to_content(self) -> dict[str, Any]:
        """What is not an array."""
        return {"pictures": [list(shape) for shape in self.pictures.shapes], "directions": self.directions.shape[1]}


def pictures_from(content: Mapping[str, Any], columns: int) -> Pictures:
    """The pictures that `to_content` wrote, of so many columns."""
    pictures = Pictures(tuple((int(start), int(high), int(wide)) for start, high, wide in content["pictures"]))
    if pictures.columns != columns:
        raise ValueError("the labeller looks at other columns than the model has")
    return pictures
