"""The slicing mechanism and its rival, as published: noisy projections of every record, and generators trained on them.

    Slicing (paper)          the smoothed-sliced f-divergence, by a ratio of densities in closed form    2024
    SliceWass                the sliced Wasserstein distance, with the noise of its authors              2021
    SliceWass, exact noise   the same with the least noise that keeps the promise

They stand beside `sfumato_papers.baselines`, take the same `Table` and give rows in the same format. What is proven of
random slices is in `sfumato_papers.accounting`. Torch is loaded when a generator is trained.
"""

from sfumato_papers.baselines.interface import Rival
from sfumato_papers.slicing.divergence import DIVERGENCES, Divergence
from sfumato_papers.slicing.mechanism import Ball, NoisySlices, Slicing
from sfumato_papers.slicing.ratio import LeastSquares, MomentMatching, Ratio
from sfumato_papers.slicing.slice_wass import SliceWass
from sfumato_papers.slicing.sliced_divergence import SlicedDivergence
from sfumato_papers.slicing.training import Training

SLICERS: dict[str, Rival] = {rival.name: rival for rival in (SlicedDivergence(), SliceWass(), SliceWass(noise="exact"))}
"""With their default settings."""

__all__ = [
    "DIVERGENCES",
    "SLICERS",
    "Ball",
    "Divergence",
    "LeastSquares",
    "MomentMatching",
    "NoisySlices",
    "Ratio",
    "SliceWass",
    "SlicedDivergence",
    "Slicing",
    "Training",
]
