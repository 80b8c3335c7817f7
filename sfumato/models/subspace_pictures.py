"""Pictures as they are drawn: upright ones set back, each pixel bent to the distribution that was measured of it."""

from dataclasses import dataclass

import numpy as np

from sfumato.models.subspace_marginals import Marginals
from sfumato.models.subspace_maths import FloatArray, IntArray, stratified
from sfumato.models.upright import UprightModel

_DRAWN, _LEVELS = 8_192, 512  # pictures that say how a pixel is spread before it is bent, and levels of it


@dataclass(frozen=True, eq=False)
class DrawnPictures:
    """`spread` has, for each pixel, the values at equal levels of what is drawn; none without marginals."""

    upright: UprightModel
    marginals: Marginals | None
    spread: FloatArray

    @classmethod
    def of(cls, upright: UprightModel, weights: FloatArray, marginals: Marginals | None) -> "DrawnPictures":
        """From pictures that are drawn with a public seed."""
        if marginals is None:
            return cls(upright, None, np.empty((upright.frame.pixels, 0)))
        rng = np.random.default_rng(0)
        drawn, _ = upright.draw(stratified(weights, _DRAWN, rng), rng, rough=False)
        drawn.sort(axis=1)
        at = np.rint(np.linspace(0, _DRAWN - 1, _LEVELS)).astype(np.int64)
        return cls(upright, marginals, drawn[:, at])

    def draw(self, owner: IntArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The places (pixels x records) of pictures of these classes, and the log densities of all classes.

        A pixel that has the least of its spread stays there, however many have: blank ones stay blank.
        """
        drawn, told = self.upright.draw(owner, rng, rough=self.marginals is None)
        if self.marginals is None:
            return drawn, told
        levels = np.linspace(0.0, 1.0, self.spread.shape[1])
        for pixel, (row, spread) in enumerate(zip(drawn, self.spread, strict=True)):
            shares = np.where(row <= spread[0], 0.0, np.interp(row, spread, levels))
            row[:] = self.marginals.places(pixel, shares)
        return drawn, told
