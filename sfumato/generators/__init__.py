"""Generators that are trained on what was released, and on nothing else: free of further cost, as often as one likes.

Needs torch: pip install 'sfumato[generators]'.
"""

from sfumato.generators.curve import Curve
from sfumato.generators.evidence import Layout
from sfumato.generators.networks import GENERATORS, LATENT, Generator
from sfumato.generators.training import Epoch, Trained, train

__all__ = ["GENERATORS", "LATENT", "Curve", "Epoch", "Generator", "Layout", "Trained", "train"]
