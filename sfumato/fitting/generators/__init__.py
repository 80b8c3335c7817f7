"""Generators that are trained on what was released, and on nothing else: free of further cost, as often as one likes.

Needs torch: pip install 'sfumato[generators]'.
"""

from sfumato.fitting.generators.divergence import DIVERGENCES
from sfumato.fitting.generators.evidence import Layout
from sfumato.fitting.generators.networks import GENERATORS, LATENT, Generator
from sfumato.fitting.generators.training import Epoch, Trained, train

__all__ = ["DIVERGENCES", "GENERATORS", "LATENT", "Epoch", "Generator", "Layout", "Trained", "train"]
