"""Histograms along random orthonormal directions, laid out by what the axes have told.

A record is laid out as one coordinate for each number, its rank among the records, and one for each value of a
category and for a missing number; all with variance 1 or less as far as the axes tell. The directions are those of
random orthonormal frames, drawn from public chance: of one frame where it is wide enough.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.public_rng import PublicRng, orthonormal, public_rng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.budget import noise_scale
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import Slices


class Tuning(TuningConstants, group="slices.directions"):
    """See `sfumato.fitting.tuning`."""

    directions = 32
    fewest_bins = 4
    most_bins = 32
    holds = 4.0  # noise deviations that an average bin of a class should hold
    step = 2.0**-12  # of a place on a direction, whose records have a variance of about 1
    rarest = 0.02  # share below which a value of a category is not stretched further
    drawn = 1 << 14  # records of independent columns, which place the bins
    stream = 23


@dataclass(frozen=True, eq=False)
class AlongDirections:
    """What was measured along the directions: noisy counts (directions x bins x classes) and the law of their noise.

    places and ends are those of the statistic, in standard deviations; `outer` holds the outermost places that records
    of independent columns take (directions x 2).
    """

    places: FloatArray
    ends: FloatArray
    outer: FloatArray
    counts: FloatArray
    sigma: float


def measure_directions(
    curator: CuratorLike, plan: CountsPlan, one_way: OneWays, mu: float | None
) -> AlongDirections | None:
    """Ask for histograms along random directions."""
    if mu is None:
        return None
    rng = public_rng(Tuning.stream)
    places = _places(rng, list(one_way.columns.values()))
    return measure_along(curator, plan, one_way, places, mu, rng)


def measure_along(
    curator: CuratorLike, plan: CountsPlan, one_way: OneWays, places: NDArray[np.int32], mu: float, rng: PublicRng
) -> AlongDirections:
    """Ask for them, on bins of about equal count if the columns were independent, as many as the noise allows.

    `places` are directions x groups of all columns, in whole steps; they may follow from whatever was released.
    """
    target = plan.target
    classes = None if target is None else plan.grids[target].merge(one_way.classes.groups)
    grids = {name: column.grid.merge(column.groups) for name, column in one_way.columns.items()}

    def asked(ends: NDArray[np.int32]) -> Slices:
        return Slices(grids, places, ends, target, classes)

    drawn = _independent(rng, list(one_way.columns.values()), places)
    sensitivity = asked(np.zeros((len(places), 1), dtype=np.int32)).sensitivity(plan.adjacency)
    bins = _bins(one_way, noise_scale(sensitivity, mu))
    cuts = np.ceil(np.arange(1, bins) * len(drawn) / bins).astype(np.int64)
    drawn.sort(axis=0)
    measured = curator.measure(asked(drawn[cuts].T.astype(np.int32)), mu)
    answered = measured.statistic
    assert isinstance(answered, Slices)  # noqa: S101 - the curator answers what it was asked, but for last digits
    return AlongDirections(
        answered.places.astype(np.float64) * Tuning.step,
        answered.ends.astype(np.float64) * Tuning.step,
        drawn[[0, -1]].T.astype(np.float64) * Tuning.step,
        answered.split(measured.values.astype(float)),
        measured.sigma,
    )


def lay_out(columns: list[OneWay]) -> list[FloatArray]:
    """Lay a record out: for each column its coordinates x its groups: where each group lies on each coordinate."""
    blocks = []
    for column in columns:
        p = pooled(column)
        n = column.ordered
        alone = np.diag(1 / np.sqrt(len(p) * np.maximum(p, Tuning.rarest)))[n:]
        rank = (np.cumsum(p[:n]) - p[:n] / 2) / max(p[:n].sum(), 1e-12)
        number = np.append(np.sqrt(12) * (rank - 0.5), np.zeros(len(p) - n))[None]
        blocks.append(np.concatenate((number, alone)) if n else alone)
    return blocks


def _places(rng: PublicRng, columns: list[OneWay]) -> NDArray[np.int32]:
    """Directions x groups of all columns, in whole steps."""
    blocks = lay_out(columns)
    frames = np.split(_frames(rng, sum(map(len, blocks))), np.cumsum([len(block) for block in blocks])[:-1], axis=1)
    places = [part @ block for part, block in zip(frames, blocks, strict=True)]
    whole: NDArray[np.int32] = np.rint(np.concatenate(places, axis=1) / Tuning.step).astype(np.int32)
    return whole


def pooled(column: OneWay) -> FloatArray:
    """The distribution over a column's groups, of all classes together."""
    counts = column.grouped.sum(axis=1).clip(1.0)
    pooled: FloatArray = counts / counts.sum()
    return pooled


def _frames(rng: PublicRng, width: int) -> FloatArray:
    """Directions x coordinates: uniform orthonormal frames, one after the other."""
    frames: list[FloatArray] = []
    while sum(map(len, frames)) < Tuning.directions:
        frames.append(orthonormal(rng, width, min(width, Tuning.directions)).T)
    return np.concatenate(frames)[: Tuning.directions]


def _independent(rng: PublicRng, columns: list[OneWay], places: NDArray[np.int32]) -> IntArray:
    """The places of records whose columns have nothing to do with each other: records x directions."""
    found = np.zeros((Tuning.drawn, len(places)), dtype=np.int64)
    start = 0
    for column in columns:
        ends = np.cumsum(pooled(column))
        group = np.searchsorted(ends / ends[-1], rng.random(Tuning.drawn), side="right").clip(max=len(ends) - 1)
        found += places[:, start + group].T
        start += len(ends)
    return found


def _bins(one_way: OneWays, sigma: float) -> int:
    held = one_way.size / (one_way.classes.count * Tuning.holds * sigma)
    return int(np.clip(held, Tuning.fewest_bins, Tuning.most_bins))
