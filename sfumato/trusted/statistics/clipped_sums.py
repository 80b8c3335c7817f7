"""Sums of wide records over each class, every record pulled back into a ball around its centre."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.centred_projection import CentredProjection
from sfumato.trusted.feature_maps.clipping import clip_to_ball
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register


class Sums(NamedTuple):
    """Noisy counts of the classes, none if they were not asked for, and sums of z / radius (classes x width)."""

    counts: FloatArray
    sums: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ClippedSums(Titled):
    """For each class how many records it has, weighing a, and the sum of z / max(radius, |z|).

    Formal guarantees, in units of 2**22, a the weight of the counts (0: they are not asked)
        A record adds (a, v) to the coordinates of one class, and v is at most 1 long, see `clipped`.
        add-remove   sqrt(1 + a^2)
        label        sqrt(2 (1 + a^2)): it leaves the coordinates of one class and enters those of another
        replace      max(2, sqrt(2 (1 + a^2))): in another class as before; in the same class the counts cancel, and
                     |v - v'| <= 2
        Attained: by a record beyond the radius; by such a record and another label; by two on opposite sides.
    Edge cases
        No records: zeros. A radius of 0 makes every record as long as the unit, but for those at the centre.
    """

    view: CentredProjection
    radius: float
    count_weight: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.radius < math.inf and 0 <= self.count_weight < math.inf):
            raise ValueError("the radius and the weight of the counts must not be negative")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        target = self.view.parting.target
        by = f" by {target}" if target else ""
        counted = "counts and " if self.count_weight else ""
        what = f"{counted}sums of {self.view.places.noun} in {self.view.width} directions{by}"
        return f"{what}, within a ball, in units of 2^-22"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return self.view.columns

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        sums = Block(self._classes * self.view.width, 1.0)
        return (Block(self._classes, self.count_weight * UNIT), sums) if self.count_weight else (sums,)

    @property
    def _classes(self) -> int:
        return self.view.parting.size

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        square = 1 + self.count_weight**2
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return math.sqrt(square) * UNIT
            case Adjacency.LABEL if self.view.parting.target is not None:
                return math.sqrt(2 * square) * UNIT
            case Adjacency.REPLACE | Adjacency.LABEL:
                return max(2.0, math.sqrt(2 * square)) * UNIT
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        counts = np.zeros(self._classes, dtype=np.int64)
        sums = np.zeros((self._classes, self.view.width), dtype=np.int64)
        for z, classes in self.view.parts(batch):
            member = np.equal.outer(np.arange(self._classes), classes).astype(np.float64)
            counts += np.bincount(classes, minlength=self._classes)
            # whole numbers of at most 2**22 each, 2**22 of them: the product is exact
            sums += (member @ clip_to_ball(z, self.radius, UNIT).T).astype(np.int64)
        return np.concatenate((counts, sums.ravel())) if self.count_weight else sums.ravel()

    def split(self, values: FloatArray | IntArray) -> Sums:
        """The vector of a measurement: records, and units."""
        numbers = np.asarray(values, dtype=np.float64)
        counts = numbers[: self._classes] if self.count_weight else numbers[:0]
        sums = numbers[-self._classes * self.view.width :].reshape(self._classes, self.view.width) / UNIT
        return Sums(counts, sums)

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return self.view.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "row sums",
            "view": self.view.to_dict(),
            "radius": self.radius,
            "count_weight": self.count_weight,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ClippedSums":
        """The statistic that `to_dict` wrote."""
        return cls(CentredProjection.from_dict(content["view"]), content["radius"], content["count_weight"])


register("row sums", ClippedSums.from_dict)
