"""A lower bound on mu from the answers themselves: what a distinguisher can really tell.

The audit plays the game of the promise: two neighbouring tables, many answers from each, and a threshold that tells
them apart. Its false alarms and hits bound mu from below with stated confidence. It is done in mu and not in epsilon
because a bound on epsilon is so loose that a third of the noise may be missing unseen.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import beta, norm

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import Block, PersonLevel, Statistic

_DRAWS_PER_COORDINATE = 100  # with fewer, a covariance would be noise
_RIDGE = 1e-9


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

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return self.part.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """Refused: an echo is not a measurement that anybody may publish."""
        raise NotImplementedError("an audit's statistic is never written into a bundle")


@dataclass(frozen=True)
class Excerpt:
    """Some coordinates of a statistic, each with the noise that it has in the whole: for audits only.

    To leave out coordinates is post-processing, so the excerpt has no more than the sensitivity of the whole, which it
    claims. An attacker who knows two tables needs the coordinates alone in which their sums differ.
    """

    part: Statistic
    places: tuple[int, ...]

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"{len(self.places)} coordinates of one question, for an audit"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return self.part.columns

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        weights = weights_of(self.part)
        return tuple(Block(1, float(weights[place])) for place in self.places)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`, but of the whole."""
        return self.part.sensitivity(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        return self.part(batch)[list(self.places)]

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return self.part.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """Refused, as of an echo."""
        raise NotImplementedError("an audit's statistic is never written into a bundle")


def echo(statistic: Statistic, places: tuple[int, ...], times: int) -> Statistic:
    """Some coordinates of a statistic, many times over; of persons, what one of their records adds is said so often."""
    if isinstance(statistic, PersonLevel):
        return replace(statistic, statistic=echo(statistic.statistic, places, times))
    return Echo(Excerpt(statistic, places), times)


def weights_of(statistic: Statistic) -> FloatArray:
    """The weight of each coordinate: its noise is sigma over this."""
    blocks = statistic.blocks
    return np.repeat([block.weight for block in blocks], [block.size for block in blocks])


def answers(measurement: Measurement) -> FloatArray:
    """The separate answers of an echo, times x length of its part, each coordinate in units of its noise."""
    said = measurement.statistic
    if isinstance(said, PersonLevel):
        said = said.statistic
    if not isinstance(said, Echo):
        raise TypeError("only an echo holds several answers")
    separate: FloatArray = measurement.values.reshape(-1, said.times).T * weights_of(said.part) / measurement.sigma
    return separate


def mu_lower_bound(without: FloatArray, with_record: FloatArray, confidence: float = 0.999) -> float:
    """A value that mu is not below, given answers (draws x coordinates) from two neighbouring tables.

    The direction and the threshold are chosen on one half of the draws and judged on the other, so the bound is valid
    whatever was chosen. Where the coordinates are few, the direction takes their correlation into account: two answers
    with one noise tell the sum to whoever subtracts them. A mu-GDP mechanism has
    Phi^-1(hits) - Phi^-1(false alarms) <= mu  (Dong, Roth and Su 2019, definition 2.1).
    """
    half = len(without) // 2
    direction = _best_direction(without[:half], with_record[:half])
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


def most_provable(draws: int, confidence: float) -> float:
    """The bound if the tables never look alike: no claim above it can be disproved by so many draws of each."""
    count = draws - draws // 2
    return float(-2 * norm.ppf(beta.ppf(1 - (1 - confidence) / 2, 1, count)))


def _best_direction(quiet: FloatArray, loud: FloatArray) -> FloatArray:
    """The difference of the means, and of few coordinates Fisher's direction."""
    difference: FloatArray = np.subtract(loud.mean(axis=0), quiet.mean(axis=0))
    if len(quiet) < _DRAWS_PER_COORDINATE * len(difference):
        return difference
    spread = np.atleast_2d(np.cov(quiet, rowvar=False) + np.cov(loud, rowvar=False)) / 2
    ridge = _RIDGE * max(float(np.trace(spread)) / len(difference), _RIDGE) * np.eye(len(difference))
    return np.asarray(np.linalg.solve(spread + ridge, difference), dtype=np.float64)


def _best_threshold(quiet: FloatArray, loud: FloatArray) -> float:
    """Where hits and false alarms tell most, less two standard errors; of several such places the middle one."""
    candidates = np.quantile(np.concatenate((quiet, loud)), np.linspace(0.02, 0.98, 193))
    rates = [1 - np.searchsorted(np.sort(side), candidates) / len(side) for side in (loud, quiet)]
    hits, alarms = (rate.clip(1 / len(quiet), 1 - 1 / len(quiet)) for rate in rates)
    errors = [np.sqrt(rate * (1 - rate) / len(quiet)) / norm.pdf(norm.ppf(rate)) for rate in (hits, alarms)]
    gain = norm.ppf(hits) - norm.ppf(alarms) - 2 * (errors[0] + errors[1])
    best = np.flatnonzero(gain >= gain.max() - 1e-12)
    return float(candidates[best[len(best) // 2]])
