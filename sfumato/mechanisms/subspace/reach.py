"""What is left of moves and squares when records beyond a radius are pulled back to it."""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from sfumato.measurement import Door
from sfumato.mechanisms.subspace.spectrum import FloatArray
from sfumato.privacy.adjacency import Adjacency
from sfumato.statistics import Distances, View

_PARTS = 2_000
_CELLS, _ABOVE_NOISE = (6, 96), 3.0  # at least and at most; deviations of noise that a cell of an even spread has


class Reach(NamedTuple):
    """A radius, and which share it leaves, on average, of a small move of the records and of their squared length.

    In many dimensions a move is nearly at a right angle to a record, so that pulling the record back from a distance r
    to R shrinks the move by R / r.
    """

    radius: float
    move: float
    square: float

    @classmethod
    def of(cls, distances: FloatArray, counts: FloatArray, radius: float) -> "Reach":
        """For so many records at each distance."""
        weights = np.maximum(counts, 0) / max(float(np.maximum(counts, 0).sum()), 1.0)
        beyond = np.maximum(distances, radius)
        move = float(weights @ (radius / beyond)) if weights.any() else 1.0
        squares = float(weights @ distances**2)
        square = float(weights @ np.minimum(distances, radius) ** 2) / squares if squares > 0 else 1.0
        return cls(radius, max(move, 0.1), max(square, 0.1))

    @classmethod
    def of_gaussian(cls, dimensions: int) -> "Reach":
        """For standard normal records and the radius at which their mean squared length lies."""
        squares = chi2.ppf((np.arange(_PARTS) + 0.5) / _PARTS, dimensions)
        return cls.of(np.sqrt(squares), np.ones(_PARTS), math.sqrt(dimensions))


class Distance(NamedTuple):
    """How far records may lie, and the share of them that the radius is to hold."""

    farthest: float
    within: float


def measured_reach(door: Door, view: View, adjacency: Adjacency, records: float, mu: float, asked: Distance) -> Reach:
    """The distance within which so many records lie, and what pulling back the others leaves.

    As many cells are counted as stand above their noise if records were spread over them evenly.
    """
    noise = Distances(view, (1.0,)).sensitivity(adjacency) / mu
    cells = int(np.clip(records / (_ABOVE_NOISE * noise), *_CELLS))
    ends = np.linspace(0, asked.farthest, cells + 1)
    found = np.maximum(door.measure(Distances(view, tuple(ends[1:-1].tolist())), mu).values, 0)
    below = np.cumsum(found)
    radius = float(ends[1 + min(int(np.searchsorted(below, asked.within * below[-1])), cells - 1)])
    return Reach.of((ends[:-1] + ends[1:]) / 2, found, radius)
