"""What a receiver can tell: many whole releases of two neighbouring tables, and a test on what is published.

The attacker sees sampled rows and what the model answers, and nothing of the measurements. Features of each release go
into one score, whose direction and threshold are chosen on half of the releases and judged on the other half.
"""

import math
import time
from collections.abc import Callable

import numpy as np

from sfumato.auditing.candidates import Rows
from sfumato.auditing.findings import Finding, NotRun
from sfumato.auditing.gdp import most_provable, mu_lower_bound
from sfumato.auditing.neighbours import worst_pairs
from sfumato.auditing.setting import Setting
from sfumato.trusted.arrays import FloatArray

_FEWEST, _MOST = 24, 400
_ROOM = 1.2
RECEIVED = "released rows and answers"


def releases_needed(claim: float, confidence: float) -> int:
    """How many releases of each table could disprove a claim, if they never looked alike."""
    for count in range(_FEWEST, _MOST + 1, 4):
        if most_provable(count, confidence) > _ROOM * claim:
            return count
    return _MOST + 1


def attack_rows(
    setting: Setting[Rows],
    count: int,
    releases: int,
    seconds: float,
    confidence: float,
    rng: np.random.Generator,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Finding] | NotRun:
    """A lower bound on mu from what is published, by as many releases as a number and processor seconds allow.

    Where seconds are without limit, by no more releases than could disprove the claim.
    """
    needed = releases_needed(setting.claim, confidence)
    base, first = setting.crowd, setting.reference
    started = time.process_time()
    setting.release(base)
    each = time.process_time() - started
    affordable = needed if math.isinf(seconds) else int(seconds / each / 2)
    if needed > min(releases, affordable):
        wanted = f"{2 * needed}" if needed <= _MOST else f"more than {2 * _MOST}"
        return NotRun(RECEIVED, f"to disprove mu {setting.claim:.3g} takes {wanted} releases, too many for the time")
    runs = min(max(needed, affordable), releases)
    pair = worst_pairs(setting, setting.questions(first), setting.candidates(count, rng))[0]
    tables = [setting.insert(base, [side]) for side in (pair.there, pair.here)]
    sides: list[list[FloatArray]] = [[], []]
    for run in range(runs):
        progress(f"releasing invented tables ({2 * run} of {2 * runs})")
        for side, table in zip(sides, tables, strict=True):
            side.append(setting.describe(setting.release(table), (pair.here, pair.there), run))
    quiet, loud = (np.array(side) for side in sides)
    half = runs // 2
    scale = np.concatenate((quiet[:half], loud[:half])).std(axis=0) + 1e-12
    bound = mu_lower_bound(quiet / scale, loud / scale, confidence)
    detail = f"{runs} releases of each of two tables, {quiet.shape[1]} features of samples and answers"
    return [Finding(RECEIVED, setting.claim, bound, confidence, detail)]
