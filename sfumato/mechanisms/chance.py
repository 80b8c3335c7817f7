"""Randomness that is no secret: it spreads starting points and synthetic records, after the door."""

import numpy as np

Chance = np.random.Generator


def public_chance(stream: int) -> Chance:
    """The same numbers for the same stream, so that anyone can repeat a fit. Never for noise."""
    return np.random.default_rng(stream)
