"""The arithmetic of a claim, recomputed from the bundle alone."""

import math
from dataclasses import dataclass

import numpy as np

from sfumato.encoding import Encoder
from sfumato.measurement import Measurement
from sfumato.mechanisms.tables import plan_tables, release_tables
from sfumato.models.table_mixture import TableMixture
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

    What it shows: the noise that each measurement names is what its statistic, its adjacency and its mu ask for; all of
    them together keep the (epsilon, delta) that the statement claims; and the mechanism, run again on the recorded
    answers, asks the same questions and comes to the same model, so nothing else went into it. What it cannot show:
    that the noise was drawn as named. For that trust the custodian's copy of the library: its tests are public.
    """
    checks = (_noise, _shape, _items, _budget, _claim, _schema, _replay, _seed)
    return [check(release) for check in checks]


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


class _Record:
    """A door that answers with what the curator once answered, if the question is the same."""

    def __init__(self, measurements: tuple[Measurement, ...]) -> None:
        self.left = list(measurements)

    def measure(self, statistic: Statistic, mu: float) -> Measurement:
        """The next recorded answer."""
        answer = self.left.pop(0)
        if answer.statistic != statistic or answer.mu != mu:
            raise LookupError("another question was asked")
        return answer


def _replay(release: Release) -> Check:
    """Whether questions and model follow from schema, budget and answers alone."""
    what = "model follows from the measurements"
    record = _Record(release.measurements)
    try:
        budget = Budget(release.statement.epsilon, release.statement.delta)
        again = release_tables(record, plan_tables(release.schema, budget), lambda _: None)
    except (LookupError, ValueError) as error:
        return Check(what, holds=False, detail=str(error))
    holds = not record.left and _same(again, release.fitted) and release.statement.mechanism == "tables"
    return Check(what, holds, f"{len(again.weights)} components, {len(again.columns)} columns fitted anew")


def _same(one: TableMixture, other: TableMixture) -> bool:
    """Equal but for the last digits, which may differ between processors."""
    numbers = [(one.weights, other.weights), (np.array(one.size), np.array(other.size))]
    for name, pieces in one.columns.items():
        there = other.columns[name]
        numbers += [(getattr(pieces, part), getattr(there, part)) for part in ("starts", "stops", "noise", "theta")]
    return all(a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-12) for a, b in numbers)


def _seed(release: Release) -> Check:
    return Check("noise from a cryptographic source", not release.statement.seeded, release.statement.label)
