"""Many canaries in one table, each put in by a coin, one release, and guesses at all coins: see `one_run`."""

from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.auditing.candidates import Pair, Rows
from sfumato.auditing.findings import Finding, NotRun
from sfumato.auditing.gdp import weights_of
from sfumato.auditing.one_run import most_provable, mu_from_guesses
from sfumato.auditing.setting import Question, Setting
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray

_INDEPENDENT = 1e-3  # of a canary's own length: what must be left of it beside the others
_ROOM = 1.1
CANARIES = "canaries in one release"


def attack_canaries(
    setting: Setting[Rows], count: int, confidence: float, rng: np.random.Generator
) -> list[Finding] | NotRun:
    """A lower bound on mu from guesses about independent records in one release, by its measurements."""
    on, off = _choices(setting, count, rng)
    questions = setting.questions(setting.reference)
    inner = sum(moves @ moves.T for moves in _moves(setting, questions, on, off))
    chosen = independent(np.asarray(inner))
    if most_provable(len(chosen), confidence) < _ROOM * setting.claim:
        reason = f"so small a schema has {len(chosen)} independent records, too few to disprove mu {setting.claim:.3g}"
        return NotRun(CANARIES, reason)
    on, off = [on[place] for place in chosen], [off[place] for place in chosen]
    coins = rng.integers(0, 2, len(chosen))
    guesses, apart = _guess(setting, setting.crowd, on, off, coins)
    if mu_from_guesses(apart, len(coins), len(coins), confidence) < _ROOM * setting.claim:
        reason = f"its questions tell {apart} of {len(coins)} records apart, too few to disprove mu {setting.claim:.3g}"
        return NotRun(CANARIES, reason)
    right = int((guesses == coins).sum())
    bound = mu_from_guesses(right, len(chosen), len(chosen), confidence)
    detail = f"{right} of {len(chosen)} coins guessed from one release"
    return [Finding(CANARIES, setting.claim, bound, confidence, detail)]


def _choices(
    setting: Setting[Rows], count: int, rng: np.random.Generator
) -> tuple[Sequence[Rows], Sequence[Rows | None]]:
    """For each canary what is there if its coin is 1, and if it is 0: nothing, another record, or another label."""
    candidates = setting.canaries(count, rng)
    rows = candidates.rows
    match setting.adjacency:
        case Adjacency.ADD_REMOVE:
            return rows, [None] * len(rows)
        case Adjacency.REPLACE:
            return rows, rows[::-1]
        case Adjacency.LABEL:
            firsts = np.flatnonzero(np.diff(candidates.group, prepend=-1)).tolist()
            return [rows[place] for place in firsts], [rows[place + 1] for place in firsts]


def _moves(
    setting: Setting[Rows], questions: Sequence[Question], on: Sequence[Rows], off: Sequence[Rows | None]
) -> Iterator[FloatArray]:
    """What each coin moves each answer, in units of the noise."""
    others = [side for side in off if side is not None]
    if not others:
        yield from setting.contributions(questions, on)
        return
    for here, there in zip(setting.contributions(questions, on), setting.contributions(questions, others), strict=True):
        yield here - there


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


def _guess(
    setting: Setting[Rows], base: Rows, on: Sequence[Rows], off: Sequence[Rows | None], coins: IntArray
) -> tuple[IntArray, int]:
    """The coins, by least squares, and how many of them would be guessed right if there were no noise.

    The attacker knows the table, the canaries and every answer. What is asked follows from answers, so that another
    release than that of `attack_canaries` may look at less; what it does not tell apart is guessed at random.
    """
    table = _insert(setting, base, on, off, coins)
    none = _insert(setting, base, on, off, np.zeros_like(coins))
    inner, seen = np.zeros((len(coins), len(coins))), np.zeros(len(coins))
    questions = setting.questions(setting.release(table))
    for question, each in zip(questions, _moves(setting, questions, on, off), strict=True):
        item, moves = question.item, setting.records * each
        with setting.open(question.schema, none) as (source,):
            known = source.sum(item.statistic)
        inner += moves @ moves.T
        seen += moves @ ((item.values - known) * weights_of(item.statistic) / item.sigma)
    found, best = np.linalg.lstsq(inner, np.column_stack((seen, inner @ coins)), rcond=1e-9)[0].T > 0.5
    return found.astype(np.int64), int((best == coins).sum())


def _insert(
    setting: Setting[Rows], base: Rows, on: Sequence[Rows], off: Sequence[Rows | None], coins: IntArray
) -> Rows:
    """The table with every canary as its coin says; where there is a unit, each is a person with all that count."""
    pairs = [setting.repeat(Pair(here, there)) for here, there in zip(on, off, strict=True)]
    return setting.insert(base, [pair.here if coin else pair.there for pair, coin in zip(pairs, coins, strict=True)])
