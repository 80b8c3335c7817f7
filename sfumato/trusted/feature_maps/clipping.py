"""Vectors pulled back into a ball and cut to whole numbers."""

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps.features import in_order
from sfumato.trusted.fixed_point import A_HAIR_LESS

_TINY = 1e-300


def lengths(z: FloatArray) -> FloatArray:
    """The length of each vector (width x records), summed in one order."""
    return np.sqrt(in_order(z * z))


def clip_to_ball(z: FloatArray, radius: float, unit: int) -> FloatArray:
    """unit z / max(radius, |z|), cut towards zero: integer-valued, and never longer than the unit.

    The bound is checked on whole numbers whose squares add up exactly (unit**2 < 2**53): a vector that floats made
    longer, or that is not a number, counts for nothing.
    """
    cut = np.trunc(z * (unit * A_HAIR_LESS / np.maximum(np.maximum(lengths(z), radius), _TINY)))
    within = np.einsum("ij,ij->j", cut, cut) <= float(unit) ** 2
    return cut if within.all() else np.where(within, cut, 0.0)
