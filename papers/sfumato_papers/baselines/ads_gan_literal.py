"""ADS-GAN to the letter: distances weighted by the inverse entropy of columns, beside `ADSGAN`, which leaves it out."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato_papers.baselines.ads_gan import ADSGAN
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.baselines.networks import Network, network

_LEAST_ENTROPY = 1e-3  # of a column of one value, which has none


@dataclass(frozen=True)
class LiteralADSGAN(ADSGAN):
    """The Wasserstein GAN of `ADSGAN`, paid for the distance by which its paper defines identifiability.

    A column's part of the distance is divided by its entropy, so that a value that few have weighs most, the rare label
    among them: the more unusual a record is, the further its row has to go. Numbers are counted in `bins` cells of one
    width for their entropy. The generator has three hidden layers with hyperbolic tangents, as its authors' code.
    """

    bins: int = 20

    name: ClassVar[str] = "ADS-GAN to the letter"

    def _weights(self, layout: Layout, rows: FloatArray) -> FloatArray:
        kinds = (*layout.kinds, layout.classes)
        entropies = [
            entropy(rows[:, place].sum(axis=0) if kind else np.histogram(rows[:, place], self.bins, (0, 1))[0])
            for place, kind in zip(layout.places, kinds, strict=True)
        ]
        widths = [place.stop - place.start for place in layout.places]
        weights: FloatArray = 1 / np.repeat(np.maximum(entropies, _LEAST_ENTROPY), widths)
        return weights

    def _generator(self, layout: Layout) -> Network:
        from torch import nn

        plain = network((layout.width + self.noise, self.hidden, self.hidden, self.hidden, layout.width))
        return nn.Sequential(*(nn.Tanh() if isinstance(layer, nn.LeakyReLU) else layer for layer in plain))


def entropy(counts: FloatArray) -> float:
    """Of a value that is seen so often, in nats."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
