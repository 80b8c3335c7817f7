"""What is left of moves and squares when records beyond a radius are pulled back to it."""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from sfumato.mechanisms.subspace.spectrum import FloatArray

_PARTS = 2_000


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
