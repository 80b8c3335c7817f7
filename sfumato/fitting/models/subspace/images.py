"""Pictures as they are drawn: aligned ones set back, and their ink made as dark as it was measured to be."""

from dataclasses import dataclass

import numpy as np

from sfumato.fitting.models.subspace.alignment import AlignedImageModel
from sfumato.fitting.models.subspace.marginals import Marginals
from sfumato.fitting.models.subspace.maths import draw_stratified
from sfumato.trusted.arrays import FloatArray, IntArray

_DRAWN, _LEVELS = 8_192, 512  # pictures that say how pixels are spread before they are bent, and levels of it
_NUMBERS, _NUMBERS_AT_ONCE = 1 << 24, 1 << 20  # of all of them, fewer if they are large, and of those that are warped
_MOST_BLANK = 0.4  # ink, of which no more than this may count as paper


@dataclass(frozen=True, eq=False)
class DrawnPictures:
    """With marginals every pixel is bent to its own; without, all alike, so that as much is blank as should be.

    spread   for each pixel, the values at equal levels of what is drawn; with marginals
    blank    ink up to which a pixel is paper; without
    """

    aligned: AlignedImageModel
    marginals: Marginals | None
    spread: FloatArray
    blank: float

    @classmethod
    def of(cls, aligned: AlignedImageModel, weights: FloatArray, marginals: Marginals | None) -> "DrawnPictures":
        """From pictures that are drawn with a public seed; still ones without marginals need none."""
        pixels = aligned.frame.pixels
        if marginals is None and aligned.frame.still:
            return cls(aligned, None, np.empty((pixels, 0)), 0.0)
        ink = _ink(aligned, weights, max(_LEVELS, min(_DRAWN, _NUMBERS // pixels)))
        if marginals is None:
            return cls(aligned, None, ink[:, :0], min(float(np.quantile(ink, aligned.paper)), _MOST_BLANK))
        places = aligned.frame.ink(ink)
        places.sort(axis=1)
        at = np.rint(np.linspace(0, places.shape[1] - 1, _LEVELS)).astype(np.int64)
        return cls(aligned, marginals, places[:, at], 0.0)

    def draw(self, owner: IntArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The places (pixels x records) of pictures of these classes, and the log densities of all classes."""
        ink, told = self.aligned.draw(owner, rng)
        if self.marginals is None:
            return self.aligned.frame.ink(np.clip((ink - self.blank) / (1 - 2 * self.blank), 0.0, 1.0)), told
        return self._bent(self.aligned.frame.ink(ink), self.marginals), told

    def _bent(self, places: FloatArray, marginals: Marginals) -> FloatArray:
        """A pixel that has the least of its spread stays there, however many have: blank ones stay blank."""
        levels = np.linspace(0.0, 1.0, self.spread.shape[1])
        for pixel, (row, spread) in enumerate(zip(places, self.spread, strict=True)):
            shares = np.where(row <= spread[0], 0.0, np.interp(row, spread, levels))
            row[:] = marginals.places(pixel, shares)
        return places


def _ink(aligned: AlignedImageModel, weights: FloatArray, records: int) -> FloatArray:
    """Of so many pictures (pixels x records), a few at a time as memory bears."""
    rng, ink = np.random.default_rng(0), np.empty((aligned.frame.pixels, records))
    owner, rows = draw_stratified(weights, records, rng), max(1, _NUMBERS_AT_ONCE // aligned.frame.pixels)
    for start in range(0, records, rows):
        ink[:, start : start + rows], _ = aligned.draw(owner[start : start + rows], rng)
    return ink
