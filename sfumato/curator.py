"""The door. Private records stand behind it; what `measure` returns is public.

To check the privacy of this library, read this file, `privacy/noise.py`, and the `sensitivity` of each class in
`statistics/`. Nothing else ever holds a private record.
"""

import numpy as np

from sfumato.measurement import Measurement
from sfumato.privacy.accounting import noise_scale
from sfumato.privacy.adjacency import Adjacency
from sfumato.privacy.noise import Noise
from sfumato.privacy.spending import Purse
from sfumato.sources import Source
from sfumato.statistics import Statistic


class Curator:
    """Holds the records of one source, and lets out measurements while the purse lasts."""

    def __init__(self, source: Source, adjacency: Adjacency, purse: Purse, noise: Noise) -> None:
        self._source = source
        self._adjacency = adjacency
        self._purse = purse
        self._noise = noise
        self._measurements: list[Measurement] = []

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Everything that came through the door, in order."""
        return tuple(self._measurements)

    def measure(self, statistic: Statistic, mu: float) -> Measurement:
        """The sum of `statistic` over the records, with the Gaussian noise that makes it mu-GDP.

        Formal guarantees
            Given everything released before, the answer is mu-GDP for one change of the adjacency (Dong, Roth and Su
            2019, theorem 2.7): the sum moves by at most `statistic.sensitivity(adjacency)` in the blocks' weights, each
            block has noise sigma / weight, and rounding the noise to integers is post-processing, because the sum is of
            integers.
        Edge cases
            No records: the sum is zero and everything else is the same. Not enough budget: `OverBudget`, nothing is
            read. A crash after the spend: the spend stands.
        """
        self._purse.spend(mu)
        sigma = noise_scale(statistic.sensitivity(self._adjacency), mu)
        total = self._source.sum(statistic)
        noise = [self._noise.rounded_gaussian(sigma / block.weight, block.size) for block in statistic.blocks]
        measurement = Measurement(statistic, mu, sigma, total + np.concatenate(noise))
        self._measurements.append(measurement)
        return measurement
