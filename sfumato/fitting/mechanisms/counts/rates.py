"""How often each kind of value occurs, from noisy counts of kinds: the unit of a column, and the weight of its codes.

Post-processing: it sees released counts and the law of their noise only.
"""

import math
from collections.abc import Sequence

import numpy as np

from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.encoding.kinds import Kinds


class Tuning(TuningConstants, group="counts.rates"):
    """See `sfumato.fitting.tuning`."""

    off = 0.01  # share of the values that may be off the unit of a column
    one_off = 2.5  # noise deviations that a level finer than the unit may hold
    all_off = 1.5  # of the sum of all finer levels
    unsure = 0.12  # noise of a level, as a share of the values, above which no unit is believed
    apart = 2.5  # deviations by which a kind is more or less frequent than its neighbours
    least = 1e-6  # of the typical weight of a code that any code has: nothing that the schema allows is ever excluded


def finest_unit(counts: FloatArray, sigma: float) -> int:
    """The coarsest level of which almost all values are, from noisy counts of the levels 0, 1, ...; 0: there is none.

    Values on a finer unit gather at its own level, half of them at least, so each level is looked at by itself, and all
    finer ones together.
    """
    total = max(float(counts.sum()), 1.0)
    noise = sigma / total
    if noise > Tuning.unsure:
        return 0
    for level in range(len(counts) - 1, 0, -1):
        finer = counts[:level] / total
        each, together = Tuning.one_off * noise, Tuning.all_off * noise * math.sqrt(level)
        if finer.max() <= max(Tuning.off, each) and finer.sum() <= max(Tuning.off, together):
            return level
    return 0


def sum_levels(kinds: Kinds, counts: FloatArray) -> FloatArray:
    """Counts of kinds, the silent one aside, by level."""
    return np.bincount(kinds.level, weights=counts[: len(kinds.level)]).astype(np.float64)


def possible_kinds(kinds: Kinds, unit: int) -> BoolArray:
    """Which kinds, the silent one aside, are multiples of a unit, which is the number of a level."""
    return np.array(kinds.level) >= unit


def rates_of(seen: FloatArray, sigma: float, expected: FloatArray, possible: BoolArray) -> FloatArray:
    """The weight of each kind relative to what is expected of it, from noisy counts.

    seen, expected   of each kind, the latter but for a common factor
    possible         whether the kind occurs at all

    The factor is found from the kinds that are not apart: those whose count noise and sampling explain, once the one
    that is furthest off has been set apart, and so on. They get 1, the others what was measured, and the impossible
    ones 0.
    """
    asked = possible & (expected > 0)
    apart = np.zeros(len(seen), dtype=bool)
    factor = 0.0
    while (usual := asked & ~apart).any():
        factor = max(float(seen[usual].sum()), 0.0) / float(expected[usual].sum())
        even = factor * expected
        away = np.where(usual, np.abs(seen - even) / np.sqrt(sigma**2 + even), 0.0)
        if away.max() <= Tuning.apart or usual.sum() == 1:
            break
        apart[away.argmax()] = True
    if factor <= 0:  # no usual kind holds anything
        held = np.where(asked, np.maximum(seen, 0.0) / np.where(asked, expected, 1.0), 0.0)
        return held if held.any() else possible.astype(np.float64)
    return np.where(apart, np.maximum(seen, 0.0) / np.where(asked, factor * expected, 1.0), possible.astype(np.float64))


def add_silent(rates: FloatArray, codes: FloatArray) -> FloatArray:
    """Rates of all kinds (regions x kinds), so that no code has none, and a silent one that of a typical code.

    codes   how many there are of each kind but the silent one

    Only the weights of one region are ever compared, so that each region is measured by its own typical code: a kind
    that was hardly expected would else lead beyond what floats can tell apart.
    """
    typical = rates @ codes / max(float(codes.sum()), 1.0)
    relative = rates / np.where(typical > 0, typical, 1.0)[:, None]
    return np.column_stack((np.maximum(relative, Tuning.least), np.ones(len(rates))))


def region_starts(ends: Sequence[int], held: FloatArray, most: int, last: int) -> list[int]:
    """Where at most `most` regions of about equal mass begin, from the ends of cells and what they hold."""
    mass = np.cumsum(np.maximum(held, 0.0))
    if mass[-1] <= 0:
        return [0]
    cuts = np.array(ends)[np.searchsorted(mass, mass[-1] * np.arange(1, most) / most)]
    return sorted({0, *(int(cut) for cut in cuts if cut < last)})
