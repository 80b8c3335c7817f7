"""Between the codes of records and the Gaussians of a subspace release: places, g, and what a unit of them is worth."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.models.scale_positions import at_bounds, places_at, slopes_at
from sfumato.fitting.models.subspace.alignment import AlignedImageModel
from sfumato.fitting.models.subspace.images import DrawnPictures
from sfumato.fitting.models.subspace.marginals import Marginals, Scores
from sfumato.fitting.models.subspace.maths import LowRankGaussians
from sfumato.trusted.arrays import CodeArray, FloatArray, IntArray
from sfumato.trusted.encoding import NumericCodec

_NOTHING = 1e-4  # of a column's variance: with less than this in the subspace a column is drawn with its residual


@dataclass(frozen=True, eq=False)
class Records:
    """The codes of records in some columns, by the number of the column."""

    rows: int
    codes: Mapping[int, CodeArray]

    @property
    def columns(self) -> IntArray:
        """Which columns these are."""
        return np.array(list(self.codes), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Laws:
    """What does not depend on a condition: scales, the law of g, marginals and aligned pictures if there are any."""

    scales: tuple[NumericCodec, ...]
    likely: LowRankGaussians
    marginals: Marginals | None
    aligned: AlignedImageModel | None = None

    @cached_property
    def pictures(self) -> DrawnPictures | None:
        """Whole pictures as they are drawn."""
        return None if self.aligned is None else DrawnPictures.of(self.aligned, self.likely.weights, self.marginals)

    @cached_property
    def drawn(self) -> LowRankGaussians:
        """The law of records that are drawn: with marginals, without the residual."""
        if self.marginals is None:
            return self.likely
        inside, residual = self.likely.weights @ self.likely.spreads, self.likely.residual
        return replace(self.likely, residual=np.where(inside < _NOTHING * (inside + residual), residual, 0.0))

    @cached_property
    def drawn_scores(self) -> Scores:
        """The normal scores of what is drawn."""
        return Scores.of(self.drawn)

    @cached_property
    def likely_scores(self) -> Scores:
        """The normal scores of what has a density."""
        return Scores.of(self.likely)

    def drawn_places(self, column: int, g: NDArray[np.float32]) -> FloatArray:
        """The places of drawn records."""
        if self.marginals is None:
            return np.clip(g, 0.0, 1.0).astype(np.float64)
        return self.marginals.places(column, self.drawn_scores.shares(column, g))

    def likely_places(self, column: int, g: FloatArray) -> FloatArray:
        """The places of records whose law has a density."""
        if self.marginals is None:
            return np.clip(g, 0.0, 1.0)
        return self.marginals.places(column, self.likely_scores.shares(column, g))

    def places(self, records: Records) -> FloatArray:
        """The places of records (records x columns, each column in one piece of memory)."""
        places = np.empty((len(records.codes), records.rows))
        for row, (column, codes) in zip(places, records.codes.items(), strict=True):
            row[:] = places_at(self.scales[column], codes)
        return places.T

    def gaussian(self, records: Records) -> FloatArray:
        """The g of records: their places, or what their marginals make of them."""
        g = self.places(records)
        if self.marginals is not None:
            for row, (column, codes) in zip(g.T, records.codes.items(), strict=True):
                shares = self.marginals.shares(column, row, *at_bounds(self.scales[column], codes))
                row[:] = self.likely_scores.places(column, shares)
        return g

    def log_units(self, records: Records, g: FloatArray) -> FloatArray:
        """What turns the density of g into one per unit of the columns, in logs."""
        total = np.zeros(records.rows)
        for row, (column, codes) in zip(g.T, records.codes.items(), strict=True):
            scale = self.scales[column]
            if self.marginals is None:
                total += np.log(slopes_at(scale, codes))
                continue
            lowest, highest = at_bounds(scale, codes)
            total += np.log(np.where(lowest | highest, 1.0, slopes_at(scale, codes)))
            total += self.marginals.log_density(column, places_at(scale, codes), lowest, highest)
            total -= self.likely.of_column(column).log_pdf(row)
        return total
