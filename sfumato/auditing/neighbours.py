"""The search for two neighbouring tables that the answers of a release tell apart best.

Given what was asked, each answer is a sum plus Gaussian noise of a known scale, so the mu between two tables is
computed and not estimated (see `transcript`). Candidates for the changed record are random records, corners of the
schema and values that it does not allow. Which pair of them is farthest apart follows from inner products of what each
adds to the answers. The pairs that were found are then summed by the real source, encoding and contribution bounding
included.
"""

import math
from collections.abc import Sequence

import numpy as np

from sfumato.auditing.candidates import Candidates, Pair, Rows
from sfumato.auditing.findings import Finding, worst
from sfumato.auditing.setting import Question, Setting
from sfumato.auditing.transcript import mu_between
from sfumato.errors import SfumatoError
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import FamilySchema, Schema


def spent(setting: Setting[Rows], questions: Sequence[Question], base: Rows, pair: Pair[Rows]) -> float:
    """The exact mu between two tables; infinite if one of them stops a release with an error and the other does not."""
    return math.hypot(*_spent_by_each(setting, questions, base, pair))


def spent_alone(
    setting: Setting[Rows], questions: Sequence[Question], base: Rows, pairs: Sequence[Pair[Rows]]
) -> list[float]:
    """The exact mu of each question by itself, between tables that differ by its own pair.

    Tables are opened once for all questions that have the same pair.
    """
    alike: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(pairs):
        alike.setdefault((id(pair.here), id(pair.there)), []).append(place)
    found = np.zeros(len(questions))
    for places in alike.values():
        found[places] = _spent_by_each(setting, [questions[place] for place in places], base, pairs[places[0]])
    return found.tolist()


def _spent_by_each(setting: Setting[Rows], questions: Sequence[Question], base: Rows, pair: Pair[Rows]) -> list[float]:
    """The exact mu of each question between two tables."""
    found = np.zeros(len(questions))
    here, there = (setting.insert(base, [side]) for side in (pair.here, pair.there))
    for schema in {id(one.schema): one.schema for one in questions}.values():
        places = [place for place, one in enumerate(questions) if one.schema is schema]
        items = [questions[place].item for place in places]
        try:
            with setting.open(schema, here, there) as sources:
                found[places] = [mu_between([item], *sources) for item in items]
        except SfumatoError:
            one_stops = _stops(setting, schema, items, here) != _stops(setting, schema, items, there)
            found[places] = math.inf if one_stops else 0.0
    return found.tolist()


def _stops(setting: Setting[Rows], schema: Schema | FamilySchema, items: Sequence[Measurement], table: Rows) -> bool:
    """Whether a table cannot be summed."""
    try:
        with setting.open(schema, table) as (source,):
            for item in items:
                source.sum(item.statistic)
    except SfumatoError:
        return True
    return False


def worst_pairs(
    setting: Setting[Rows], questions: Sequence[Question], candidates: Candidates[Rows]
) -> list[Pair[Rows]]:
    """The pair that the whole release tells apart best, then the best for each question.

    Where a candidate cannot even be encoded, the corners instead.
    """
    try:
        products = [moves @ moves.T for moves in setting.contributions(questions, candidates.rows)]
    except SfumatoError:
        return candidates.corner_pairs(setting.adjacency)[:1] * (len(questions) + 1)
    whole: FloatArray = np.sum(products, axis=0)
    return [candidates.pair(one, setting.adjacency) for one in (whole, *products)]


def attack_neighbours(setting: Setting[Rows], count: int, releases: int, rng: np.random.Generator) -> list[Finding]:
    """The largest mu between neighbours that a search finds, of whole releases and of the worst single question.

    One or two `releases` are made, each of another table: what is asked may depend on it. For persons there is also
    what all questions cost, which shows a wrong price where a release asks what tells these tables' records nothing.
    """
    tables, candidates = (setting.invent(rng), setting.crowd), setting.candidates(count, rng)
    whole, single, costs = [], [], []
    for base in tables[:releases]:
        questions = setting.questions(setting.release(base))
        costs.append(setting.records * math.hypot(*(one.item.mu for one in questions)))
        pairs = [setting.repeat(pair, beyond=True) for pair in worst_pairs(setting, questions, candidates)]
        corners = [setting.repeat(pair, beyond=True) for pair in candidates.corner_pairs(setting.adjacency)]
        tried = [pairs[0], *corners]
        whole += [spent(setting, questions, other, pair) for other in tables for pair in tried]
        bounds = spent_alone(setting, questions, base, pairs[1:])
        single += [
            (bound, setting.records * one.item.mu, one.item.statistic.title)
            for bound, one in zip(bounds, questions, strict=True)
        ]
    who = "person" if setting.by_person else "record"
    detail = f"the worst {who} of {len(candidates.rows)} candidates, in {len(whole)} pairs of tables; computed"
    name = f"worst-case {who}s, one question"
    alone = worst([Finding(name, claim, bound, 1.0, f"{title}; computed") for bound, claim, title in single])
    found = [Finding(f"worst-case {who}s, whole release", setting.claim, max(whole), 1.0, detail), alone]
    if not setting.by_person:
        return found
    detail = "what the questions cost for all records of a person that count; computed"
    return [*found, Finding("price for one person, all questions", setting.claim, max(costs), 1.0, detail)]
