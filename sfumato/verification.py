"""The arithmetic of a claim, recomputed from the bundle alone."""

import math
from dataclasses import dataclass

from sfumato.encoding import Encoder
from sfumato.privacy.accounting import Budget, delta_of, noise_scale
from sfumato.privacy.spending import UNITS_PER_MU_SQUARED, units_of
from sfumato.privacy.statement import item_of
from sfumato.receiver import Release
from sfumato.statistics import Cells, Stacked, Statistic, size_of


@dataclass(frozen=True)
class Check:
    """One thing that was recomputed, whether it agrees, and the numbers."""

    what: str
    holds: bool
    detail: str


def verify(release: Release) -> list[Check]:
    """Every check of a release whose bytes and hashes have been checked by opening it.

    What it shows: the noise that each measurement names is what its statistic, its adjacency and its mu ask for, and
    all of them together keep the (epsilon, delta) that the statement claims. What it cannot show: that the noise was
    drawn as named; for that trust the custodian's copy of the library, whose tests and audit are public.
    """
    return [
        _noise(release),
        _shape(release),
        _items(release),
        _budget(release),
        _claim(release),
        _schema(release),
        _seed(release),
    ]


def _noise(release: Release) -> Check:
    adjacency = release.statement.adjacency
    asked = [noise_scale(item.statistic.sensitivity(adjacency), item.mu) for item in release.measurements]
    holds = all(sigma == item.sigma for sigma, item in zip(asked, release.measurements, strict=True))
    return Check("noise of every measurement", holds, ", ".join(f"sigma {sigma:.6g}" for sigma in asked))


def _shape(release: Release) -> Check:
    sizes = [(size_of(item.statistic), item.values) for item in release.measurements]
    holds = all(values.shape == (size,) and values.dtype == "int64" for size, values in sizes)
    return Check("whole numbers, one for each cell", holds, f"{sum(size for size, _ in sizes)} values")


def _items(release: Release) -> Check:
    recomputed = tuple(item_of(item, release.statement.adjacency) for item in release.measurements)
    return Check(
        "statement lists every measurement", recomputed == release.statement.items, f"{len(recomputed)} measured"
    )


def _budget(release: Release) -> Check:
    statement = release.statement
    spent = sum(units_of(item.mu) for item in release.measurements)
    holds = spent == statement.units_spent and spent <= statement.units_budget
    detail = f"{spent / UNITS_PER_MU_SQUARED:.6g} of {statement.units_budget / UNITS_PER_MU_SQUARED:.6g} of mu squared"
    return Check("costs add up and stay in the budget", holds, detail)


def _claim(release: Release) -> Check:
    statement = release.statement
    delta = delta_of(statement.epsilon, math.sqrt(statement.units_budget / UNITS_PER_MU_SQUARED))
    holds = delta <= statement.delta and Budget(statement.epsilon, statement.delta).units == statement.units_budget
    detail = f"mu {statement.mu:.6g} gives delta {delta:.6g} at epsilon {statement.epsilon:g}"
    return Check("budget keeps the claimed epsilon and delta", holds, detail)


def _schema(release: Release) -> Check:
    columns = Encoder(release.schema).columns
    grids = [
        (name, grid)
        for item in release.measurements
        for cells in _cells(item.statistic)
        for name, grid in cells.grids.items()
    ]
    fits = all(name in columns and grid.codes == columns[name].size for name, grid in grids)
    labels = all(
        cells.label == release.schema.target for item in release.measurements for cells in _cells(item.statistic)
    )
    holds = fits and labels and release.statement.dataset == release.schema.name
    return Check("measurements follow the schema", holds, f"{len(columns)} columns")


def _cells(statistic: Statistic) -> list[Cells]:
    if isinstance(statistic, Stacked):
        return [cells for part in statistic.parts for cells in _cells(part)]
    return [statistic] if isinstance(statistic, Cells) else []


def _seed(release: Release) -> Check:
    return Check("noise from a cryptographic source", not release.statement.seeded, release.statement.label)
