"""Second moments of wide records, over all classes or each apart, at the speed of a matrix product."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.centred_projection import CentredProjection
from sfumato.trusted.feature_maps.clipping import clip_to_ball
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register

LENGTH = 2**15  # of the longest record, in whole numbers: the products of 2**23 records stay below 2**53
UNIT = LENGTH**2  # the norm that no record's matrix exceeds
_ROOT_OF_TWO = math.nextafter(math.sqrt(2), 0)  # so that its square is not above 2


@dataclass(frozen=True, eq=False, repr=False)
class Scatter(Titled):
    """The sum of v v', v = z / max(radius, |z|) in whole numbers of 2**-15, for all classes together or each apart.

    A symmetric matrix is its diagonal, and its upper triangle with weight sqrt(2): its norm in the blocks' weights is
    the Frobenius norm, and an entry off the diagonal has noise sigma / sqrt(2).

    Formal guarantees, in units of 2**30
        v is cut to whole numbers first, and |v| <= 2**15 is checked on them, see `clipped`.
        add-remove       1: |v v'| = |v|^2
        replace, label   sqrt(2): |v v' - w w'|^2 = |v|^4 + |w|^4 - 2 (v.w)^2 <= 2 in the same coordinates, and
                         |v|^4 + |w|^4 <= 2 in those of different classes
        Attained: by a record beyond the radius; by two such at a right angle, or of different classes.
    Edge cases
        No records: zeros.
    """

    view: CentredProjection
    radius: float
    apart: bool

    def __post_init__(self) -> None:
        if not 0 <= self.radius < math.inf:
            raise ValueError("the radius must not be negative")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        by = f" by {self.view.parting.target}" if self.apart and self.view.parting.target else ""
        what = f"second moments of {self.view.places.noun} in {self.view.width} directions{by}"
        return f"{what}, clipped to a ball"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return self.view.columns

    @property
    def groups(self) -> int:
        """How many matrices there are."""
        return self.view.parting.size if self.apart else 1

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`: all diagonals, then all triangles."""
        width = self.view.width
        triangles = Block(self.groups * width * (width - 1) // 2, _ROOT_OF_TWO)
        return (Block(self.groups * width, 1.0), triangles)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return float(UNIT)
            case Adjacency.REPLACE | Adjacency.LABEL:
                return math.sqrt(2) * UNIT
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        width = self.view.width
        totals = np.zeros((self.groups, width, width), dtype=np.int64)
        for z, classes in self.view.parts(batch):
            v = clip_to_ball(z, self.radius, LENGTH)
            for group, total in enumerate(totals):
                mine = v[:, classes == group] if self.apart else v
                total += (mine @ mine.T).astype(np.int64)
        upper = np.triu_indices(width, 1)
        diagonals = np.diagonal(totals, axis1=1, axis2=2)
        return np.concatenate((diagonals.ravel(), totals[:, upper[0], upper[1]].ravel()))

    def matrices(self, values: FloatArray | IntArray) -> FloatArray:
        """The vector of a measurement as symmetric matrices (groups x width x width), in units."""
        width = self.view.width
        numbers = np.asarray(values, dtype=np.float64) / UNIT
        diagonals, triangles = np.split(numbers, [self.groups * width])
        found = np.zeros((self.groups, width, width))
        rows, columns = np.triu_indices(width, 1)
        found[:, rows, columns] = found[:, columns, rows] = triangles.reshape(self.groups, -1)
        place = np.arange(width)
        found[:, place, place] = diagonals.reshape(self.groups, width)
        return found

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return self.view.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {"kind": "scatter", "view": self.view.to_dict(), "radius": self.radius, "apart": self.apart}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Scatter":
        """The statistic that `to_dict` wrote."""
        return cls(CentredProjection.from_dict(content["view"]), content["radius"], content["apart"])


register("scatter", Scatter.from_dict)
