"""Waves as evidence: what the characteristic functions of a Gaussian mixture's columns tell a generator.

They tell how each column is spread in each class, nothing of how columns hang together. The scores that a mixture asks
for afterwards do, but through bounds that see whole records; a generator leaves them aside.
"""

import math

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.generators.evidence import Column, Evidence, Linear
from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan, geometry_of
from sfumato.fitting.retraining.evidence import TrainingData
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import AnyFloatArray, FloatArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import FourierFeatures, Grid
from sfumato.trusted.feature_maps.bounded_map import UNIT
from sfumato.trusted.feature_maps.scaled_columns import PLACE_BITS
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import ClassSums


class Tuning(TuningConstants, group="retraining.fourier_evidence"):
    """See `sfumato.fitting.tuning`."""

    cells = 64  # of every column
    points = 8  # codes of a cell at which waves are looked at
    prior = 1.0  # records spread evenly: nothing but waves tells how a column is spread
    fewest = 1.0  # records that every class is given at least


def read_fourier(schema: Schema, adjacency: Adjacency, measurements: tuple[Measurement, ...]) -> TrainingData:
    """The evidence of all Fourier features of the target's classes, or of all records together."""
    found = [
        (item, item.statistic)
        for item in measurements
        if isinstance(item.statistic, ClassSums)
        and all(isinstance(one, FourierFeatures) for one in item.statistic.maps)
        and (item.statistic.parting.target is not None or item.statistic.parting.size == 1)
    ]
    if not found:
        raise RequestError("this release asked for no waves: its features are public, and train generators themselves")
    target = found[0][1].parting.target
    names = found[0][1].places.names
    geometry = geometry_of(schema)
    plan = CountsPlan(
        columns=schema.by_name,
        grids=geometry.grids,
        features=names,
        target=target,
        adjacency=adjacency,
        mu_target_zoom=None,
        mu_target=None,
        mu_zoom=None,
        mu_one_way=found[0][0].mu,
        mu_pairs=None,
        labelled=False,
        pair_features=False,
    )
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
        Tuning.prior,
        tuple(_linear(item, asked, grids, size, k) for item, asked in found for k in range(len(totals))),
    )
    return TrainingData(plan, one_way, evidence)


def _even(codes: int) -> Grid:
    return Grid.of_cells(np.arange(codes) * min(codes, Tuning.cells) // codes)


def _totals(found: list[tuple[Measurement, ClassSums]]) -> tuple[FloatArray, float]:
    """The records of each class by the counts that waves carry, averaged by their precision, and their deviation."""
    counted, precision = np.zeros(len(found[0][1].maps)), 0.0
    for item, asked in found:
        values = asked.split(item.values)
        scales = [one.count / UNIT for one in asked.maps if isinstance(one, FourierFeatures)]
        weight = (min(scales) * UNIT / item.sigma) ** 2
        counted += weight * np.array([v[0, 0] / scale for v, scale in zip(values, scales, strict=True)])
        precision += weight
    return np.maximum(counted / precision, Tuning.fewest), 1 / math.sqrt(precision)


def _linear(item: Measurement, asked: ClassSums, grids: dict[str, Grid], size: float, k: int) -> Linear:
    """The waves of class k: sums of cosines and sines over its records, as shares of all records."""
    one = asked.maps[k]
    assert isinstance(one, FourierFeatures)  # noqa: S101 - chosen as such
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


def _places(asked: ClassSums, name: str, grid: Grid) -> AnyFloatArray:
    """Cells x points: where codes of each cell lie, from 0 to 1."""
    starts = np.array(grid.starts)
    widths = np.diff(np.append(starts, grid.codes))
    inside = (np.arange(Tuning.points) + 0.5) / Tuning.points
    codes = (starts[:, None] + np.floor(widths[:, None] * inside)).astype(np.int32)
    others = {other: np.zeros(codes.size, dtype=np.int32) for other in asked.places.names}
    batch = Batch(codes.size, {**others, name: codes.ravel()})
    places: AnyFloatArray = asked.places(batch)[asked.places.names.index(name)].reshape(codes.shape) / 2.0**PLACE_BITS
    return places
