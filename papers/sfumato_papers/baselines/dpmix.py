"""DPMix: noisy means of a few random records."""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from sfumato.errors import DataError
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget
from sfumato_papers.baselines.interface import BOUNDS, Generated, Table, claim
from sfumato_papers.baselines.layout import Layout, largest
from sfumato_papers.baselines.networks import ROWS_AT_ONCE

_LEAST_MULTIPLIER = 0.05  # no epsilon that `Budget` takes is met by less
FAULTS = (
    BOUNDS,
    (
        "A point is a mean of records, and the paper trains on it as it is. Here categories and the label take the "
        "value with the largest noisy entry, so that rare values and smaller classes can vanish."
    ),
)


@dataclass(frozen=True)
class DPMix:
    """Each released point is the mean of `mixed` records with Gaussian noise, features and label alike.

    Formal guarantees
        As claimed: records are drawn without replacement, afresh for each point, and the points compose by the Rényi
        bound of Wang, Balle and Kasiviswanathan (2018), theorem 27. Neighbours differ in one replaced record.
    Edge cases
        Fewer records than `mixed`: `DataError`.
    """

    mixed: int = 16
    rows: int | None = None

    name: ClassVar[str] = "DPMix"
    paper: ClassVar[str] = (
        "Lee, Kim, Lee, Suh and Ramchandran, Synthesizing differentially private datasets using random mixing, 2019"
    )
    accounting: ClassVar[str] = (
        "Rényi bound of a Gaussian mechanism on records sampled without replacement, composed over all points."
    )

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """As many points as `rows` says, or as the table has."""
        Budget(epsilon, delta)
        if len(table) < self.mixed:
            raise DataError(f"the table has fewer records than the {self.mixed} that are mixed: lower `mixed`")
        layout = Layout.of(table)
        points = len(table) if self.rows is None else self.rows
        scale = sensitivity(layout, self.mixed) * multiplier(len(table), self.mixed, points, epsilon, delta)
        records, X, y = layout.encode(table), np.empty((points, len(table.kinds))), np.empty(points, dtype=np.int64)
        for start in range(0, points, ROWS_AT_ONCE):
            piece = slice(start, min(start + ROWS_AT_ONCE, points))
            means = random_means(rng, records, self.mixed, piece.stop - start)
            X[piece], y[piece] = layout.decode(means + rng.normal(0, scale, means.shape), largest)
        return Generated(X, y, claim(self.name, epsilon, delta, "one replaced record"), FAULTS)


def sensitivity(layout: Layout, mixed: int) -> float:
    """How far one replaced record moves a mean of `mixed` records, in l2.

    A number moves by 1 at most, and a block of zeros and ones by sqrt(2): one of them falls and another rises. All
    columns can do so at once.
    """
    return math.sqrt(len(layout.numbers) + 2 * len(layout.blocks)) / mixed


@cache
def multiplier(records: int, mixed: int, points: int, epsilon: float, delta: float) -> float:
    """The least noise, in units of the sensitivity, for so many points."""
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant

    def event(scale: float) -> dp.DpEvent:
        mean = dp.SampledWithoutReplacementDpEvent(records, mixed, dp.GaussianDpEvent(scale))
        return dp.SelfComposedDpEvent(mean, points)

    return float(
        dp.calibrate_dp_mechanism(
            lambda: RdpAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_ONE),
            event,
            epsilon,
            delta,
            dp.LowerEndpointAndGuess(_LEAST_MULTIPLIER, 1.0),
            tol=1e-3,
        )
    )


def random_means(rng: np.random.Generator, records: FloatArray, mixed: int, points: int) -> FloatArray:
    """One row for each point: the mean of `mixed` records, no record twice."""
    drawn = (rng.choice(len(records), mixed, replace=False, shuffle=False) for _ in range(points))
    return np.array([records[chosen].mean(axis=0) for chosen in drawn])
