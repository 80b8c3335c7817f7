"""Is the noise that the curator adds as large as it claims? Many answers to the questions of one release, and a test.

The attacker knows both tables, so the coordinates in which their sums differ, weighed by the difference, are all that
matters. Tables differ by a group of g records (or persons): mu-GDP for one is g mu-GDP for g (Dong, Roth and Su 2019,
theorem 2.14), so a bound on the group, over g, is one on mu, and a sharper one than a single record gives.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.auditing.candidates import Pair, Rows
from sfumato.auditing.findings import Finding, NotRun
from sfumato.auditing.gdp import answers, echo, most_provable, mu_lower_bound, weights_of
from sfumato.auditing.neighbours import spent_alone, worst_pairs
from sfumato.auditing.setting import Question, Setting
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.curator import Curator
from sfumato.trusted.schema import FamilySchema, Schema

_MOST_PLACES = 200
_GROUP_MU = 3.0  # where a test of a few thousand draws is sharpest, relative to mu
_ROOM = 1.3
ALL, ONE = "noise of the curator, all questions", "noise of the curator, one question"


@dataclass(frozen=True)
class Answers:
    """Many answers of the curator on two tables that differ by a group.

    quiet, loud   of each draw and question, the answer along the difference of the tables (draws x questions), without
                  and with the group; then a number in which they do not differ
    group         how many records, or persons, the tables differ by
    claim         the mu of all these questions, for one of the group
    """

    quiet: FloatArray
    loud: FloatArray
    group: int
    claim: float

    def bound(self, confidence: float) -> float:
        """A lower bound on mu for one of the group."""
        return mu_lower_bound(self.quiet, self.loud, confidence) / self.group


def group_size(claim: float) -> int:
    """How many records tables should differ by."""
    return max(1, round(_GROUP_MU / claim))


def draw_answers(setting: Setting[Rows], questions: Sequence[Question], pair: Pair[Rows], draws: int) -> Answers:
    """Many answers to some questions of one release, by the real curator, for a group of changes like this one."""
    claim = setting.records * math.hypot(*(one.item.mu for one in questions))
    group = group_size(claim)
    changes = [[side] * group for side in (pair.there, pair.here)]
    tables = [setting.insert(setting.crowd, change) for change in changes]
    differences = [_difference(setting, question, tables) for question in questions]
    quiet, loud = (_scores(setting, table, questions, differences, draws) for table in tables)
    return Answers(quiet, loud, group, claim)


def pairs_to_try(
    setting: Setting[Rows], count: int, rng: np.random.Generator
) -> tuple[list[Question], list[Pair[Rows]]]:
    """The questions of a release, the worst of `count` changes for all of them, and the worst for each."""
    questions = setting.questions(setting.reference)
    questions = [one for one in questions if one.schema is questions[-1].schema]
    found = worst_pairs(setting, questions, setting.candidates(count, rng))
    return questions, [setting.repeat(pair) for pair in found]


def adopt(curator: Curator, schema: Schema | FamilySchema) -> None:
    """From here on records are measured by the schema of some questions, in which all values are known."""
    if isinstance(schema, Schema):
        curator.adopt(schema)


def attack_noise(
    setting: Setting[Rows], count: int, draws: int, confidence: float, rng: np.random.Generator
) -> list[Finding] | NotRun:
    """Lower bounds on mu from many answers on two tables, to all questions and to one.

    The one is that whose sum moves by the largest share of what it claims.
    """
    if most_provable(draws, confidence) < _ROOM * group_size(setting.claim) * setting.claim:
        return NotRun(ALL, f"mu {setting.claim:.3g} is more than {draws:,} answers could disprove")
    questions, (pair, *pairs) = pairs_to_try(setting, count, rng)
    moves = spent_alone(setting, questions, setting.crowd, pairs)
    sharpest = int(np.argmax([move / one.item.mu for move, one in zip(moves, questions, strict=True)]))
    whole = draw_answers(setting, questions, pair, draws)
    alone = draw_answers(setting, [questions[sharpest]], pairs[sharpest], draws)
    detail = f"{draws:,} answers to each of {len(questions)} questions, on tables that differ by {whole.group}"
    title = questions[sharpest].item.statistic.title
    return [
        Finding(ALL, whole.claim, whole.bound(confidence), confidence, detail),
        Finding(ONE, alone.claim, alone.bound(confidence), confidence, f"{draws:,} answers; {title}"),
    ]


def _difference(setting: Setting[Rows], question: Question, tables: Sequence[Rows]) -> FloatArray:
    """How far apart the tables' sums are, in units of the noise."""
    statistic = question.item.statistic
    with setting.open(question.schema, *tables) as sources:
        there, here = (source.sum(statistic) for source in sources)
    apart: FloatArray = (here - there) * weights_of(statistic) / question.item.sigma
    return apart


def _scores(
    setting: Setting[Rows], table: Rows, questions: Sequence[Question], differences: Sequence[FloatArray], draws: int
) -> FloatArray:
    """Of each draw and question, the answer along the known difference (draws x questions); then one that is still.

    That is a number which does not move, noise alone: where other answers have the same noise, it tells theirs. Zero
    where every number moves.
    """
    scores = np.zeros((draws, len(questions) + 1))
    with setting.curator(table) as curator:
        adopt(curator, questions[-1].schema)
        for place, (question, apart) in enumerate(zip(questions, differences, strict=True)):
            moved = max(1, np.count_nonzero(apart))
            order = np.argsort(-np.abs(apart), kind="stable")
            largest, still = order[: min(moved, _MOST_PLACES)], order[moved:][:1]
            said = echo(question.item.statistic, (*largest.tolist(), *still.tolist()), draws)
            found = answers(curator.measure(said, question.item.mu))
            scores[:, place] = found[:, : len(largest)] @ apart[largest]
            if len(still):
                scores[:, -1] = found[:, -1]
    return scores
