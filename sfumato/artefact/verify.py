"""The arithmetic of a claim, recomputed from the bundle alone."""

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.artefact.bundle import open_release
from sfumato.artefact.check import SAME, Check, Outcome
from sfumato.artefact.families.release import FamilyRelease
from sfumato.artefact.families.verify import check_family_model, check_family_plan, check_family_schema
from sfumato.artefact.release import Release
from sfumato.artefact.same_parts import same_parts
from sfumato.artefact.statement import hash_contents, item_of
from sfumato.artefact.verification import Verification
from sfumato.errors import EarlierDesignError, LedgerError, RequestError, SfumatoError
from sfumato.fitting.completion.plan import CompletionPlan, plan_completion
from sfumato.fitting.completion.tuning import COMPLETION_TUNING
from sfumato.fitting.devices import CPU, check_device, torch_or_error
from sfumato.fitting.mechanisms.mechanism import find_mechanism, restore_constants, restore_plan
from sfumato.fitting.models.model import Model
from sfumato.fitting.models.table_mixture.model import TableMixture
from sfumato.fitting.replay import Replay
from sfumato.fitting.retraining.fit import OWN
from sfumato.fitting.retraining.retrain import retrain_model
from sfumato.fitting.tuning import changed_constants, stored_constants
from sfumato.trusted.budget import delta_of, noise_scale
from sfumato.trusted.encoding import Batch
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED, units_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import KeyCounts, size_of
from sfumato.trusted.thresholds import threshold

_SHOWN = 3  # changes that are named


Released = Release | FamilyRelease


def verify(
    release: Released | str | Path, features: Any = None, ledger: Ledger | str | Path | None = None
) -> Verification:
    """Every check of a release whose bytes and hashes have been checked by opening it.

    release    the release, or the path of its bundle
    features   the table of public features, where the release was fitted with them
    ledger     the custodian's ledger, or its path: was this very statement written down in it?

    Returns the checks, which are true together where all were made and hold. Raises `BundleError` for a path that holds
    no bundle.

    What it shows: the noise that each measurement names is what its statistic, its adjacency and its mu ask for; all of
    them together keep the (epsilon, delta) that the statement claims; the questions are those that the stored plan and
    earlier answers ask for; and a fresh fit to the recorded answers says the same of the table, so nothing else went
    into the model. What it cannot show:
    that the noise was drawn as named. For that trust the custodian's copy of the library: its tests are public. What
    cannot be recomputed here is listed as not checked: a model that was fitted with public features, where `features`,
    that table, is not given; one that was trained by a generator of somebody's own; one whose numbers differ from those
    that this computer finds by more than rounding.

    Example
        >>> bool(sfumato.verify(release))
        True
    """
    opened = release if isinstance(release, Release | FamilyRelease) else open_release(release)
    found = [check(opened) for check in (_noise, _shape, _items, _contents, _budget, _claim)]
    if isinstance(opened, FamilyRelease):
        found += [check_family_schema(opened), check_family_model(opened), _seed(opened), check_family_plan(opened)]
    else:
        found += [_schema(opened), _replay(opened, features), _seed(opened), _plan(opened)]
        if opened.plan.asked is not None:
            found += [_lists(opened), _completion(opened)]
    if ledger is not None:
        found.append(_written_down(opened, ledger if isinstance(ledger, Ledger) else Ledger(ledger)))
    return Verification(tuple(found))


def _noise(release: Released) -> Check:
    adjacency = release.statement.adjacency
    asked = [noise_scale(item.statistic.sensitivity(adjacency), item.mu) for item in release.measurements]
    holds = all(sigma == item.sigma for sigma, item in zip(asked, release.measurements, strict=True))
    return Check.of("noise of every measurement", holds, f"{len(asked)} scales follow from sensitivity and mu")


def _shape(release: Released) -> Check:
    sizes = [(size_of(item.statistic), item.values) for item in release.measurements]
    holds = all(values.shape == (size,) and values.dtype == "int64" for size, values in sizes)
    return Check.of("integers, one for each cell", holds, f"{sum(size for size, _ in sizes)} values")


def _items(release: Released) -> Check:
    statement = release.statement
    recomputed = tuple(item_of(item, statement.adjacency, statement.unit) for item in release.measurements)
    return Check.of("statement lists every measurement", recomputed == statement.items, f"{len(recomputed)} measured")


def _contents(release: Released) -> Check:
    found = hash_contents(release.schema, release.header, release.plan, release.measurements)
    holds = found == release.statement.contents
    return Check.of("statement is of this schema, header, plan and measurements", holds, f"sha256 {found[:12]}")


def _written_down(release: Released, ledger: Ledger) -> Check:
    digest, entries = release.statement.hash, ledger.entries()
    if not entries:
        raise LedgerError(f"the ledger {ledger.place} does not exist, or has no entries; check where it is")
    holds = any(digest in entry.detail for entry in entries)
    return Check.of("statement is in the ledger", holds, f"sha256 {digest[:12]}")


def _budget(release: Released) -> Check:
    statement = release.statement
    spent = statement.budget.records**2 * sum(units_of(item.mu) for item in release.measurements)
    holds = spent == statement.units_spent and spent <= statement.units_budget
    detail = f"{spent / statement.units_budget:.4%} of the budget is spent"
    return Check.of("costs add up and stay in the budget", holds, detail)


def _claim(release: Released) -> Check:
    statement = release.statement
    noise = delta_of(statement.epsilon, math.sqrt(statement.units_budget / UNITS_PER_MU_SQUARED))
    delta = noise + (statement.delta_keys or 0.0)
    holds = delta <= statement.delta and statement.budget.units == statement.units_budget
    detail = f"mu {statement.mu:.6g} gives delta {delta:.6g} at epsilon {statement.epsilon:g}"
    return Check.of("budget keeps the claimed epsilon and delta", holds, detail)


def _schema(release: Release) -> Check:
    fits = all(item.statistic.follows(release.measured) for item in release.modelling)
    fits = fits and all(item.statistic.follows(_asked(release)) for item in release.completing)
    statement = release.statement
    holds = fits and statement.dataset == release.schema.name and statement.unit == release.schema.unit
    return Check.of("measurements follow the schema", holds, f"{len(release.schema.by_name)} columns")


def _replay(release: Release, features: Any) -> Check:
    """Whether questions and model follow from schema, budget and answers alone, and from public features if any."""
    what = "model follows from the measurements"
    statement, settings = release.statement, release.fitted.settings
    needed = find_mechanism(statement.mechanism).needs_features(release.measured, statement.adjacency)
    if needed and features is None:
        return Check(what, Outcome.UNCHECKED, "it was fitted with public features; give their table with --features")
    if settings.get("generator") == OWN:
        return Check(what, Outcome.UNCHECKED, "it was trained by a generator that this library does not bring")
    if "generator" in settings:
        try:
            torch_or_error()
        except RequestError as error:
            return Check(what, Outcome.UNCHECKED, str(error))
    try:
        check_device(settings.get("device", CPU))
    except RequestError:
        return Check(what, Outcome.UNCHECKED, "it was fitted on a GPU, and there is none here")
    batch = None if features is None else release.encode(features)
    try:
        again = _fit_again(release, batch, settings)
    except EarlierDesignError as error:
        return Check(what, Outcome.UNCHECKED, str(error))
    except (SfumatoError, LookupError, ValueError, TypeError, ArithmeticError, AttributeError, RuntimeError) as error:
        return Check.of(what, holds=False, detail=str(error))
    off = again.distance(release.fitted) if type(again) is type(release.fitted) else 1.0
    if off > SAME and off > _apart_by_start(release, batch, again):
        return Check.of(what, holds=False, detail=f"fitted anew; farthest off by {off:.1g}")
    if not same_parts(again, release.fitted):
        detail = f"fitted anew; off by {off:.1g}, more than rounding: another kind of processor, or a change by hand"
        return Check(what, Outcome.UNCHECKED, detail)
    return Check.of(what, holds=True, detail="fitted anew; the same to rounding")


def _apart_by_start(release: Release, features: Batch | None, again: Model) -> float:
    """How far a fit from another public start leads elsewhere: what last digits do in a wide table is less.

    They grow with every step, and choose other records for the labeller to be fitted to.
    """
    settings = release.fitted.settings
    if not isinstance(again, TableMixture) or "generator" in settings:
        return 0.0
    other = _fit_again(release, features, {**settings, "start": 0 if settings.get("start", 0) else 1})
    return again.distance(other) if isinstance(other, TableMixture) else 0.0


def _fit_again(release: Release, features: Batch | None, settings: Mapping[str, Any]) -> Model:
    """Replay the release from its stored plan, with the constants of its day."""
    mechanism = find_mechanism(release.statement.mechanism)
    plan, constants = restore_plan(release.plan, mechanism.name, release.measured, release.statement.adjacency)
    if release.fit_constants is not None:
        constants = restore_constants(release.fit_constants, mechanism)
    with stored_constants(constants):
        if "generator" in settings:
            return retrain_model(mechanism, plan, release.measured, release.modelling, settings)
        again = mechanism.refit(release.modelling, plan, settings, features)
        action = getattr(release.fitted, "action", None)
        return again if action is None else again.choose_estimate(action)


def _plan(release: Release) -> Check:
    """Whether this version would plan the same. If not, nothing is wrong: a later version may know better."""
    what, statement = "this version would plan the same", release.statement
    mechanism = find_mechanism(statement.mechanism)
    try:
        rest = _completion_plan(release).rest
        plan = mechanism.build_plan(release.measured, rest, statement.adjacency, release.plan.settings)
    except (SfumatoError, TypeError, ValueError) as error:
        return Check(what, Outcome.DIFFERS, f"it would refuse: {error}")
    tuning = (*mechanism.tuning, *(COMPLETION_TUNING if release.plan.asked is not None else ()))
    changes = changed_constants(release.plan.constants, tuning)
    if json.dumps(plan.to_dict()) != json.dumps(release.plan.plan):
        changes.append("it would ask or spend otherwise")
    if not changes:
        return Check.of(what, holds=True, detail=f"{len(tuning)} sets of constants")
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    return Check(what, Outcome.DIFFERS, "; ".join(changes[:_SHOWN]) + more)


def _asked(release: Release) -> Schema:
    """The schema before anything was bought."""
    return release.schema if release.plan.asked is None else Schema.from_dict(dict(release.plan.asked))


def _completion_plan(release: Release) -> CompletionPlan:
    return plan_completion(_asked(release), release.statement.budget)


def _lists(release: Release) -> Check:
    """Whether every value that was found stands out as the threshold asks, and their deltas were set aside."""
    lists = [(item, item.statistic) for item in release.completing if isinstance(item.statistic, KeyCounts)]
    statement = release.statement
    holds = sum(Fraction(question.delta) for _, question in lists) <= Fraction(statement.delta_keys or 0.0)
    for item, question in lists:
        least = threshold(item.sigma, question.records, question.delta)
        holds = holds and question.records == statement.budget.records and bool((item.values > least).all())
    return Check.of("discovered values are above their thresholds", holds, f"{len(lists)} lists")


def _completion(release: Release) -> Check:
    """Whether the bounds and lists of the schema follow from what was measured of them, and from nothing else."""
    what = "bought bounds and lists follow from the measurements"
    mechanism, replay = find_mechanism(release.statement.mechanism), Replay(release.completing)
    try:
        with stored_constants(restore_constants(release.plan.constants, mechanism)):
            again = _completion_plan(release).ask(replay)
        replay.must_be_left(())
    except (SfumatoError, LookupError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
        return Check.of(what, holds=False, detail=str(error))
    return Check.of(what, again == release.schema, f"{len(release.completing)} measured")


def _seed(release: Released) -> Check:
    label = release.statement.label
    told = label if release.statement.seeded else f"{label}, says the statement; no file can show it"
    return Check.of("noise from a cryptographic source", not release.statement.seeded, told)
