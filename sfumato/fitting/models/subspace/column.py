"""One column of a subspace release under a condition, and what the noise makes uncertain about it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sfumato.fitting.models.subspace.marginals import CELLS, Marginals, Scores
from sfumato.fitting.models.subspace.maths import Normals
from sfumato.trusted.arrays import FloatArray

Ask = Callable[["ColumnLaw | Certain"], FloatArray]

_BISECTIONS = 60
_BINS = 2_000


class ColumnLaw(NamedTuple):
    """Normal laws of g, and what turns g into a place: the ends of the scale, or a marginal of this column alone.

    `scores` are those of g without a condition; None: there is none, and the marginal is the law.
    """

    normals: Normals
    marginal: Marginals | None = None
    scores: Scores | None = None

    def up_to(self, places: FloatArray) -> FloatArray:
        """The probability of each place or less."""
        if self.marginal is None:
            return np.where(places >= 1, 1.0, np.where(places < 0, 0.0, self.normals.cdf(places)))
        share = self.marginal.up_to(0, places)
        if self.scores is None:
            return share
        given = self.normals.cdf(self.scores.places(0, share))
        return np.where(share >= 1, 1.0, np.where(share <= 0, 0.0, given))

    def quantile(self, shares: FloatArray) -> FloatArray:
        """The place at which each share is reached."""
        low, high = np.zeros(len(shares)), np.ones(len(shares))
        high = np.where(self.up_to(low) >= shares, 0.0, high)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            below = self.up_to(middle) < shares
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high

    def mean(self, value: Callable[[FloatArray], FloatArray]) -> float:
        """The mean of a function of the place."""
        ends = np.linspace(0, 1, _BINS + 1)
        below = self.up_to(np.append(ends[:-1], np.nextafter(1.0, 0.0)))
        shares = np.diff(below, prepend=0.0, append=1.0)
        places = np.concatenate(([0.0], (ends[1:] + ends[:-1]) / 2, [1.0]))
        return float(shares @ value(places))

    def moved(self, mean_sds: FloatArray, cell_sd: float) -> Iterator["ColumnLaw"]:
        """The law with one class mean, or one probability of the marginal, a standard deviation of its noise off."""
        for c in np.flatnonzero(mean_sds):
            means = self.normals.means.copy()
            means[c] += mean_sds[c]
            yield self._replace(normals=self.normals._replace(means=means))
        if self.marginal is not None and cell_sd > 0:
            for cell in range(CELLS):
                p = self.marginal.probabilities.copy()
                p[0, cell] += cell_sd
                yield self._replace(marginal=Marginals(p / p.sum(), self.marginal.ends))

    def deviation(self, ask: Ask, mean_sds: FloatArray, cell_sd: float) -> FloatArray:
        """The standard deviation that the noise gives an answer, as if the answer were linear in it."""
        known = ask(self)
        squares = [(ask(other) - known) ** 2 for other in self.moved(mean_sds, cell_sd)]
        return np.sqrt(np.sum(squares, axis=0)) if squares else np.zeros_like(known)


class Certain(NamedTuple):
    """The law of a column that has been given a value."""

    place: float

    def up_to(self, places: FloatArray) -> FloatArray:
        """The probability of each place or less."""
        return (places >= self.place).astype(np.float64)

    def quantile(self, shares: FloatArray) -> FloatArray:
        """The place at which each share is reached."""
        return np.full(len(shares), self.place)

    def mean(self, value: Callable[[FloatArray], FloatArray]) -> float:
        """The mean of a function of the place."""
        return float(value(np.array([self.place]))[0])

    def deviation(self, ask: Ask, mean_sds: FloatArray, cell_sd: float) -> FloatArray:  # noqa: ARG002
        """There is no noise in it."""
        return np.zeros_like(ask(self))
