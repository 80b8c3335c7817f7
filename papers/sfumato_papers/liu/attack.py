"""Which of two tables was a release made of? The best test there is: the likelihood ratio.

The attacker knows both tables and the algorithm, as differential privacy assumes. Each table runs all of algorithm 1
itself, so that its noise is its own.
"""

import math
from typing import NamedTuple

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato_papers.liu.draws import draws
from sfumato_papers.liu.likelihood import log_likelihood
from sfumato_papers.liu.release import Prepared

_HALVINGS = 60


class Losses(NamedTuple):
    """How much likelier releases are under their own table than under the other, as logarithms.

    here     of releases made here
    there    of releases made there

    Infinite where the other table cannot give the release at all.
    """

    here: FloatArray
    there: FloatArray

    @property
    def advantage(self) -> float:
        """How often the likelier table is named for releases made here, less how often for those made there.

        Where both are equally likely a coin decides.
        """
        hits, alarms = _above_zero(self.here), _above_zero(-self.there)
        return hits - alarms

    @property
    def only_here(self) -> float:
        """The share of releases made here that are impossible there: true positives without a false one."""
        return float(np.isposinf(self.here).mean())

    @property
    def only_there(self) -> float:
        """The same of releases made there."""
        return float(np.isposinf(self.there).mean())

    def delta(self, epsilon: float) -> float:
        """The least delta for this epsilon, in the worse direction."""
        return max(hockey_stick(side, epsilon) for side in self)

    def epsilon(self, delta: float) -> float:
        """The least epsilon for this delta, in the worse direction; infinite where impossible releases exceed it."""
        return max(least_epsilon(side, delta) for side in self)


def _above_zero(values: FloatArray) -> float:
    return float((values > 0).mean() + (values == 0).mean() / 2)


def hockey_stick(losses: FloatArray, epsilon: float) -> float:
    """The mean of  max(0, 1 - exp(epsilon - loss))."""
    return float(-np.expm1(np.minimum(epsilon - losses, 0)).mean())


def least_epsilon(losses: FloatArray, delta: float) -> float:
    """The least epsilon, 0 at least, at which `hockey_stick` is no more than delta."""
    if np.isposinf(losses).mean() > delta:
        return math.inf
    low, high = 0.0, max(float(np.max(losses, where=np.isfinite(losses), initial=0.0)), 0.0)
    if hockey_stick(losses, low) <= delta:
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if hockey_stick(losses, middle) > delta else (low, middle)
    return high


def largest_advantage(epsilon: float, delta: float) -> float:
    """What (epsilon, delta)-differential privacy allows any test: the corner of its trade-off curve."""
    return (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)


def attack(rng: np.random.Generator, here: Prepared, there: Prepared, releases: int) -> dict[str, Losses]:
    """The losses of this many releases of each table, by part (`weights`, `means`, `covariances`) and of `all`."""
    ours, theirs = (draws(rng, *side, releases) for side in (here, there))
    sides = [
        (log_likelihood(ours, *here), log_likelihood(ours, *there)),
        (log_likelihood(theirs, *there), log_likelihood(theirs, *here)),
    ]
    return {
        name: Losses(*(getattr(own, name) - getattr(other, name) for own, other in sides))
        for name in ("weights", "means", "covariances", "all")
    }
