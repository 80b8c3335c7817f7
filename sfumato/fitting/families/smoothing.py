"""Noisy counts of ordered values made smooth where noise decides: numbers of rows, and the cells of long columns.

Where persons are few, most cells of a long column hold nothing but noise. Cut off below zero, noise makes too much of
them, and some stand out by chance far from all values, which moves every mean. So the logarithm of the density is drawn
to a smooth line (second differences). What stands out of noise clearly keeps its place; between, and beyond the last
that does, the density goes on as a straight logarithm, which falls off exponentially. Post-processing.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sfumato.fitting.mechanisms.counts.estimation import project
from sfumato.fitting.mechanisms.counts.grids import is_long
from sfumato.fitting.mechanisms.counts.merging import sum_groups
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays, group_ordered
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import BoolArray, FloatArray
from sfumato.trusted.encoding import NumericCodec
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import CodeSums

_LEAST = 1e-12


class Tuning(TuningConstants, group="families.smoothing"):
    """See `sfumato.fitting.tuning`."""

    smooth = 3.0  # weight of squared second differences of the log density
    floor = 0.5  # noise deviations that every count has at the start
    spike = 4.0  # noise deviations above both neighbours' density, from which on a cell stands by itself
    steps = 60
    longest_step = 1.0


def measure_totals(
    curator: CuratorLike, plan: CountsPlan, names: tuple[str, ...], mu: float
) -> dict[str, tuple[float, float]]:
    """The noisy sum of the codes of each column, and the deviation of its noise."""
    asked = CodeSums({name: plan.codes[name].size - 1 for name in names})
    measured = curator.measure(asked, mu)
    noise = [measured.sigma / block.weight for block in asked.blocks]
    return {name: (float(value), sd) for name, value, sd in zip(names, measured.values, noise, strict=True)}


def smooth_columns(plan: CountsPlan, one_way: OneWays, totals: dict[str, tuple[float, float]]) -> OneWays:
    """The tables with smooth numbers of rows and long columns; `totals` are of columns whose sum was measured."""
    columns = {
        name: _smoothed(plan, name, column, totals.get(name))
        if name in plan.octaves or is_long(plan.codes[name])
        else column
        for name, column in one_way.columns.items()
    }
    return replace(one_way, columns=columns)


def _smoothed(plan: CountsPlan, name: str, column: OneWay, total: tuple[float, float] | None) -> OneWay:
    """A column of numbers with smooth counts; a null keeps its own."""
    values = int((column.groups < column.ordered).sum())
    if values < 3 or not isinstance(plan.codes[name], NumericCodec):  # fewer have no second difference
        return column
    counts, widths = column.counts.copy(), column.grid.widths[:values].astype(np.float64)
    counts[:values, 0] = smooth_counts(column.counts[:values, 0], column.sigma, widths, total)
    made = group_ordered(plan, name, counts, column.sigma, column.weights)
    held = counts[:, 0].clip(0) + _LEAST * column.grid.widths
    return replace(made, known_inside=held / sum_groups(held, made.groups)[made.groups])


def smooth_counts(
    counts: FloatArray, sigma: float, widths: FloatArray | None = None, total: tuple[float, float] | None = None
) -> FloatArray:
    """Counts of ordered cells that are positive, smooth where noise decides, and add up to as many records.

    The likeliest under Gaussian noise and sampling, less the penalty for second differences of the log density, by
    Newton's method. `widths` are how many codes each cell holds; `total` is the noisy sum of the codes, and the
    deviation of its noise. Cells that stand out of their neighbours like a heap are left out of the line.
    """
    width = np.ones(len(counts)) if widths is None else widths
    alone = _spikes(counts, sigma, width) if total is None else np.zeros(len(counts), dtype=bool)
    smooth = counts.clip(0.0).copy()
    smooth[~alone] = _smooth_line(counts[~alone], sigma, width[~alone], total)
    return smooth


def _smooth_line(counts: FloatArray, sigma: float, width: FloatArray, total: tuple[float, float] | None) -> FloatArray:
    size = max(float(counts.sum()), 1.0)
    number = np.cumsum(width) - (width + 1) / 2  # the mean code of each cell
    if len(counts) < 3:  # no second difference
        return counts.clip(0.0)
    start = project(counts, size) + Tuning.floor * sigma
    log = np.log(start / start.sum() / width)
    variance = sigma**2 + np.maximum(counts, 0.0)
    second = np.diff(np.eye(len(counts)), 2, axis=0)
    penalty = Tuning.smooth * second.T @ second
    for _ in range(Tuning.steps):
        p = _shares(log, width)
        slope = size * (np.diag(p) - np.outer(p, p))
        pull = slope @ ((counts - size * p) / variance) - penalty @ log
        curve = slope @ (slope / variance[:, None]) + penalty + 1e-8 * np.eye(len(log))
        if total is not None:
            seen, deviation = total
            along = slope @ number
            pull += along * (seen - size * (number @ p)) / deviation**2
            curve += np.outer(along, along) / deviation**2
        step = np.linalg.solve(curve, pull)
        longest = float(np.abs(step).max())
        log = log + step * min(1.0, Tuning.longest_step / max(longest, 1e-12))
        if longest < 1e-4:  # nothing moves any more
            break
    smooth: FloatArray = size * _shares(log, width)
    return smooth


def _shares(log: FloatArray, width: FloatArray) -> FloatArray:
    held = width * np.exp(log - log.max())
    share: FloatArray = held / held.sum()
    return share


def _spikes(counts: FloatArray, sigma: float, width: FloatArray) -> BoolArray:
    """Cells that hold far more than the density of both neighbours explains."""
    density = counts / width
    beside = np.maximum(np.append(density[1:], 0.0), np.append(0.0, density[:-1])).clip(0.0)
    expected = beside * width
    spikes: BoolArray = counts - expected > Tuning.spike * np.sqrt(sigma**2 + expected)
    return spikes


def rake_row_numbers(mixture: TableMixture, one_way: OneWays, names: Iterable[str]) -> TableMixture:
    """The mixture with just the smooth distribution in each of these columns, and all else given them as it was.

    A fit knows the many who have few rows; the few who have many hardly weigh in it.
    """
    for name in names:
        column, pieces = one_way.columns[name], mixture.columns[name]
        cells = np.array(column.grid.cells)
        wanted = column.counts[cells, 0].clip(0) + _LEAST
        held = mixture.marginal(name) + _LEAST
        theta = pieces.theta * (wanted / wanted.sum() / held)
        mass = theta.sum(axis=1)
        weights = mixture.weights * mass
        raked = replace(pieces, theta=theta / mass[:, None])
        mixture = replace(mixture, weights=weights / weights.sum(), columns={**mixture.columns, name: raked})
    return mixture
