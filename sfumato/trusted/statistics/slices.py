"""`slices`: histograms of the records along public directions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.grid import Grid, grids_follow
from sfumato.trusted.feature_maps.packing import pack, unpack
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register
from sfumato.trusted.statistics.tally import tally

_HIGHEST = 2**24  # of a place on a direction; a thousand columns of them stay far below 64 bits


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Titled):
    """How many records of each class of the label lie in each bin of each direction.

    A record's place on direction s is the sum over the columns of the place that direction gives to the column's cell:
    for a number its value times the direction's entry, for a category the entry of its value. Bin b of a direction
    holds the places from ends[s, b - 1] up to, and without, ends[s, b].

    Formal guarantees, m directions
        A record is in exactly one bin of each direction, so it adds a vector of m ones.
        add-remove   sqrt(m): the norm of that vector
        replace      sqrt(2 m): on each direction at most one bin loses 1 and another gains 1
        label        sqrt(2 m) where there is a label, 0 where there is none: the same, because directions do not look
                     at the label but bins are counted for each class
        All three are attained: by any record; by two records that lie in other bins of every direction, or of other
        classes; by two labels of other classes.
        Directions are public, so nothing is gained from drawing them at random, and nothing lost if they are known.
        Places are whole numbers, their sums exact.
    Edge cases
        Every value has a code, every code a cell and every cell a place. No records: zeros.
    """

    grids: Mapping[str, Grid]  # the columns that directions look at
    places: NDArray[np.int32]  # directions x cells of all these columns
    ends: NDArray[np.int32]  # directions x (bins - 1), rising
    label: str | None
    classes: Grid | None  # of the label

    def __post_init__(self) -> None:
        cells = sum(grid.size for grid in self.grids.values())
        if self.places.ndim != 2 or self.ends.ndim != 2 or self.places.shape != (len(self.ends), cells):
            raise ValueError("every direction needs a place for each cell and its ends")
        if np.abs(self.places.astype(np.int64)).max(initial=0) > _HIGHEST:
            raise ValueError("a place is too far out")
        if (np.diff(self.ends.astype(np.int64), axis=1) < 0).any():
            raise ValueError("the ends of the bins must rise")
        if (self.label is None) != (self.classes is None) or self.label in self.grids:
            raise ValueError("a label needs a grid, and no direction may look at it")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        by = "" if self.label is None else f" by {self.label}"
        return f"histograms along {len(self.ends)} directions{by}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return (*self.grids, *(() if self.label is None else (self.label,)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Directions, bins and classes."""
        return len(self.ends), self.ends.shape[1] + 1, 1 if self.classes is None else self.classes.size

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(math.prod(self.shape), 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return math.sqrt(len(self.ends))
            case Adjacency.REPLACE:
                return math.sqrt(2 * len(self.ends))
            case Adjacency.LABEL:
                return 0.0 if self.label is None else math.sqrt(2 * len(self.ends))

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        _, bins, classes = self.shape
        cells, start = [], 0
        for name, grid in self.grids.items():
            cells.append(grid.cells_of(batch.codes[name]).astype(np.intp) + start)
            start += grid.size
        label = 0 if self.classes is None else self.classes.cells_of(batch.codes[str(self.label)])
        counts = []
        for places, ends in zip(self.places, self.ends, strict=True):
            place = np.zeros(batch.rows, dtype=np.int64)
            for numbers in cells:
                place += places.take(numbers)
            counts.append(tally(np.searchsorted(ends, place, side="right") * classes + label, bins * classes))
        return np.concatenate([np.zeros(0, dtype=np.int64), *counts])

    def split(self, values: NDArray[Any]) -> NDArray[Any]:
        """The vector of a measurement: directions x bins x classes."""
        return values.reshape(self.shape)

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        classes = [] if self.classes is None else [(str(self.label), self.classes)]
        return grids_follow([*self.grids.items(), *classes], schema) and self.label == schema.target

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "slices",
            "grids": {name: grid.to_dict() for name, grid in self.grids.items()},
            "places": pack(self.places),
            "ends": pack(self.ends),
            "label": self.label,
            "classes": None if self.classes is None else self.classes.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Slices":
        """The statistic that `to_dict` wrote."""
        grids = {name: Grid.from_dict(grid) for name, grid in content["grids"].items()}
        classes = content["classes"]
        return cls(
            grids,
            unpack(content["places"]),
            unpack(content["ends"]),
            content["label"],
            None if classes is None else Grid.from_dict(classes),
        )


register("slices", Slices.from_dict)
