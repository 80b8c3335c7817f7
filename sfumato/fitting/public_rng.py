"""Randomness that is no secret: it spreads starting points and synthetic records, after the curator."""

import numpy as np

from sfumato.trusted.arrays import FloatArray

PublicRng = np.random.Generator


def public_rng(stream: int) -> PublicRng:
    """The same numbers for the same stream, so that anyone can repeat a fit. Never for noise."""
    return np.random.default_rng(stream)


def orthonormal(rng: PublicRng, rows: int, count: int) -> FloatArray:
    """Rows x directions: an orthonormal frame of uniform direction."""
    q, r = np.linalg.qr(rng.normal(size=(rows, count)))
    frame: FloatArray = q * np.sign(np.diag(r))
    return frame
