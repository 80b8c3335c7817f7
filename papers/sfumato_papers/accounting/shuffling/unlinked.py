"""Every slice shuffled in an order of its own.

A loss that looks at slices one at a time does not need to know which shadows belong to the same record. So each of m
slices is clipped to [-c, c], gets noise, and is shown in its own random order. That is m one-dimensional shuffles in a
row, and the curve of one, by its blanket, is composed m times as a privacy loss.

Not proven, for what is not proven of the blanket.
"""

import math

import numpy as np

from sfumato.trusted.budget import mu_of
from sfumato_papers.accounting.composition import dominating
from sfumato_papers.accounting.shuffling.blanket import NOT_PROVEN, blanket_delta
from sfumato_papers.accounting.shuffling.verdict import Shuffled, checked, greatest

_NODES = 70
_CUT = 1e-2  # of delta, over all slices: what may lie beyond the last node


def unlinked(records: int, epsilon: float, delta: float, slices: int) -> Shuffled:
    """The greatest kappa of one slice."""
    checked(records, epsilon, delta, slices)
    least = mu_of(epsilon, delta) / math.sqrt(slices)
    kappa = greatest(lambda kappa: unlinked_delta(records, epsilon, kappa, slices, delta * _CUT), delta, least)
    return Shuffled(kappa, False, NOT_PROVEN)


def unlinked_delta(records: int, epsilon: float, kappa: float, slices: int, cut: float = 1e-8) -> float:
    """delta at epsilon of all slices together; `cut` is how much of it may go to where curves are cut off."""
    typical = math.sqrt(math.expm1(kappa**2) / records)  # the deviation of one slice's loss
    last = 4 * typical
    while blanket_delta(records, last, kappa, 1) > cut / slices:
        last *= 1.3
        if last > 50:
            return 1.0
    interval = typical / 40
    spaced = np.concatenate([[0.0], np.geomspace(typical / 8, last, _NODES)])
    nodes = np.unique(np.round(spaced / interval).astype(np.int64))
    deltas = np.array([blanket_delta(records, node * interval, kappa, 1) for node in nodes])
    together = dominating(nodes, deltas, interval).self_compose(slices, tail_mass_truncation=cut / 100)
    return float(together.get_delta_for_epsilon(epsilon))
