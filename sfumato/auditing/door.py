"""Is the noise that the curator adds as large as it claims? Many answers to the questions of one release, and a test.

The attacker knows both tables, so the coordinates in which their sums differ, weighed by the difference, are all that
matters. Tables differ by a group of g records (or persons): mu-GDP for one is g mu-GDP for g (Dong, Roth and Su 2019,
theorem 2.14), so a bound on the group, over g, is one on mu, and a sharper one than a single record gives.
"""

import math
from collections.abc import Sequence

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


def attack_noise(
    setting: Setting, count: int, draws: int, confidence: float, rng: np.random.Generator
) -> list[Finding] | NotRun:
    """Lower bounds on mu from many answers of the real curator on two tables, to all questions and to the sharpest."""
    group = max(1, round(_GROUP_MU / setting.claim))
    if most_provable(draws, confidence) < _ROOM * group * setting.claim:
        return NotRun(ALL, f"mu {setting.claim:.3g} is more than {draws:,} answers could disprove")
    _, base = bases(setting, rng)
    questions = setting.questions(setting.release(base))
    questions = [one for one in questions if one.schema is questions[-1].schema]
    pair = worst_pairs(setting, questions, Candidates.of(setting, count, rng))[0].repeat(setting.records)
    tables = [setting.insert(base, [side] * group) for side in (pair.there, pair.here)]
    differences = [_difference(setting, question, tables) for question in questions]
    quiet, loud = (_scores(setting, table, questions, differences, draws) for table in tables)
    claims = [setting.records * one.item.mu for one in questions]
    sharpest = int(np.argmax([np.linalg.norm(one) / claim for one, claim in zip(differences, claims, strict=True)]))
    detail = f"{draws:,} answers to each of {len(questions)} questions, on tables that differ by {group}"
    whole = mu_lower_bound(quiet, loud, confidence) / group
    alone = mu_lower_bound(quiet[:, [sharpest]], loud[:, [sharpest]], confidence) / group
    title = questions[sharpest].item.statistic.title
    return [
        Finding(ALL, math.hypot(*claims), whole, confidence, detail),
        Finding(ONE, claims[sharpest], alone, confidence, f"{draws:,} answers; {title}"),
    ]


def _difference(setting: Setting, question: Question, tables: Sequence[pa.Table]) -> FloatArray:
    """How far apart the tables' sums are, in units of the noise."""
    statistic = question.item.statistic
    there, here = (setting.open(table, question.schema).sum(statistic) for table in tables)
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
