"""The search for two neighbouring tables that the answers of a release tell apart best.

Given what was asked, each answer is a sum plus Gaussian noise of a known scale, so the mu between two tables is
computed and not estimated (see `transcript`). Candidates for the changed record are random records, corners of the
schema and values that it does not allow. Which pair of them is farthest apart follows from inner products of what each
adds to the answers. The pairs that were found are then summed by the real source, encoding and contribution bounding
included.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.auditing.findings import Finding, worst
from sfumato.auditing.gdp import weights_of
from sfumato.auditing.invention import corner_rows, invent_rows, other_targets
from sfumato.auditing.setting import ROWS, Question, Setting
from sfumato.auditing.transcript import mu_between
from sfumato.errors import SfumatoError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema

_CORNERS = (0, 1, 5, 6)  # of `corner_rows`: lowest, highest, missing, out of bounds


@dataclass(frozen=True)
class Pair:
    """The rows in which two neighbouring tables differ; one side may have none."""

    here: pa.Table
    there: pa.Table

    def repeat(self, times: int) -> "Pair":
        """Each row several times."""
        return Pair(*(pa.concat_tables([side] * times) for side in (self.here, self.there)))


@dataclass(frozen=True)
class Candidates:
    """Records to try, and of each the group in which it may be exchanged for another; all in one, or by features."""

    rows: pa.Table
    group: IntArray

    @classmethod
    def of(cls, setting: Setting, count: int, rng: np.random.Generator) -> "Candidates":
        """Corners and random records; under label adjacency each with every target."""
        schema = setting.schema
        rows = pa.concat_tables([corner_rows(schema), invent_rows(schema, count, rng, strange=True)])
        if setting.adjacency == Adjacency.LABEL:
            return cls(*other_targets(schema, rows))
        return cls(rows, np.zeros(len(rows), dtype=np.int64))

    def pair(self, inner: FloatArray, adjacency: Adjacency) -> Pair:
        """The worst one change, by the inner products of what the candidates add."""
        squares = np.diag(inner)
        if adjacency == Adjacency.ADD_REMOVE:
            return Pair(self._row(int(squares.argmax())), self.rows.slice(0, 0))
        apart = squares[:, None] + squares - 2 * inner
        apart[self.group[:, None] != self.group] = -1.0
        here, there = np.unravel_index(apart.argmax(), apart.shape)
        return Pair(self._row(int(here)), self._row(int(there)))

    def corners(self, adjacency: Adjacency) -> list[Pair]:
        """Changes that are tried whatever the inner products say: corners against nothing, or against one another."""
        if adjacency == Adjacency.ADD_REMOVE:
            return [Pair(self._row(place), self.rows.slice(0, 0)) for place in _CORNERS]
        if adjacency == Adjacency.REPLACE:
            return [Pair(self._row(place), self._row(0)) for place in _CORNERS[1:]]
        last = int((self.group == self.group[0]).sum()) - 1
        return [Pair(self._row(place), self._row(0)) for place in sorted({1, max(1, last - 1), last})]

    def _row(self, place: int) -> pa.Table:
        return self.rows.slice(place, 1)


@redact_errors
def contributions(question: Question, rows: pa.Table) -> FloatArray:
    """What each row adds to an answer, in units of its noise (rows x coordinates)."""
    statistic = question.item.statistic
    batch = layout_of(question.schema).encode(rows.combine_chunks().to_batches()[0], statistic.columns)
    raw = np.array([statistic(record) for record in batch.parts(1, statistic.columns)], dtype=np.float64)
    return raw * (weights_of(statistic) / question.item.sigma)


def inner_products(question: Question, rows: pa.Table) -> FloatArray:
    """Between what each two rows add to an answer."""
    vectors = contributions(question, rows)
    products: FloatArray = vectors @ vectors.T
    return products


def spent(setting: Setting, questions: Sequence[Question], base: pa.Table, pair: Pair) -> float:
    """The exact mu between two tables; infinite if one of them stops a release with an error and the other does not."""
    squares = 0.0
    for schema in {id(one.schema): one.schema for one in questions}.values():
        items = [one.item for one in questions if one.schema is schema]
        here, there = (setting.insert(base, [side]) for side in (pair.here, pair.there))
        try:
            with setting.open(schema, here, there) as sources:
                squares += mu_between(items, *sources) ** 2
        except SfumatoError:
            return math.inf if _stops(setting, schema, items, here) != _stops(setting, schema, items, there) else 0.0
    return math.sqrt(squares)


def _stops(setting: Setting, schema: Schema, items: Sequence[Measurement], table: pa.Table) -> bool:
    """Whether a table cannot be summed."""
    try:
        with setting.open(schema, table) as (source,):
            for item in items:
                source.sum(item.statistic)
    except SfumatoError:
        return True
    return False


def bases(setting: Setting, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    """A table of many different records, and one of a single record many times over."""
    return setting.owned(invent_rows(setting.schema, ROWS, rng)), setting.crowd


def worst_pairs(setting: Setting, questions: Sequence[Question], candidates: Candidates) -> list[Pair]:
    """The pair that the whole release tells apart best, then the best for each question.

    Where a candidate cannot even be encoded, the corners instead.
    """
    try:
        products = [inner_products(question, candidates.rows) for question in questions]
    except SfumatoError:
        return candidates.corners(setting.adjacency)[:1] * (len(questions) + 1)
    whole: FloatArray = np.sum(products, axis=0)
    return [candidates.pair(one, setting.adjacency) for one in (whole, *products)]


def attack_neighbours(setting: Setting, count: int, releases: int, rng: np.random.Generator) -> list[Finding]:
    """The largest mu between neighbours that a search finds, of whole releases and of the worst single question.

    One or two `releases` are made, each of another table: what is asked may depend on it.
    """
    copies = 1 if setting.schema.unit is None else 3 * setting.records + 1  # more than may count
    tables, candidates = bases(setting, rng), Candidates.of(setting, count, rng)
    whole, single = [], []
    for base in tables[:releases]:
        questions = setting.questions(setting.release(base))
        found = [pair.repeat(copies) for pair in worst_pairs(setting, questions, candidates)]
        tried = [found[0], *(pair.repeat(copies) for pair in candidates.corners(setting.adjacency))]
        whole += [spent(setting, questions, other, pair) for other in tables for pair in tried]
        for question, pair in zip(questions, found[1:], strict=True):
            claim = setting.records * question.item.mu
            single.append((spent(setting, [question], base, pair), claim, question.item.statistic.title))
    who = "person" if setting.schema.unit else "record"
    detail = f"the worst {who} of {len(candidates.rows)} candidates, in {len(whole)} pairs of tables; computed"
    name = f"worst-case {who}s, one question"
    alone = worst([Finding(name, claim, bound, 1.0, f"{title}; computed") for bound, claim, title in single])
    return [Finding(f"worst-case {who}s, whole release", setting.claim, max(whole), 1.0, detail), alone]
