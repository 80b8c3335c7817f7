"""Is every answer paid for, and every payment written down? Attempts to get more than the budget, and a recount."""

import math
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

from sfumato.artefact.bundle import open_release
from sfumato.artefact.check import Outcome
from sfumato.artefact.verify import verify
from sfumato.auditing.candidates import Rows
from sfumato.auditing.door import adopt, pairs_to_try
from sfumato.auditing.findings import Finding, NotRun
from sfumato.auditing.neighbours import spent_alone
from sfumato.auditing.setting import Setting
from sfumato.errors import BudgetExceededError
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED

_ENOUGH = 3.0  # times the claim: an attacker need not go on
_LEAST = 0.02  # of the claim: with less, that takes tens of thousands of answers
OVERDRAW, LEDGER, RECOUNT = "questions beyond the budget", "releases beyond the limit", "recount of a bundle"


def attack_filter(setting: Setting[Rows], count: int, rng: np.random.Generator) -> list[Finding] | NotRun:
    """Ask the question that tells most of one record again and again; the curator must refuse in time."""
    base = setting.crowd
    questions, (_, *pairs) = pairs_to_try(setting, count, rng)
    told = spent_alone(setting, questions, base, pairs)
    place = int(np.argmax(told))  # not of the largest mu: where all cells are merged, a count may tell nothing
    question, pair, each = questions[place], pairs[place], told[place]
    if each < _LEAST * setting.claim:
        return NotRun(OVERDRAW, "no question tells the invented records apart, however often it is asked")
    answered = 0
    with setting.curator(setting.insert(base, [pair.here])) as curator:
        adopt(curator, question.schema)
        try:
            while math.sqrt(answered) * each < _ENOUGH * setting.claim:
                curator.measure(question.item.statistic, question.item.mu)
                answered += 1
        except BudgetExceededError:
            pass
    detail = f"{answered} answers of mu {question.item.mu:.3g} before the curator refused; computed"
    return [Finding(OVERDRAW, setting.claim, math.sqrt(answered) * each, 1.0, detail)]


def attack_ledger(setting: Setting[Rows]) -> list[Finding]:
    """Release twice under a limit that allows it once; the ledger must refuse the second."""
    squares, made = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.sqlite")
        unit = setting.schema.unit.column if setting.schema.unit else None
        ledger.set_limit(setting.schema.name, setting.terms.budget, setting.adjacency, unit)
        try:
            for _ in range(2):
                squares += setting.release(setting.crowd, ledger).statement.mu ** 2
                made += 1
        except BudgetExceededError:
            pass
    detail = f"{made} of 2 releases went through a limit for one; computed"
    return [Finding(LEDGER, setting.claim, math.sqrt(squares), 1.0, detail)]


def attack_bundle(setting: Setting[Rows], rng: np.random.Generator) -> list[Finding]:
    """Write a release, open it, count again what its measurements cost, and verify every claim that it makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audited.sfumato"
        setting.release(setting.invent(rng)).save(path)
        release = open_release(path)
    checks = verify(release)
    failed = [check.what for check in checks if check.outcome == Outcome.FAILS]
    total = sum(Fraction(setting.records * item.mu) ** 2 for item in release.measurements)
    units = math.ceil(total * UNITS_PER_MU_SQUARED)
    bound = math.sqrt(units / UNITS_PER_MU_SQUARED)
    detail = f"{len(release.measurements)} measurements counted, {len(checks)} checks; computed"
    return [Finding(RECOUNT, setting.claim, bound, 1.0, detail, failure=", ".join(failed))]
