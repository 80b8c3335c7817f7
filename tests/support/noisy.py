"""Tables with rules for tests: a curator of codes, and rules that records keep or break."""

import numpy as np

from sfumato.fitting.support.support import in_runs
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import noise_scale
from sfumato.trusted.encoding import Batch, Encoder
from sfumato.trusted.measurement import Measurement


class NoisySums:
    """A curator over codes; it keeps what it answered."""

    def __init__(self, batch: Batch, adjacency: Adjacency, seed: int = 0) -> None:
        self._batch, self._adjacency, self._rng = batch, adjacency, np.random.default_rng(seed)
        self.answers: list[Measurement] = []

    def measure(self, statistic, mu):
        """The sum with its noise."""
        sigma = noise_scale(statistic.sensitivity(self._adjacency), mu)
        noise = [self._rng.normal(0, sigma / block.weight, block.size) for block in statistic.blocks]
        values = statistic(self._batch) + np.rint(np.concatenate(noise)).astype(np.int64)
        self.answers.append(Measurement(statistic, mu, sigma, values))
        return self.answers[-1]


def breaking(batch: Batch, forbidden) -> np.ndarray:
    """Whether each record has one of these combinations."""
    broken = np.zeros(batch.rows, dtype=bool)
    for rule in forbidden:
        broken |= np.all([in_runs(runs, batch.codes[name]) for name, runs in rule.items()], axis=0)
    return broken


def any_codes(schema, rows: int, rng) -> Batch:
    """Records that know no rules; half of the codes of a column are next to its first."""
    codes = {}
    for name, column in Encoder(schema).columns.items():
        few = rng.integers(0, min(3, column.size), rows)
        codes[name] = np.where(rng.random(rows) < 0.5, few, rng.integers(0, column.size, rows)).astype(np.int32)
    return Batch(rows, codes)
