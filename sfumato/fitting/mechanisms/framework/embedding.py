"""The mean embedding of the records in random Fourier features of all columns together: what is asked.

The records are laid out as for directions: a number by its rank, a category by its values. Frequencies are Gaussian, so
that the embedding is that of the Gaussian kernel, as in DP-MERF (Harder, Adamczewski and Park 2021).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.mechanisms.counts.one_way import OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.mechanisms.slices.directions import lay_out, pooled
from sfumato.fitting.public_rng import public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Embedding
from sfumato.trusted.statistics.embedding import RADIUS, TURN


class Tuning(TuningConstants, group="framework.embedding"):
    """See `sfumato.fitting.tuning`."""

    frequencies = 256
    spread = 0.8  # standard deviation of an angle in radians, if columns were independent: one over the kernel's width
    stream = 31


_LEAST_VARIANCE = 1e-6  # of an angle, before it is scaled


@dataclass(frozen=True, eq=False)
class Embedded:
    """What was measured, in records: noisy sums of the features of each class, and the law of their noise.

    angles   frequencies x groups of all columns, in radians
    sums     frequencies x classes, cosine and sine as one complex number
    """

    angles: FloatArray
    sums: NDArray[np.complex128]
    sigma: float


def measure_embedding(curator: CuratorLike, plan: CountsPlan, one_way: OneWays, mu: float | None) -> Embedded | None:
    """Ask for it at frequencies that are laid out by what the axes have told."""
    if mu is None:
        return None
    target = plan.target
    classes = None if target is None else plan.grids[target].merge(one_way.classes.groups)
    grids = {name: column.grid.merge(column.groups) for name, column in one_way.columns.items()}
    steps = np.rint(_angles(one_way) * (TURN / (2 * np.pi))).astype(np.int32)
    measured = curator.measure(Embedding(grids, steps, target, classes), mu)
    answered = measured.statistic
    assert isinstance(answered, Embedding)  # noqa: S101 - the curator answers what it was asked, but for last digits
    cosines, sines = np.moveaxis(answered.split(measured.values.astype(float)) / RADIUS, 1, 0)
    angles = answered.angles.astype(np.float64) * (2 * np.pi / TURN)
    return Embedded(angles, cosines + 1j * sines, measured.sigma / RADIUS)


def _angles(one_way: OneWays) -> FloatArray:
    """Frequencies x groups of all columns; an angle has the planned spread over records of independent columns.

    Where next to nothing varies it has less, so that no angle is beyond what 32 bits hold.
    """
    columns = list(one_way.columns.values())
    blocks = lay_out(columns)
    ends = np.cumsum([len(block) for block in blocks])
    drawn = public_rng(Tuning.stream).normal(size=(Tuning.frequencies, ends[-1]))
    parts = [part @ block for part, block in zip(np.split(drawn, ends[:-1], axis=1), blocks, strict=True)]
    spread = sum(_variance(part, pooled(column)) for part, column in zip(parts, columns, strict=True))
    angles: FloatArray = np.concatenate(parts, axis=1) * (Tuning.spread / np.sqrt(max(spread, _LEAST_VARIANCE)))
    return angles


def _variance(angles: FloatArray, shares: FloatArray) -> float:
    """Of the angle that a column adds, on average over the frequencies."""
    return float((angles**2 @ shares - (angles @ shares) ** 2).mean())
