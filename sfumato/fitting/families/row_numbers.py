"""How many rows persons have: a smooth distribution from noisy counts, and from the noisy number of all rows.

Few persons have many rows, but they hold many of all rows. Counts of them drown in noise, and what is cut off below
zero makes too many of those that are left. So the logarithm of the distribution is drawn to a smooth line (second
differences), which noise cannot bend, and the number of all rows is measured by itself. Post-processing.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sfumato.fitting.mechanisms.counts.estimation import project
from sfumato.fitting.mechanisms.counts.grids import is_long
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.plan import CountsPlan
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.measurement import CuratorLike
from sfumato.trusted.statistics import CodeSums

_LEAST = 1e-12


class Tuning(TuningConstants, group="families.row_numbers"):
    """See `sfumato.fitting.tuning`."""

    smooth = 1.0  # weight of squared second differences of the log probabilities
    floor = 0.5  # noise deviations that every count has at the start
    steps = 100
    longest_step = 1.0


def measure_totals(
    curator: CuratorLike, plan: CountsPlan, names: tuple[str, ...], mu: float
) -> dict[str, tuple[float, float]]:
    """The noisy sum of the codes of each column, and the deviation of its noise."""
    asked = CodeSums({name: plan.codes[name].size - 1 for name in names})
    measured = curator.measure(asked, mu)
    noise = [measured.sigma / block.weight for block in asked.blocks]
    return {name: (float(value), sd) for name, value, sd in zip(names, measured.values, noise, strict=True)}


def smooth_row_numbers(plan: CountsPlan, one_way: OneWays, totals: dict[str, tuple[float, float]]) -> OneWays:
    """The tables with the numbers of rows made smooth; `totals` are of those whose sum was measured."""
    columns = {
        name: _smoothed(column, totals.get(name)) if name in plan.octaves and not is_long(plan.codes[name]) else column
        for name, column in one_way.columns.items()
    }
    return replace(one_way, columns=columns)


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


def _smoothed(column: OneWay, total: tuple[float, float] | None) -> OneWay:
    """A column of numbers with smooth counts; a null keeps its own."""
    values = len(column.groups[column.groups < column.ordered])
    if values < 3:
        return column
    counts = column.counts.copy()
    counts[:values, 0] = smooth_counts(column.counts[:values, 0], column.sigma, total)
    return replace(column, counts=counts)


def smooth_counts(counts: FloatArray, sigma: float, total: tuple[float, float] | None = None) -> FloatArray:
    """Counts of 0, 1, 2 ... that are positive, smooth where noise decides, and add up to as many records.

    The likeliest under Gaussian noise and sampling, less the penalty for second differences, by Newton's method on the
    log probabilities. `total` is the noisy sum of the numbers themselves, and the deviation of its noise.
    """
    size, number = max(float(counts.sum()), 1.0), np.arange(len(counts))
    start = project(counts, size) + Tuning.floor * sigma
    log = np.log(start / start.sum())
    variance = sigma**2 + np.maximum(counts, 0.0)
    second = np.diff(np.eye(len(counts)), 2, axis=0)
    penalty = Tuning.smooth * second.T @ second
    for _ in range(Tuning.steps):
        p = np.exp(log - np.logaddexp.reduce(log))
        slope = size * (np.diag(p) - np.outer(p, p))
        pull = slope @ ((counts - size * p) / variance) - penalty @ log
        curve = slope @ (slope / variance[:, None]) + penalty + 1e-8 * np.eye(len(log))
        if total is not None:
            seen, deviation = total
            along = slope @ number
            pull += along * (seen - size * (number @ p)) / deviation**2
            curve += np.outer(along, along) / deviation**2
        step = np.linalg.solve(curve, pull)
        step *= min(1.0, Tuning.longest_step / max(float(np.abs(step).max()), 1e-12))
        log = log + step
    smooth: FloatArray = size * np.exp(log - np.logaddexp.reduce(log))
    return smooth
