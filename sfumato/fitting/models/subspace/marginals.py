"""How a Gaussian column becomes one with a given distribution, and back: x = Q(F(g)), monotone, column by column.

F is the distribution function of g, Q the quantile function of the column's marginal. The marginal has ten cells: the
lowest value, eight equal parts of the scale, the highest value. Of whole numbers a part holds those whose middle lies
in it, and the lowest and the highest belong to no part.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from sfumato.fitting.models.subspace.maths import LowRankGaussians
from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.encoding import NumericCodec

CELLS = 10
_PARTS = CELLS - 2
_KNOTS, _LEAST_KNOTS = 320, 17  # of a column; of a class in it
_FARTHEST = 8.0  # deviations from the mean of a class


@dataclass(frozen=True, eq=False)
class Marginals:
    """The probability of every cell of every column (columns x cells), and the ends of the parts (columns x nine)."""

    probabilities: FloatArray
    ends: FloatArray

    @classmethod
    def of(cls, probabilities: FloatArray, scales: Iterable[NumericCodec]) -> "Marginals":
        """The marginals of columns with these scales."""
        found = [part_ends(scale) for scale in scales]
        return cls(probabilities, np.array(found))

    def of_column(self, column: int) -> "Marginals":
        """The marginal of one column, alone."""
        return Marginals(self.probabilities[column : column + 1], self.ends[column : column + 1])

    @cached_property
    def _levels(self) -> FloatArray:
        """The probability up to the end of each cell."""
        sums = np.cumsum(self.probabilities, axis=1)
        levels: FloatArray = sums / sums[:, -1:]
        return levels

    def up_to(self, column: int, places: FloatArray) -> FloatArray:
        """The probability of each place or less."""
        inside = np.interp(places, self.ends[column], self._levels[column, :-1])
        return np.where(places >= 1, 1.0, np.where(places < 0, 0.0, inside))

    def places(self, column: int, shares: FloatArray) -> FloatArray:
        """The place at which each share of the records is reached."""
        level, ends = self._levels[column], self.ends[column]
        levels = np.concatenate(([0.0], level[:1], level[:-1], level[-2:]))
        return np.interp(shares, levels, np.concatenate(([0.0, 0.0], ends, [1.0, 1.0])))

    def shares(self, column: int, places: FloatArray, lowest: BoolArray, highest: BoolArray) -> FloatArray:
        """The share of the records up to each place; at the lowest and the highest value, to the middle of its mass."""
        level = self._levels[column]
        middles = np.where(lowest, level[0] / 2, np.where(highest, (1 + level[-2]) / 2, np.nan))
        return np.where(np.isnan(middles), self.up_to(column, places), middles)

    def log_density(self, column: int, places: FloatArray, lowest: BoolArray, highest: BoolArray) -> FloatArray:
        """Per unit of the scale; of the lowest and the highest value the log probability."""
        p, ends = self.probabilities[column], self.ends[column]
        part = np.searchsorted(ends[1:-1], places, side="right")
        heights = p[1:-1] / np.maximum(np.diff(ends), 1e-300)
        with np.errstate(divide="ignore"):
            density: FloatArray = np.log(np.where(lowest, p[0], np.where(highest, p[-1], heights[part])))
        return density


def part_ends(scale: NumericCodec) -> FloatArray:
    """Where the parts of a scale between its lowest and its highest value begin, and where the last ends."""
    even = np.linspace(0, 1, _PARTS + 1)
    if not scale.whole:
        return even
    first = np.searchsorted(scale.places[: scale.steps], even).clip(1, scale.steps - 1)
    first[0], first[-1] = 1, scale.steps - 1
    return scale.place_of(scale.ends(first))


@dataclass(frozen=True, eq=False)
class Scores:
    """The normal score Phi^-1(F(g)) of every column at knots, straight lines between (columns x knots).

    Of one class it is straight itself; of several it bends a little, which knots in every class follow.
    """

    knots: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, law: LowRankGaussians) -> "Scores":
        """The scores of a law."""
        count = max(_LEAST_KNOTS, -(-_KNOTS // len(law.weights)))
        z = np.linspace(-_FARTHEST, _FARTHEST, count)
        knots = np.concatenate(
            [middle[:, None] + sd[:, None] * z for middle, sd in zip(law.middles, law.sds, strict=True)], axis=1
        )
        knots.sort(axis=1)
        below, above = np.zeros_like(knots), np.zeros_like(knots)
        for weight, middle, sd in zip(law.weights, law.middles, law.sds, strict=True):
            away = (knots - middle[:, None]) / sd[:, None]
            below += weight * ndtr(away)
            above += weight * ndtr(-away)
        with np.errstate(divide="ignore"):
            values = np.where(below < above, ndtri(below), -ndtri(above))
        return cls(knots, np.maximum.accumulate(values, axis=1))

    def of_column(self, column: int) -> "Scores":
        """The scores of one column, alone."""
        return Scores(self.knots[column : column + 1], self.values[column : column + 1])

    def shares(self, column: int, g: NDArray[np.floating[Any]]) -> FloatArray:
        """F(g)."""
        share: FloatArray = ndtr(np.interp(g, self.knots[column], self.values[column]))
        return share

    def places(self, column: int, shares: FloatArray) -> FloatArray:
        """The g at which each share is reached, within the knots."""
        with np.errstate(divide="ignore"):
            g: FloatArray = np.interp(ndtri(shares), self.values[column], self.knots[column])
        return g
