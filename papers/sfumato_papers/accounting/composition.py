"""A release of slices beside other releases: its privacy loss, in the form that `dp_accounting` composes.

A pair of distributions whose curve lies above that of a mechanism, for every epsilon, dominates it, and so it does in
composition (Zhu, Dong and Wang, arXiv 2106.08567, theorem 10). Three steps, each of which only raises the curve: T is
rounded up to coarse cells; the curve is replaced by its chords in e^epsilon between nodes (Doroshenko, Ghazi, Kamath,
Kumar and Manurangsi, "Connect the dots", arXiv 2207.04380); all probability that is not certain is put at infinity.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.errors import BudgetError, RequestError
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato_papers.accounting.profile import SlicingProfile, gaussian_deltas

INTERVAL = 1e-4  # the grid of losses that dp_accounting takes where none is named
_NODES = 5e-3  # between nodes of the curve
_RATIO = 1 + 4e-3  # of the cells of T
_SMALL = 1e-2  # of the mean of T: cells below are one
_TAIL = 1e-13  # where the curve is cut off
_MOST_NODES = 20_000
_ROUNDING = 1e-8  # relative, of the curve and of what is done with it


def privacy_loss(profile: SlicingProfile, sigma: float, interval: float = INTERVAL) -> Any:
    """The `PrivacyLossDistribution` of one release at this noise, pessimistic; compose it with any other of its grid.

    Formal guarantees
        Its curve lies above `profile.delta(...).upper` wherever that is above 1e-9, and it dominates the release in
        any composition. Both directions are the same. The sums and transforms of a composition are dp_accounting's.
    Edge cases
        so little noise that losses pass 100: `BudgetError`; nothing would be promised
    """
    if not 0 < sigma < math.inf:
        raise BudgetError(f"sigma is {sigma!r}; it must be a number above 0")
    law = profile.law.coarse(_RATIO)
    small = law.high <= _SMALL * profile.frame.mean
    mass = np.append(law.mass[~small], law.mass[small].sum())
    mu = np.sqrt(np.append(law.high[~small], max(law.high[small], default=0.0))) / sigma
    kept = mass > 0
    mass, mu = mass[kept], mu[kept]

    def curve(epsilon: float) -> float:
        height, slack = gaussian_deltas(epsilon, mu)
        return float(mass @ (height + slack))

    count = math.ceil(_last(curve) / _NODES) + 1
    nodes = np.unique(np.round(np.arange(count + 1) * _NODES / interval).astype(np.int64))
    deltas = np.array([curve(node * interval) for node in nodes]) * (1 + _ROUNDING) + law.misplaced
    return dominating(nodes, deltas, interval)


def dominating(nodes: IntArray, deltas: FloatArray, interval: float) -> Any:
    """The loss of a symmetric pair whose curve goes through (node * interval, delta), nodes 0 and up.

    Below 0 the curve follows from symmetry: delta(-epsilon) = 1 - e^-epsilon (1 - delta(epsilon)).
    """
    pld_pmf, distribution = _dp_accounting()
    mirrored = 1 - np.exp(-nodes[:0:-1] * interval) * (1 - deltas[:0:-1])
    every = np.minimum(np.concatenate([mirrored, deltas]), 1.0)
    places = np.concatenate([-nodes[:0:-1], nodes])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(interval, places, np.minimum.accumulate(every))
    return distribution.PrivacyLossDistribution(pmf.to_dense_pmf())


def _last(curve: Callable[[float], float]) -> float:
    """Where the curve is almost 0."""
    last = 1.0
    while curve(last) > _TAIL:
        last *= 1.2
        if last > _NODES * _MOST_NODES:
            raise BudgetError("with so little noise nothing is promised: losses pass 100; raise sigma")
    return last


def _dp_accounting() -> tuple[Any, Any]:
    try:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        raise RequestError('composition of curves needs dp-accounting: pip install "sfumato[published]"') from None
    return pld_pmf, privacy_loss_distribution
