"""The mean of the positive part of a sum of many equal draws.

Both accounts by likelihood ratios come down to E[(Z_1 + ... + Z_n)_+] / n. The draws are put on a lattice so that
their mean stays (which can only raise a convex function's mean), added up by a transform, and the positive part read
off. Very large draws are taken out and counted one by one: (a + b)_+ <= a_+ + b_+. Very small ones are raised.

The integrals that the draws come from, the rounding of the transform and what wraps around its ends are not bounded:
this is arithmetic to some four digits above 1e-9, not a certificate.
"""

import math

import numpy as np
from scipy import fft

from sfumato.trusted.arrays import FloatArray, IntArray

_DEVIATIONS = 12.0  # of the sum, on either side
_CELLS_PER_DEVIATION = 250
_MOST_CELLS = 3e6


def mean_excess(values: FloatArray, masses: FloatArray, count: int) -> float:
    """E[(Z_1 + ... + Z_count)_+] / count, Z of these values with these masses."""
    middle, deviation = _moments(values, masses, count)
    ceiling = max(4 * count * abs(middle), _DEVIATIONS * deviation)
    floor = -max(0.05 * count * abs(middle), 3 * deviation)
    large = values > ceiling
    alone = float(masses[large] @ values[large])
    values = np.where(large, 0.0, np.maximum(values, floor))
    middle, deviation = _moments(values, masses, count)
    if deviation == 0:
        return max(middle, 0.0) + alone
    top = min(ceiling, float(values.max()))
    step = max(deviation / _CELLS_PER_DEVIATION, (top + 20 * deviation) / _MOST_CELLS)
    room = _DEVIATIONS * deviation + 10 * max(0.0, -float(values.min()))
    places, on_lattice = _lattice(values, masses, step)
    size = fft.next_fast_len(int(max((room + _DEVIATIONS * deviation + 1.3 * top) / step, on_lattice.size)) + 16, True)
    ring = np.bincount(places % size, weights=on_lattice, minlength=size)
    with np.errstate(under="ignore"):
        power = fft.rfft(ring) ** count
    sums = np.arange(size) + math.floor((count * middle - room) / step)
    probability = np.maximum(fft.irfft(power, size), 0.0)[sums % size]
    return float(np.maximum(sums * step, 0.0) @ probability) / count + alone


def _moments(values: FloatArray, masses: FloatArray, count: int) -> tuple[float, float]:
    """The mean of one draw, the deviation of the sum."""
    middle = float(masses @ values)
    return middle, math.sqrt(count * float(masses @ (values - middle) ** 2))


def _lattice(values: FloatArray, masses: FloatArray, step: float) -> tuple[IntArray, FloatArray]:
    """Each value split between the two lattice points around it so that its mean stays."""
    below = np.floor(values / step)
    share = values / step - below
    first = int(below.min())
    at = (below - first).astype(np.int64)
    size = int(at.max()) + 2
    on: FloatArray = np.zeros(size)
    np.add.at(on, at, masses * (1 - share))
    np.add.at(on, at + 1, masses * share)
    return np.arange(first, first + size, dtype=np.int64), on
