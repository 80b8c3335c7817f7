"""A family of tables under audit: what changes is a person, with all of their rows in all tables."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.artefact.families.release import FamilyRelease
from sfumato.auditing.candidates import Candidates, Pair
from sfumato.auditing.family_invention import (
    MOST_KEYS,
    Tables,
    corner_persons,
    invent_person,
    middle_person,
    person_with_keys,
    plain_person,
    put_together,
)
from sfumato.auditing.gdp import weights_of
from sfumato.auditing.setting import KEY, ROWS, Question, Setting
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.persons import persons
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.families.assembly import Records, assemble
from sfumato.trusted.families.tickets import Tickets
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources import Source
from sfumato.trusted.sources.family_opening import open_family
from sfumato.trusted.statistics import PersonLevel

_NEW_PERSON = 1_000_000
_SAMPLED = 200
_PARTS = 8  # of a column's codes


@dataclass(frozen=True)
class FamilySetting(Setting[Tables]):
    """One way to release a family of tables."""

    schema: FamilySchema

    @contextmanager
    def open(self, schema: FamilySchema, *tables: Tables) -> Iterator[tuple[Source, ...]]:
        """See `Setting`."""
        with ExitStack() as opened:
            sources = tuple(open_family(rows, schema, KEY, declared=True) for rows in tables)
            for source in sources:
                opened.callback(source.close)
            yield sources

    @property
    def crowd(self) -> Tables:
        """See `Setting`."""
        person = middle_person(self.schema)
        return put_together(self.schema, dict.fromkeys(range(ROWS), person))

    def invent(self, rng: np.random.Generator) -> Tables:
        """See `Setting`."""
        return put_together(self.schema, {number: invent_person(self.schema, rng) for number in range(ROWS)})

    def insert(self, rows: Tables, changes: Sequence[Tables | None]) -> Tables:
        """See `Setting`."""
        coming = {_NEW_PERSON + place: person for place, person in enumerate(changes) if person is not None}
        if not coming:
            return rows
        added = put_together(self.schema, coming)
        return {name: pa.concat_tables([rows[name], added[name]]).combine_chunks() for name in rows}

    def repeat(self, pair: Pair[Tables], *, beyond: bool = False) -> Pair[Tables]:  # noqa: ARG002 - persons are whole
        """See `Setting`."""
        return pair

    def questions(self, release: FamilyRelease) -> list[Question]:
        """See `Setting`."""
        return [Question(item, self.schema) for item in release.measurements]

    def candidates(self, count: int, rng: np.random.Generator) -> Candidates[Tables]:
        """See `Setting`. Corners, persons who have the keys of others, and random persons, tidy and not."""
        corners = corner_persons(self.schema)
        sharing = [
            person_with_keys(self.schema, name, [number * MOST_KEYS for number in range(self._most_shared(name))])
            for name in self.schema.in_order
            if self.schema.level(name) > 1 and self.schema.children(name)
        ]
        random = [invent_person(self.schema, rng, untidy=True) for _ in range(count // 2)]
        people = [*sharing, *corners, *random]
        few, many = len(sharing), len(sharing) + len(corners) // 2
        tried = (*range(len(sharing)), few, many, len(people) - 1)
        return Candidates(people, np.zeros(len(people), dtype=np.int64), tried)

    def canaries(self, count: int, rng: np.random.Generator) -> Candidates[Tables]:
        """See `Setting`. What such persons add does not depend on the key of a release."""
        people = [plain_person(self.schema, rng) for _ in range(count)]
        return Candidates(people, np.zeros(count, dtype=np.int64), ())

    def _most_shared(self, name: str) -> int:
        return min(ROWS, self.schema.rows_of(name)[1])

    def contributions(self, questions: Sequence[Question], rows: Sequence[Tables]) -> Iterator[FloatArray]:
        """See `Setting`. Of a person alone, without those who have the same keys."""
        assembled = [self._records(put_together(self.schema, {_NEW_PERSON: person})) for person in rows]
        for question in questions:
            statistic = question.item.statistic
            assert isinstance(statistic, PersonLevel)  # noqa: S101 - nothing else is asked of a family
            scale = weights_of(statistic) / question.item.sigma
            yield np.array([_sum(statistic, records[statistic.view]) * scale for records in assembled])

    @redact_errors
    def _records(self, tables: Tables) -> dict[str, Records]:
        """The records of one person in every view."""
        layout = family_layout_of(self.schema)
        tickets = Tickets(layout, KEY)
        found: dict[str, pa.Table] = {}
        for name, rows in tables.items():
            batches = rows.select(layout.tables[name].reads).combine_chunks().to_batches()
            written = pa.Table.from_batches(
                [tickets.write(name, batch, keep_all=True) for batch in batches], tickets.schema(name)
            )
            if not tickets.names_person(name):
                (person,) = persons(pa.array([_NEW_PERSON])).to_pylist()
                everybody = pa.array([person] * len(written), pa.large_binary())
                written = written.set_column(0, written.schema.field(0), everybody)
            found[name] = written
        return assemble(layout, tickets, found)

    def describe(self, release: FamilyRelease, probes: Sequence[Tables | None], seed: int) -> FloatArray:  # noqa: ARG002
        """See `Setting`: the noisy number of persons, and rows and columns of a sample."""
        features = [float(release.size)]
        for name, rows in release.sample(_SAMPLED, seed=seed, output="arrow").items():
            features.append(rows.num_rows / _SAMPLED)
            table = release.layout.tables[name]
            batch = rows.select(table.reads).combine_chunks().to_batches()
            codes = table.layout.encode(batch[0], table.measured).codes if batch else {}
            for column in table.measured:
                size = table.codes[column].size
                held = codes.get(column, np.zeros(0, dtype=np.int64)).astype(np.int64) * _PARTS // size
                features += list(np.bincount(held, minlength=_PARTS) / max(len(held), 1))
        return np.array(features)


def _sum(statistic: PersonLevel, records: Records) -> FloatArray:
    """What the records of one person add; each has its weight."""
    total = np.zeros(sum(block.size for block in statistic.blocks))
    for weight in np.unique(records.weights).tolist():
        at = np.flatnonzero(records.weights == weight)
        codes = {name: records.codes[name][at] for name in statistic.columns}
        total += statistic(Batch(len(at), codes, weight))
    return total
