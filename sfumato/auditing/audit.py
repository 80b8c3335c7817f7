"""The audit: attacks on what a schema and a budget would use, each beside faults that it must catch.

Nothing private is needed or read: the attacked tables are invented from the schema. The exact attacks compute the mu
between two tables from the questions that were asked; the others estimate a lower bound with stated confidence.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.auditing.accounting import attack_bundle, attack_filter, attack_ledger
from sfumato.auditing.canaries import attack_canaries
from sfumato.auditing.door import attack_noise
from sfumato.auditing.family_setting import FamilySetting
from sfumato.auditing.faults import FAULTS
from sfumato.auditing.findings import Finding, NotRun, worst
from sfumato.auditing.neighbours import attack_neighbours
from sfumato.auditing.released_rows import attack_rows
from sfumato.auditing.result import AuditResult, Trial
from sfumato.auditing.setting import Setting
from sfumato.auditing.table_setting import TableSetting
from sfumato.errors import BudgetError, RequestError, SfumatoError
from sfumato.fitting.mechanisms.choice import Settings
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import DEFAULT_DELTA
from sfumato.trusted.schema import FamilySchema, Schema
from sfumato.trusted.schema.file import read_schema

Progress = Callable[[str], None]
Findings = list[Finding] | NotRun
_CONFIDENCE = 1 - 2e-4  # of each estimated bound; four of them leave less than 1e-3 open
_PERSONS_RECORDS = 2  # how many count where the schema has no unit and an audit tries one


@dataclass(frozen=True)
class Effort:
    """How much an audit does.

    candidates    records that are tried as the worst one
    transcripts   releases whose questions are searched
    draws         answers of the curator
    releases      of each of two tables, in no more than `seconds` of processor time
    canaries      records that are tried as canaries
    """

    candidates: int
    transcripts: int
    draws: int
    releases: int
    seconds: float
    canaries: int


QUICK, WHOLE = Effort(80, 1, 20_000, 48, 50.0, 160), Effort(300, 2, 100_000, 200, 150.0, 400)


@dataclass(frozen=True)
class Attack:
    """A way to attack, and the faults that it must see."""

    name: str
    run: Callable[[Setting[Any], Effort, np.random.Generator, Progress], Findings]
    faults: tuple[str, ...]


_RECORDS = (
    "sensitivity understated by sqrt(2)",
    "every record counted twice",
    "codes that depend on other rows",
    "an error for values that are not allowed",
)
_PERSONS = ("all records of a person count", "a person priced as one record")
FAMILY_FAULTS = ("every row of a person weighs in full", "a key of two persons leads to one of them")


def _attack_persons(setting: Setting[Any], effort: Effort, rng: np.random.Generator, _: Progress) -> Findings:
    """The same columns with a unit, where the schema itself has none."""
    assert isinstance(setting, TableSetting)  # noqa: S101 - see `attacks_for`
    by_person = setting.with_unit(_PERSONS_RECORDS)
    try:
        return attack_neighbours(by_person, effort.candidates // 2, effort.transcripts, rng)
    except (BudgetError, RequestError) as error:  # the schema cannot have a unit, or epsilon is too small for it
        return NotRun("worst-case persons", str(error))


ATTACKS = (
    Attack("worst-case records", lambda s, e, rng, _: attack_neighbours(s, e.candidates, e.transcripts, rng), _RECORDS),
    Attack("worst-case persons", _attack_persons, _PERSONS),
    Attack(
        "noise of the curator",
        lambda s, e, rng, _: attack_noise(s, e.candidates, e.draws, _CONFIDENCE, rng),
        ("noise at 70 % of its scale", "the same noise in every answer"),
    ),
    Attack(
        "released rows and answers",
        lambda s, e, rng, say: attack_rows(s, e.candidates, e.releases, e.seconds, _CONFIDENCE, rng, say),
        ("model fitted to exact sums",),
    ),
    Attack(
        "canaries in one release",
        lambda s, e, rng, _: attack_canaries(s, e.canaries, _CONFIDENCE, rng),
        ("no noise",),
    ),
    Attack(
        "questions beyond the budget",
        lambda s, e, rng, _: attack_filter(s, e.candidates, rng),
        ("filter that forgets what was spent",),
    ),
    Attack(
        "releases beyond the limit",
        lambda s, *_: attack_ledger(s),
        ("nothing entered in the ledger",),
    ),
    Attack(
        "recount of a bundle",
        lambda s, _, rng, __: attack_bundle(s, rng),
        ("a question answered twice, paid once",),
    ),
)
"""All attacks, in order. Where the schema has a unit, the worst records are persons already."""


def attacks_for(setting: Setting[Any]) -> tuple[Attack, ...]:
    """Where the promise is for persons, the first attack changes persons, and must see what is wrong with them too."""
    first, persons, *rest = ATTACKS
    if isinstance(setting.schema, FamilySchema):
        shared = setting.schema.has_shared_keys
        return (Attack(persons.name, first.run, (*first.faults, *FAMILY_FAULTS[: 1 + shared])), *rest)
    if not setting.by_person:
        return ATTACKS
    return (Attack(persons.name, first.run, (*first.faults, *persons.faults)), *rest)


def audit(
    schema: Schema | FamilySchema | str | Path,
    *,
    epsilon: float,
    delta: float = DEFAULT_DELTA,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
    mechanism: str = "auto",
    components: int | None = None,
    anonymize: str | None = None,
    approximate: str | None = None,
    adapt: str | None = None,
    share: float | None = None,
    quick: bool = False,
    faults: Sequence[str] | None = None,
    seed: int | None = None,
    progress: Progress = lambda _: None,
) -> AuditResult:
    """Attack the mechanism that this schema and budget would use, on invented tables, and compare with the claim.

    Arguments
        schema      the public knowledge of a table or a family, or the path of its YAML file; no data is needed
        epsilon, delta, adjacency, mechanism   as in `sfumato.release`
        components, anonymize, approximate, adapt, share   as in `sfumato.release`: what is chosen is attacked
        quick       fewer records, answers and releases: two minutes on two cores (a family three), instead of ten
        faults      the names of the faults to inject, by default all that there are for such a schema
        seed        of the invented tables and coins, for tests; the noise is fresh in any case
        progress    called with a few words when a stage begins
    Returns
        An `AuditResult`: every lower bound beside its claim, every fault and whether it was caught. An honest library
        fails with probability below 1e-3.
    Raises
        An error of `sfumato.errors` for a schema or terms that `release` would refuse, too, and for unknown faults.
    Edge cases
        While it runs, faults are injected into this process: make no real release in another thread.
    Example
        >>> result = sfumato.audit(SCHEMA, epsilon=1.0, quick=True, faults=[])
        >>> result.passes
        True
    """
    if adjacency not in list(Adjacency):
        raise RequestError(f"adjacency is {adjacency!r}; use one of {', '.join(Adjacency)}")
    known = schema if isinstance(schema, Schema | FamilySchema) else read_schema(schema)
    kind = FamilySetting if isinstance(known, FamilySchema) else TableSetting
    settings = Settings(components=components, anonymize=anonymize, approximate=approximate, adapt=adapt, share=share)
    setting: Setting[Any] = kind(known, epsilon, delta, Adjacency(adjacency), mechanism, settings)  # type: ignore[arg-type]
    wanted, started = _known_faults(setting, faults), time.perf_counter()
    rng, effort = np.random.default_rng(seed), QUICK if quick else WHOLE
    progress("one release of an invented table")
    reference = setting.reference  # before any fault, and what it refuses is refused here
    findings, trials = _run(setting, effort, rng, wanted, progress)
    return AuditResult(
        dataset=known.name,
        mechanism=reference.statement.mechanism,
        settings=reference.plan.choices,
        adjacency=setting.adjacency,
        epsilon=setting.terms.budget.epsilon,
        delta=setting.terms.budget.delta,
        claim=setting.claim,
        by_person=setting.by_person,
        quick=quick,
        seconds=time.perf_counter() - started,
        findings=tuple(findings),
        trials=tuple(trials),
    )


def _known_faults(setting: Setting[Any], faults: Sequence[str] | None) -> set[str]:
    known = [name for attack in attacks_for(setting) for name in attack.faults]
    unknown = set(faults or ()) - set(known)
    if unknown:
        raise RequestError(f"no fault is called {sorted(unknown)[0]!r}; use some of: {'; '.join(known)}")
    return set(known if faults is None else faults)


def _run(
    setting: Setting[Any], effort: Effort, rng: np.random.Generator, wanted: set[str], progress: Progress
) -> tuple[list[Finding | NotRun], list[Trial]]:
    """Every attack on the library as it is, then with each fault."""
    findings: list[Finding | NotRun] = []
    trials: list[Trial] = []
    for attack in attacks_for(setting):
        progress(f"attack: {attack.name}")
        found = attack.run(setting, effort, rng, progress)
        findings += [found] if isinstance(found, NotRun) else found
        for name in filter(wanted.__contains__, attack.faults):
            progress(f"attack: {attack.name}; fault: {name}")
            trials.append(
                Trial(
                    FAULTS[name],
                    found if isinstance(found, NotRun) else _try(attack, name, setting, effort, rng, progress),
                )
            )
    return findings, trials


def _try(
    attack: Attack, fault: str, setting: Setting[Any], effort: Effort, rng: np.random.Generator, progress: Progress
) -> Finding | NotRun:
    """The attack's sharpest finding while the fault is in. What ran without it is run with it, whatever the time."""
    try:
        with FAULTS[fault].inject():
            found = attack.run(setting, replace(effort, seconds=math.inf), rng, progress)
    except SfumatoError:
        detail = "an invented table, without anything that the schema does not allow, could not be released"
        return Finding(attack.name, setting.claim, 0.0, 1.0, detail, failure="a release stops with an error")
    return found if isinstance(found, NotRun) else worst(found)
