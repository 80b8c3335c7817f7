"""`embedding`: the mean embedding of the records, in random Fourier features of all columns together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.grid import Grid, grids_follow
from sfumato.trusted.feature_maps.packing import pack, unpack
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register

RADIUS = 2**15
"""The length of a feature, a pair of whole numbers."""
TURN = 2**16
"""Whole steps of an angle in a full turn."""
_ANGLES = np.arange(TURN) * (2 * np.pi / TURN)
COSINES, SINES = (np.trunc(RADIUS * wave(_ANGLES)) for wave in (np.cos, np.sin))
"""Of every whole step, cut towards zero: no pair is longer than RADIUS. As floats, which hold them exactly."""


@dataclass(frozen=True, eq=False, repr=False)
class Embedding(Titled):
    """The sum over the records of each class of RADIUS (cos a_s, sin a_s) for every frequency s.

    A record's angle a_s is the sum over the columns of the angle that frequency s gives to the column's cell: for a
    number its value times the frequency's entry, for a category the entry of its value. With frequencies drawn from a
    Gaussian that is the mean embedding of the records under the Gaussian kernel, which tells any two distributions
    apart; nothing here depends on how they were drawn.

    Formal guarantees, m frequencies
        A record adds m pairs, each of length RADIUS at most, in the coordinates of its class.
        add-remove   RADIUS sqrt(m): the norm of that vector
        replace      2 RADIUS sqrt(m): within a class two pairs of a circle are at most 2 RADIUS apart; across classes
                     they lie in different coordinates, sqrt(2) RADIUS apart at most
        label        sqrt(2) RADIUS sqrt(m) where there is a label, 0 where there is none: angles do not look at the
                     label, but sums are taken for each class
        All three are attained but for what is cut off: by a record whose angles are 0; by two of which one has all
        angles 0 and the other half a turn; by two labels of other classes of the former.
        Angles are whole numbers of 2^-16 turns, whose sums are exact and are taken modulo one turn; sine and cosine are
        read off a table of whole numbers. Sums over a batch are of floats that hold whole numbers below 2^53: exact in
        any order, for batches of less than 2^38 records.
    Edge cases
        Every value has a code, every code a cell and every cell an angle. No records: zeros.
    """

    grids: Mapping[str, Grid]  # the columns that frequencies look at
    angles: NDArray[np.int32]  # frequencies x cells of all these columns, in whole steps
    label: str | None
    classes: Grid | None  # of the label

    def __post_init__(self) -> None:
        cells = sum(grid.size for grid in self.grids.values())
        if self.angles.ndim != 2 or self.angles.shape[1] != cells:
            raise ValueError("every frequency needs an angle for each cell")
        if self.angles.dtype != np.int32:
            raise ValueError("angles must be whole numbers of 32 bits")
        if (self.label is None) != (self.classes is None) or self.label in self.grids:
            raise ValueError("a label needs a grid, and no frequency may look at it")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        by = "" if self.label is None else f" by {self.label}"
        return f"the mean embedding in {len(self.angles)} random features{by}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return (*self.grids, *(() if self.label is None else (self.label,)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Frequencies, cosine and sine, classes."""
        return len(self.angles), 2, 1 if self.classes is None else self.classes.size

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(math.prod(self.shape), 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        longest = RADIUS * math.sqrt(len(self.angles))
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return longest
            case Adjacency.REPLACE:
                return 2 * longest
            case Adjacency.LABEL:
                return 0.0 if self.label is None else math.sqrt(2) * longest
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        classes = self.shape[2]
        cells, start = [], 0
        for name, grid in self.grids.items():
            cells.append(grid.cells_of(batch.codes[name]).astype(np.intp) + start)
            start += grid.size
        of_all = np.zeros(batch.rows, dtype=np.intp)
        label = of_all if self.classes is None else self.classes.cells_of(batch.codes[str(self.label)])
        sums = np.zeros(self.shape, dtype=np.int64)
        for s, angles in enumerate(self.angles):
            angle = np.zeros(batch.rows, dtype=np.int64)
            for numbers in cells:
                angle += angles.take(numbers)
            angle %= TURN
            for part, wave in enumerate((COSINES, SINES)):
                sums[s, part] = np.bincount(label, weights=wave.take(angle), minlength=classes)
        return sums.ravel()

    def split(self, values: NDArray[Any]) -> NDArray[Any]:
        """The vector of a measurement: frequencies x (cosine, sine) x classes."""
        return values.reshape(self.shape)

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        classes = [] if self.classes is None else [(str(self.label), self.classes)]
        return grids_follow([*self.grids.items(), *classes], schema) and self.label == schema.target

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "embedding",
            "grids": {name: grid.to_dict() for name, grid in self.grids.items()},
            "angles": pack(self.angles),
            "label": self.label,
            "classes": None if self.classes is None else self.classes.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Embedding":
        """The statistic that `to_dict` wrote."""
        grids = {name: Grid.from_dict(grid) for name, grid in content["grids"].items()}
        classes = content["classes"]
        return cls(
            grids,
            unpack(content["angles"]),
            content["label"],
            None if classes is None else Grid.from_dict(classes),
        )


register("embedding", Embedding.from_dict)
