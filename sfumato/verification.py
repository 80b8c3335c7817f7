"""The arithmetic of a claim, recomputed from the bundle alone."""

import math
from dataclasses import dataclass

import numpy as np

from sfumato.encoding import Encoder
from sfumato.errors import SfumatoError
from sfumato.mechanisms.tables import Fit, plan_tables, refit_tables
from sfumato.models.table_mixture import TableMixture
from sfumato.privacy.accounting import Budget, delta_of, noise_scale
from sfumato.privacy.spending import UNITS_PER_MU_SQUARED, units_of
from sfumato.privacy.statement import item_of
from sfumato.receiver import Release
from sfumato.statistics import Cells, Gradient, Grid, Stacked, Statistic, size_of

_SAME = 0.02  # total variation that the last digits of another processor may add up to
_RECORDS = 2_000


@dataclass(frozen=True)
class Check:
    """One thing that was recomputed, whether it agrees, and the numbers."""

    what: str
    holds: bool
    detail: str


def verify(release: Release) -> list[Check]:
    """Every check of a release whose bytes and hashes have been checked by opening it.

    What it shows: the noise that each measurement names is what its statistic, its adjacency and its mu ask for; all of
    them together keep the (epsilon, delta) that the statement claims; the tables are those that schema, budget and
    earlier answers ask for; and a fresh fit to the recorded answers says the same of the table, so nothing else went
    into the model. What it cannot show:
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
    parts = [part for item in release.measurements for part in _parts(item.statistic)]
    fits = all(name in columns and grid.codes == columns[name].size for part in parts for name, grid in _grids(part))
    labels = {part.label if isinstance(part, Cells) else part.target for part in parts}
    holds = fits and labels == {release.schema.target} and release.statement.dataset == release.schema.name
    return Check("measurements follow the schema", holds, f"{len(columns)} columns")


def _parts(statistic: Statistic) -> list[Cells | Gradient]:
    if isinstance(statistic, Stacked):
        return [part for stacked in statistic.parts for part in _parts(stacked)]
    return [statistic] if isinstance(statistic, Cells | Gradient) else []


def _grids(part: Cells | Gradient) -> list[tuple[str, Grid]]:
    if isinstance(part, Cells):
        return list(part.grids.items())
    looked_up = [
        (name, grid)
        for lookup in part.model.features.lookups
        for name, grid in zip(lookup.columns, lookup.grids, strict=True)
    ]
    return [(part.target, part.grid), *looked_up]


def _replay(release: Release) -> Check:
    """Whether tables and model follow from schema, budget and answers alone."""
    what = "model follows from the measurements"
    statement = release.statement
    try:
        plan = plan_tables(release.schema, Budget(statement.epsilon, statement.delta), statement.adjacency)
        again = refit_tables(release.measurements, plan, Fit(**release.fitted.settings))
    except (SfumatoError, LookupError, ValueError, TypeError) as error:
        return Check(what, holds=False, detail=str(error))
    off = distance(again, release.fitted)
    holds = off <= _SAME and statement.mechanism == "tables"
    return Check(what, holds, f"{len(again.weights)} components fitted anew; farthest off by {off:.1g}")


def distance(one: TableMixture, other: TableMixture) -> float:
    """How far two models are apart: the largest total variation of a pair of columns, or of the target of a record.

    A fit takes many steps, so its last digits grow; what it says of the table must not differ.
    """
    if list(one.columns) != list(other.columns) or any(
        not np.array_equal(getattr(pieces, part), getattr(other.columns[name], part))
        for name, pieces in one.columns.items()
        for part in ("starts", "stops", "groups")
    ):
        return 1.0
    names = list(one.columns)
    pairs = [(first, second) for first, second in zip(names, names[1:] + names[:1], strict=True)]
    apart = [np.abs(one.pair(*pair) - other.pair(*pair)).sum() / 2 for pair in pairs]
    apart.append(abs(one.size / other.size - 1))
    if (one.labeller is None) != (other.labeller is None):
        return 1.0
    if one.labeller is not None:
        records = one.sample(_RECORDS, np.random.default_rng(0))
        told = [model.class_probabilities(records, one.labeller.target) for model in (one, other)]
        apart.append(float(np.abs(told[0] - told[1]).sum(axis=1).mean() / 2))
    return float(max(apart))


def _seed(release: Release) -> Check:
    return Check("noise from a cryptographic source", not release.statement.seeded, release.statement.label)
