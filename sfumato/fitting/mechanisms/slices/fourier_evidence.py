"""Waves as evidence: what the characteristic functions of a Gaussian mixture's columns tell a generator.

They tell how each column is spread in each class, nothing of how columns hang together. The scores that a mixture asks
for afterwards do, but through bounds that see whole records; a generator leaves them aside.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import RequestError
from sfumato.fitting.generators.evidence import Column, Evidence, FloatArray, Linear
from sfumato.fitting.mechanisms.slices.fitting import Seen
from sfumato.fitting.mechanisms.tables.one_way import Classes, OneWay, OneWays
from sfumato.fitting.mechanisms.tables.plan import TablesPlan
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid, Waves
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.statistics import ClassSums

_CELLS = 64  # of every column
_POINTS = 8  # codes of a cell at which waves are looked at
_PRIOR = 1.0  # records spread evenly: nothing but waves tells how a column is spread
_FEWEST = 1.0  # records that every class is given at least


def waves_seen(plan: TablesPlan, measurements: tuple[Measurement, ...]) -> Seen:
    """The evidence of all waves of the target's classes, or of all records together."""
    found = [
        (item, item.statistic)
        for item in measurements
        if isinstance(item.statistic, ClassSums)
        and all(isinstance(one, Waves) for one in item.statistic.maps)
        and (item.statistic.parting.target is not None or item.statistic.parting.size == 1)
    ]
    if not found:
        raise RequestError("this release asked for no waves: its features are public, and train generators themselves")
    target = found[0][1].parting.target
    names = found[0][1].places.names
    plan = replace(plan, target=target, features=names)
    grids = {name: _even(plan.grids[name].codes) for name in names}
    totals, deviation = _totals(found)
    classes = Classes(np.arange(len(totals)), np.ones(len(totals)))
    columns = {
        name: OneWay(grid, np.tile(totals / grid.size, (grid.size, 1)), deviation, np.arange(grid.size), grid.size)
        for name, grid in grids.items()
    }
    one_way = OneWays(columns, classes, totals, deviation)
    size = one_way.size
    noise = deviation / size
    evidence = Evidence(
        {
            name: Column(grid, np.arange(grid.size), np.ones(grid.size), np.full(grid.size, noise), grid.size)
            for name, grid in grids.items()
        },
        totals,
        np.tile(np.concatenate([np.full(grid.size, 1 / grid.size) for grid in grids.values()]), (len(totals), 1)),
        _PRIOR,
        tuple(_linear(item, asked, grids, size, k) for item, asked in found for k in range(len(totals))),
    )
    return Seen(plan, one_way, evidence)


def _even(codes: int) -> Grid:
    return Grid.of_cells(np.arange(codes) * min(codes, _CELLS) // codes)


def _totals(found: list[tuple[Measurement, ClassSums]]) -> tuple[NDArray[np.float64], float]:
    """The records of each class by the counts that waves carry, averaged by their precision, and their deviation."""
    counted, precision = np.zeros(len(found[0][1].maps)), 0.0
    for item, asked in found:
        values = asked.split(item.values)
        scales = [one.count / UNIT for one in asked.maps if isinstance(one, Waves)]
        weight = (min(scales) * UNIT / item.sigma) ** 2
        counted += weight * np.array([v[0, 0] / scale for v, scale in zip(values, scales, strict=True)])
        precision += weight
    return np.maximum(counted / precision, _FEWEST), 1 / math.sqrt(precision)


def _linear(item: Measurement, asked: ClassSums, grids: dict[str, Grid], size: float, k: int) -> Linear:
    """The waves of class k: sums of cosines and sines over its records, as shares of all records."""
    one = asked.maps[k]
    assert isinstance(one, Waves)  # noqa: S101 - chosen as such
    values = asked.split(item.values)[k][0, 1:] * UNIT / one.radius / size
    width = sum(grid.size for grid in grids.values())
    features = np.zeros((width, 2 * one.pairs))
    start = row = 0
    for (name, grid), angular in zip(grids.items(), one.angular, strict=True):
        places = _places(asked, name, grid)
        for frequency in angular:
            angle = frequency * places
            features[start : start + grid.size, row] = np.cos(angle).mean(axis=1)
            features[start : start + grid.size, row + 1] = np.sin(angle).mean(axis=1)
            row += 2
        start += grid.size
    shares = np.zeros((2 * one.pairs, len(asked.maps)))
    precision = np.zeros_like(shares)
    shares[:, k] = values
    precision[:, k] = 1 / ((item.sigma / one.radius / size) ** 2 + 0.5 / size)
    return Linear(features, shares, precision)


def _places(asked: ClassSums, name: str, grid: Grid) -> FloatArray:
    """Cells x points: where codes of each cell lie, from 0 to 1."""
    starts = np.array(grid.starts)
    widths = np.diff(np.append(starts, grid.codes))
    inside = (np.arange(_POINTS) + 0.5) / _POINTS
    codes = (starts[:, None] + np.floor(widths[:, None] * inside)).astype(np.int32)
    others = {other: np.zeros(codes.size, dtype=np.int32) for other in asked.places.names}
    batch = Batch(codes.size, {**others, name: codes.ravel()})
    places: FloatArray = asked.places(batch)[asked.places.names.index(name)].reshape(codes.shape) / 2.0**PLACE_BITS
    return places
