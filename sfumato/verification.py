"""The arithmetic of a claim, recomputed from the bundle alone."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sfumato.encoding import Batch
from sfumato.errors import SfumatoError
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.mechanisms.retraining import retrained
from sfumato.mechanisms.slices.fitting import OWN
from sfumato.models.model import Model
from sfumato.privacy.accounting import Budget, delta_of, noise_scale
from sfumato.privacy.adjacency import Adjacency
from sfumato.privacy.spending import UNITS_PER_MU_SQUARED, units_of
from sfumato.privacy.statement import item_of
from sfumato.receiver import Release
from sfumato.statistics import size_of

_SAME = 0.02  # total variation that the last digits of another processor may add up to


class Outcome(StrEnum):
    """What became of a check. What could not be recomputed is neither right nor wrong, and never counts as right."""

    HOLDS = "holds"
    FAILS = "fails"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Check:
    """One thing to recompute, whether it agrees, and the numbers, or why it could not be recomputed."""

    what: str
    outcome: Outcome
    detail: str

    @classmethod
    def of(cls, what: str, holds: bool, detail: str) -> "Check":
        """A check that was made."""
        return cls(what, Outcome.HOLDS if holds else Outcome.FAILS, detail)

    @property
    def holds(self) -> bool:
        """Whether it was made, and agrees."""
        return self.outcome == Outcome.HOLDS


def verify(release: Release, features: Any = None) -> list[Check]:
    """Every check of a release whose bytes and hashes have been checked by opening it.

    What it shows: the noise that each measurement names is what its statistic, its adjacency and its mu ask for; all of
    them together keep the (epsilon, delta) that the statement claims; the tables are those that schema, budget and
    earlier answers ask for; and a fresh fit to the recorded answers says the same of the table, so nothing else went
    into the model. What it cannot show:
    that the noise was drawn as named. For that trust the custodian's copy of the library: its tests are public. What
    cannot be recomputed here is listed as not checked: a model that was fitted with public features, where `features`,
    that table, is not given; one that was trained by a generator of somebody's own.
    """
    checks = (_noise, _shape, _items, _budget, _claim, _schema)
    return [*(check(release) for check in checks), _replay(release, features), _seed(release)]


def _noise(release: Release) -> Check:
    adjacency = release.statement.adjacency
    asked = [noise_scale(item.statistic.sensitivity(adjacency), item.mu) for item in release.measurements]
    holds = all(sigma == item.sigma for sigma, item in zip(asked, release.measurements, strict=True))
    return Check.of("noise of every measurement", holds, ", ".join(f"sigma {sigma:.6g}" for sigma in asked))


def _shape(release: Release) -> Check:
    sizes = [(size_of(item.statistic), item.values) for item in release.measurements]
    holds = all(values.shape == (size,) and values.dtype == "int64" for size, values in sizes)
    return Check.of("whole numbers, one for each cell", holds, f"{sum(size for size, _ in sizes)} values")


def _items(release: Release) -> Check:
    statement = release.statement
    recomputed = tuple(item_of(item, statement.adjacency, statement.unit) for item in release.measurements)
    return Check.of("statement lists every measurement", recomputed == statement.items, f"{len(recomputed)} measured")


def _budget(release: Release) -> Check:
    statement = release.statement
    spent = statement.budget.records**2 * sum(units_of(item.mu) for item in release.measurements)
    holds = spent == statement.units_spent and spent <= statement.units_budget
    detail = f"{spent / UNITS_PER_MU_SQUARED:.6g} of {statement.units_budget / UNITS_PER_MU_SQUARED:.6g} of mu squared"
    return Check.of("costs add up and stay in the budget", holds, detail)


def _claim(release: Release) -> Check:
    statement = release.statement
    delta = delta_of(statement.epsilon, math.sqrt(statement.units_budget / UNITS_PER_MU_SQUARED))
    holds = delta <= statement.delta and statement.budget.units == statement.units_budget
    if statement.before:
        together = statement.before.units + statement.units_budget
        holds = holds and together <= Budget(statement.before.epsilon, statement.delta).units
    detail = f"mu {statement.mu:.6g} gives delta {delta:.6g} at epsilon {statement.epsilon:g}"
    return Check.of("budget keeps the claimed epsilon and delta", holds, detail)


def _schema(release: Release) -> Check:
    fits = all(item.statistic.follows(release.schema) for item in release.measurements)
    statement = release.statement
    holds = fits and statement.dataset == release.schema.name and statement.unit == release.schema.unit
    return Check.of("measurements follow the schema", holds, f"{len(release.schema.by_name)} columns")


def _replay(release: Release, features: Any) -> Check:
    """Whether questions and model follow from schema, budget and answers alone, and from public features if any."""
    what = "model follows from the measurements"
    statement, settings = release.statement, release.fitted.settings
    with_features = statement.mechanism == "mixture" and statement.adjacency == Adjacency.LABEL
    if with_features and release.schema.public_features and features is None:
        return Check(what, Outcome.UNCHECKED, "it was fitted with public features; give their table with --features")
    if settings.get("generator") == OWN:
        return Check(what, Outcome.UNCHECKED, "it was trained by a generator that this library does not bring")
    batch = None if features is None else release.encoded(features)
    try:
        again = _fit_again(release, batch)
    except (SfumatoError, LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RuntimeError) as error:
        return Check.of(what, holds=False, detail=str(error))
    off = again.distance(release.fitted) if type(again) is type(release.fitted) else 1.0
    return Check.of(what, off <= _SAME, f"fitted anew; farthest off by {off:.1g}")


def _fit_again(release: Release, features: Batch | None) -> Model:
    statement, settings = release.statement, release.fitted.settings
    if "generator" in settings:
        return retrained(release.schema, statement, release.measurements, settings)
    mechanism = MECHANISMS[statement.mechanism]
    plan = mechanism.plan(release.schema, statement.budget, statement.adjacency, settings)
    return mechanism.refit(release.measurements, plan, settings, features)


def _seed(release: Release) -> Check:
    return Check.of("noise from a cryptographic source", not release.statement.seeded, release.statement.label)
