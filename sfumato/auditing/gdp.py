"""A lower bound on mu from the answers themselves: what a distinguisher can really tell.

The audit plays the game of the promise: two neighbouring tables, many answers from each, and a threshold that tells
them apart. Its false alarms and hits bound mu from below with stated confidence. It is done in mu and not in epsilon
because a bound on epsilon is so loose that a third of the noise may be missing unseen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, norm

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import Block, Statistic


@dataclass(frozen=True)
class Echo:
    """A statistic said `times` times over, each time with fresh noise, for the price of one: for audits only.

    It claims the sensitivity of a single copy, so one call of `measure` draws as many independent answers, through the
    very code that releases go through. Nothing with such a claim may be released: it cannot be written into a bundle.
    """

    part: Statistic
    times: int

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"{self.times} answers to one question, for an audit"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return self.part.columns

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return tuple(Block(block.size * self.times, block.weight) for block in self.part.blocks)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`, but of one copy."""
        return self.part.sensitivity(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        return np.repeat(self.part(batch), self.times)

    def to_dict(self) -> dict[str, Any]:
        """Refused: an echo is not a measurement that anybody may publish."""
        raise NotImplementedError("an audit's statistic is never written into a bundle")


def answers(measurement: Measurement) -> FloatArray:
    """The separate answers of an echo, times x length of its part, each coordinate in units of its noise."""
    echo = measurement.statistic
    if not isinstance(echo, Echo):
        raise TypeError("only an echo holds several answers")
    weights = np.repeat([block.weight for block in echo.part.blocks], [block.size for block in echo.part.blocks])
    separate: FloatArray = measurement.values.reshape(-1, echo.times).T * weights / measurement.sigma
    return separate


def mu_lower_bound(without: FloatArray, with_record: FloatArray, confidence: float = 0.999) -> float:
    """A value that mu is not below, given answers (draws x coordinates) from two neighbouring tables.

    The direction and the threshold are chosen on one half of the draws and judged on the other, so the bound is valid
    whatever was chosen. A mu-GDP mechanism has  Phi^-1(hits) - Phi^-1(false alarms) <= mu  (Dong, Roth and Su 2019,
    definition 2.1).
    """
    half = len(without) // 2
    direction = with_record[:half].mean(axis=0) - without[:half].mean(axis=0)
    quiet, loud = without @ direction, with_record @ direction
    threshold = _best_threshold(quiet[:half], loud[:half])
    tail = (1 - confidence) / 2
    hits, alarms, count = (
        int((loud[half:] >= threshold).sum()),
        int((quiet[half:] >= threshold).sum()),
        len(loud) - half,
    )
    least_hits = beta.ppf(tail, hits, count - hits + 1) if hits else 0.0
    most_alarms = beta.ppf(1 - tail, alarms + 1, count - alarms) if alarms < count else 1.0
    return max(0.0, float(norm.ppf(least_hits) - norm.ppf(most_alarms)))


def _best_threshold(quiet: FloatArray, loud: FloatArray) -> float:
    """Where hits and false alarms tell most, less two standard errors."""
    candidates = np.quantile(np.concatenate((quiet, loud)), np.linspace(0.02, 0.98, 193))
    rates = [1 - np.searchsorted(np.sort(side), candidates) / len(side) for side in (loud, quiet)]
    hits, alarms = (rate.clip(1 / len(quiet), 1 - 1 / len(quiet)) for rate in rates)
    errors = [np.sqrt(rate * (1 - rate) / len(quiet)) / norm.pdf(norm.ppf(rate)) for rate in (hits, alarms)]
    gain = norm.ppf(hits) - norm.ppf(alarms) - 2 * (errors[0] + errors[1])
    return float(candidates[np.argmax(gain)])
