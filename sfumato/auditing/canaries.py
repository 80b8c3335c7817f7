"""Many canaries in one table, each put in by a coin, one release, and guesses at all coins: see `one_run`."""

import numpy as np
import pyarrow as pa

from sfumato.auditing.findings import Finding, NotRun
from sfumato.auditing.gdp import weights_of
from sfumato.auditing.neighbours import Candidates, contributions
from sfumato.auditing.one_run import most_provable, mu_from_guesses
from sfumato.auditing.setting import Question, Setting
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray

_INDEPENDENT = 1e-3  # of a canary's own length: what must be left of it beside the others
_ROOM = 1.1
CANARIES = "canaries in one release"


def attack_canaries(
    setting: Setting, count: int, confidence: float, rng: np.random.Generator
) -> list[Finding] | NotRun:
    """A lower bound on mu from guesses about independent records in one release, by its measurements."""
    on, off = _choices(setting, count, rng)
    questions = setting.questions(setting.reference)
    chosen = independent(sum(_inner(question, on, off) for question in questions))  # type: ignore[arg-type]
    if most_provable(len(chosen), confidence) < _ROOM * setting.claim:
        reason = f"so small a schema has {len(chosen)} independent records, too few to disprove mu {setting.claim:.3g}"
        return NotRun(CANARIES, reason)
    on, off = (side.take(pa.array(chosen)) if len(side) else side for side in (on, off))
    coins = rng.integers(0, 2, len(chosen))
    guesses = _guess(setting, setting.crowd, on, off, coins)
    right = int((guesses == coins).sum())
    bound = mu_from_guesses(right, len(chosen), len(chosen), confidence)
    detail = f"{right} of {len(chosen)} coins guessed from one release"
    return [Finding(CANARIES, setting.claim, bound, confidence, detail)]


def _choices(setting: Setting, count: int, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    """For each canary the record if its coin is 1, and if it is 0: none, another record, or another label."""
    candidates = Candidates.of(setting, count, rng)
    match setting.adjacency:
        case Adjacency.ADD_REMOVE:
            return candidates.rows, candidates.rows.slice(0, 0)
        case Adjacency.REPLACE:
            return candidates.rows, candidates.rows.take(pa.array(np.arange(len(candidates.rows))[::-1]))
        case Adjacency.LABEL:
            firsts = np.flatnonzero(np.diff(candidates.group, prepend=-1))
            return candidates.rows.take(pa.array(firsts)), candidates.rows.take(pa.array(firsts + 1))


def _moves(question: Question, on: pa.Table, off: pa.Table) -> FloatArray:
    """What each coin moves, in units of the noise."""
    return contributions(question, on) - (contributions(question, off) if len(off) else 0.0)


def _inner(question: Question, on: pa.Table, off: pa.Table) -> FloatArray:
    moves = _moves(question, on, off)
    products: FloatArray = moves @ moves.T
    return products


def independent(inner: FloatArray) -> IntArray:
    """Places of vectors none of which is nearly a combination of those before it, by their inner products.

    A Cholesky factor, row by row, always with the vector of which most is left.
    """
    left, factor = np.diag(inner).copy(), np.zeros((len(inner), 0))
    chosen: list[int] = []
    whole = left.max(initial=0.0)
    while len(chosen) < len(inner):
        place = int(left.argmax())
        if left[place] <= _INDEPENDENT * whole:
            break
        column = (inner[:, place] - factor @ factor[place]) / np.sqrt(left[place])
        factor = np.column_stack((factor, column))
        left = left - column**2
        left[[*chosen, place]] = 0.0
        chosen.append(place)
    return np.array(chosen, dtype=np.int64)


def _guess(setting: Setting, base: pa.Table, on: pa.Table, off: pa.Table, coins: IntArray) -> IntArray:
    """The coins, by least squares: the attacker knows the table, the canaries and every answer."""
    table = _insert(setting, base, on, off, coins)
    none = _insert(setting, base, on, off, np.zeros_like(coins))
    inner, seen = np.zeros((len(coins), len(coins))), np.zeros(len(coins))
    for question in setting.questions(setting.release(table)):
        item = question.item
        moves = setting.records * _moves(question, on, off)
        with setting.open(question.schema, none) as (source,):
            known = source.sum(item.statistic)
        inner += moves @ moves.T
        seen += moves @ ((item.values - known) * weights_of(item.statistic) / item.sigma)
    found = np.linalg.lstsq(inner, seen, rcond=1e-9)[0]
    return np.asarray(found > 0.5, dtype=np.int64)


def _insert(setting: Setting, base: pa.Table, on: pa.Table, off: pa.Table, coins: IntArray) -> pa.Table:
    """The table with every canary as its coin says; where there is a unit, each is a person with all that count."""
    sides = [on if coin else off for coin in coins]
    rows = [side.slice(place, 1) if len(side) else side for place, side in enumerate(sides)]
    return setting.insert(base, [pa.concat_tables([row] * setting.records) for row in rows])
