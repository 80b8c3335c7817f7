"""Is the noise that the curator adds as large as it claims? Many answers to the questions of one release, and a test.

The attacker knows both tables, so the coordinates in which their sums differ, weighed by the difference, are all that
matters. Tables differ by a group of g records (or persons): mu-GDP for one is g mu-GDP for g (Dong, Roth and Su 2019,
theorem 2.14), so a bound on the group, over g, is one on mu, and a sharper one than a single record gives.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.auditing.findings import Finding, NotRun
from sfumato.auditing.gdp import Echo, Excerpt, answers, most_provable, mu_lower_bound, weights_of
from sfumato.auditing.neighbours import Candidates, bases, worst_pairs
from sfumato.auditing.setting import Question, Setting
from sfumato.trusted.arrays import FloatArray

_MOST_PLACES = 64
_GROUP_MU = 3.0  # where a test of a few thousand draws is sharpest, relative to mu
_ROOM = 1.3
ALL, ONE = "noise of the curator, all questions", "noise of the curator, one question"


@dataclass(frozen=True)
class Answers:
    """Many answers of the curator on two tables that differ by a group.

    quiet, loud   of each draw and question, the answer along the difference of the tables (draws x questions), without
                  and with the group
    claims        the mu of each question, for one of the group
    sharpest      the question whose sums move by most, as a share of what it claims
    """

    quiet: FloatArray
    loud: FloatArray
    group: int
    claims: tuple[float, ...]
    titles: tuple[str, ...]
    sharpest: int


def group_size(claim: float) -> int:
    """How many records the tables differ by."""
    return max(1, round(_GROUP_MU / claim))


def draw_answers(setting: Setting, count: int, draws: int, rng: np.random.Generator) -> Answers:
    """The worst of `count` candidates, and many answers to every question of one release, by the real curator."""
    _, base = bases(setting, rng)
    questions = setting.questions(setting.release(base))
    questions = [one for one in questions if one.schema is questions[-1].schema]
    pair = worst_pairs(setting, questions, Candidates.of(setting, count, rng))[0].repeat(setting.records)
    group = group_size(setting.claim)
    tables = [setting.insert(base, [side] * group) for side in (pair.there, pair.here)]
    differences = [_difference(setting, question, tables) for question in questions]
    quiet, loud = (_scores(setting, table, questions, differences, draws) for table in tables)
    claims = tuple(setting.records * one.item.mu for one in questions)
    shares = [np.linalg.norm(one) / claim for one, claim in zip(differences, claims, strict=True)]
    titles = tuple(one.item.statistic.title for one in questions)
    return Answers(quiet, loud, group, claims, titles, int(np.argmax(shares)))


def attack_noise(
    setting: Setting, count: int, draws: int, confidence: float, rng: np.random.Generator
) -> list[Finding] | NotRun:
    """Lower bounds on mu from many answers of the real curator on two tables, to all questions and to the sharpest."""
    if most_provable(draws, confidence) < _ROOM * group_size(setting.claim) * setting.claim:
        return NotRun(ALL, f"mu {setting.claim:.3g} is more than {draws:,} answers could disprove")
    found = draw_answers(setting, count, draws, rng)
    one = [found.sharpest]
    whole = mu_lower_bound(found.quiet, found.loud, confidence) / found.group
    alone = mu_lower_bound(found.quiet[:, one], found.loud[:, one], confidence) / found.group
    detail = f"{draws:,} answers to each of {len(found.claims)} questions, on tables that differ by {found.group}"
    return [
        Finding(ALL, math.hypot(*found.claims), whole, confidence, detail),
        Finding(ONE, found.claims[one[0]], alone, confidence, f"{draws:,} answers; {found.titles[one[0]]}"),
    ]


def _difference(setting: Setting, question: Question, tables: Sequence[pa.Table]) -> FloatArray:
    """How far apart the tables' sums are, in units of the noise."""
    statistic = question.item.statistic
    with setting.open(question.schema, *tables) as sources:
        there, here = (source.sum(statistic) for source in sources)
    apart: FloatArray = (here - there) * weights_of(statistic) / question.item.sigma
    return apart


def _scores(
    setting: Setting, table: pa.Table, questions: Sequence[Question], differences: Sequence[FloatArray], draws: int
) -> FloatArray:
    """Of each draw and question, the answer along the known difference (draws x questions)."""
    scores = np.zeros((draws, len(questions)))
    with setting.curator(table) as curator:
        curator.adopt(questions[-1].schema)
        for place, (question, apart) in enumerate(zip(questions, differences, strict=True)):
            largest = np.sort(np.argsort(-np.abs(apart), kind="stable")[:_MOST_PLACES])
            excerpt = Excerpt(question.item.statistic, tuple(largest.tolist()))
            measurement = curator.measure(Echo(excerpt, draws), question.item.mu)
            scores[:, place] = answers(measurement) @ apart[largest]
    return scores
