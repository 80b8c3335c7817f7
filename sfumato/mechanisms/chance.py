"""Randomness that is no secret: it spreads starting points and synthetic records, after the door."""

import numpy as np


def public_chance(stream: int) -> np.random.Generator:
    """The same numbers for the same stream, so that anyone can repeat a fit. Never for noise."""
    return np.random.default_rng(stream)
