"""The average of several fits, each from a start of its own: what is chance in one fit the others do not share."""

import numpy as np

from sfumato.fitting.devices import CPU
from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.tables.approximation import approximate
from sfumato.fitting.mechanisms.tables.product_mixture import Evidence
from sfumato.fitting.mechanisms.tables.start import Start
from sfumato.trusted.arrays import FloatArray


def average_fits(
    one_way: OneWays, seen: Evidence, start: Start, steps: int, fits: int, device: str = CPU, first: int = 0
) -> tuple[FloatArray, list[FloatArray]]:
    """As `approximate`, with the components of all fits side by side; `first` is the number of the first."""
    made = [approximate(one_way, seen, start, steps, number, device) for number in range(first, first + fits)]
    weights = np.concatenate([one[0] for one in made]) / fits
    thetas = [np.concatenate(parts) for parts in zip(*(one[1] for one in made), strict=True)]
    return weights, thetas
