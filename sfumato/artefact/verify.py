"""The arithmetic of a claim, recomputed from the bundle alone."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from sfumato.artefact.release import Release
from sfumato.artefact.statement import hash_contents, item_of
from sfumato.errors import SfumatoError
from sfumato.fitting.mechanisms.registry import MECHANISMS
from sfumato.fitting.mechanisms.retraining import retrained
from sfumato.fitting.mechanisms.slices.fitting import OWN
from sfumato.fitting.models.model import Model
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget, delta_of, noise_scale
from sfumato.trusted.encoding import Batch
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED, units_of
from sfumato.trusted.statistics import size_of

_SAME = 0.02  # total variation that the last digits of another processor may add up to
_ROUNDING = 1e-6  # of the largest number: what passes for the same


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


def verify(release: Release, features: Any = None, ledger: Ledger | None = None) -> list[Check]:
    """Every check of a release whose bytes and hashes have been checked by opening it.

    features   the table of public features, where the release was fitted with them
    ledger     the custodian's ledger: was this very statement written down in it?

    What it shows: the noise that each measurement names is what its statistic, its adjacency and its mu ask for; all of
    them together keep the (epsilon, delta) that the statement claims; the tables are those that schema, budget and
    earlier answers ask for; and a fresh fit to the recorded answers says the same of the table, so nothing else went
    into the model. What it cannot show:
    that the noise was drawn as named. For that trust the custodian's copy of the library: its tests are public. What
    cannot be recomputed here is listed as not checked: a model that was fitted with public features, where `features`,
    that table, is not given; one that was trained by a generator of somebody's own; one whose numbers differ from those
    that this computer finds by more than rounding.
    """
    checks = (_noise, _shape, _items, _contents, _budget, _claim, _schema)
    found = [*(check(release) for check in checks), _replay(release, features), _seed(release)]
    return found if ledger is None else [*found, _written_down(release, ledger)]


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


def _contents(release: Release) -> Check:
    found = hash_contents(release.schema, release.header, release.measurements)
    holds = found == release.statement.contents
    return Check.of("statement is of this schema, header and measurements", holds, f"sha256 {found[:12]}")


def _written_down(release: Release, ledger: Ledger) -> Check:
    digest = release.statement.hash
    holds = any(digest in entry.detail for entry in ledger.entries())
    return Check.of("statement is in the ledger", holds, f"sha256 {digest[:12]}")


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
    if off > _SAME:
        return Check.of(what, holds=False, detail=f"fitted anew; farthest off by {off:.1g}")
    if not same_parts(again, release.fitted):
        detail = f"fitted anew; off by {off:.1g}, more than rounding: another kind of processor, or a change by hand"
        return Check(what, Outcome.UNCHECKED, detail)
    return Check.of(what, holds=True, detail="fitted anew; the same to rounding")


def same_parts(one: Model, other: Model) -> bool:
    """Whether two models are written down alike, numbers to a millionth of the largest beside them."""
    (content, table), (others, there) = one.to_parts(), other.to_parts()
    if table.schema != there.schema or table.num_rows != there.num_rows:
        return False
    columns = zip(table.columns, there.columns, strict=True)
    return _same(content, others) and all(_same(mine.to_pylist(), theirs.to_pylist()) for mine, theirs in columns)


def _same(one: Any, other: Any) -> bool:
    """Whether content is the same, lists of numbers to a millionth of their largest."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return False
        if not all(isinstance(item, int | float) for item in (*one, *other)):
            return all(map(_same, one, other))
        mine, theirs = np.array(one, dtype=np.float64), np.array(other, dtype=np.float64)
        return bool((np.abs(mine - theirs) <= _ROUNDING * np.abs(mine).max(initial=0.0)).all())
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_ROUNDING)
    return bool(one == other)


def _fit_again(release: Release, features: Batch | None) -> Model:
    statement, settings = release.statement, release.fitted.settings
    if "generator" in settings:
        return retrained(
            statement.mechanism, release.schema, statement.budget, statement.adjacency, release.measurements, settings
        )
    mechanism = MECHANISMS[statement.mechanism]
    plan = mechanism.plan(release.schema, statement.budget, statement.adjacency, settings)
    again = mechanism.refit(release.measurements, plan, settings, features)
    action = getattr(release.fitted, "action", None)
    return again if action is None else again.acting(action)  # type: ignore[attr-defined]


def _seed(release: Release) -> Check:
    return Check.of("noise from a cryptographic source", not release.statement.seeded, release.statement.label)
