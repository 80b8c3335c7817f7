"""A single table under audit."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.artefact.release import Release
from sfumato.auditing.candidates import Candidates, Pair
from sfumato.auditing.gdp import weights_of
from sfumato.auditing.invention import corner_rows, invent_rows, middle_row, other_targets, with_persons
from sfumato.auditing.setting import KEY, ROWS, Question, Setting
from sfumato.errors import SfumatoError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema, Unit
from sfumato.trusted.sources import Source, open_source
from sfumato.trusted.statistics import KeyCounts

_CORNERS: tuple[int, ...] = (0, 1, 5, 6)  # of `corner_rows`: lowest, highest, missing, out of bounds
_RECORDS_EACH = 3  # of the persons in an invented table
_NEW_PERSON = 1_000_000
_SAMPLED = 400
_PARTS = 16  # of a column's codes


@dataclass(frozen=True)
class TableSetting(Setting[pa.Table]):
    """One way to release a table."""

    schema: Schema

    def with_unit(self, records: int) -> "TableSetting":
        """The same for persons, of whom so many records count; itself where the schema has a unit."""
        if self.schema.unit:
            return self
        name = "person"
        while name in self.schema.by_name:
            name += "_"
        unit = Unit(column=name, records=records)
        return replace(self, schema=Schema.from_dict({**self.schema.to_dict(), "unit": unit.model_dump()}))

    @contextmanager
    def open(self, schema: Schema, *tables: pa.Table) -> Iterator[tuple[Source, ...]]:
        """See `Setting`."""
        with ExitStack() as opened:
            sources = tuple(open_source(rows, schema, KEY, declared=True) for rows in tables)
            for source in sources:
                opened.callback(source.close)
            yield sources

    @property
    def crowd(self) -> pa.Table:
        """See `Setting`."""
        return self._owned(pa.concat_tables([middle_row(self.schema)] * ROWS))

    def invent(self, rng: np.random.Generator) -> pa.Table:
        """See `Setting`."""
        return self._owned(invent_rows(self.schema, ROWS, rng))

    def _owned(self, rows: pa.Table) -> pa.Table:
        """Rows of a table that others are in: where there is a unit, a few of each person."""
        return with_persons(self.schema, rows, np.arange(len(rows)) // _RECORDS_EACH)

    def insert(self, rows: pa.Table, changes: Sequence[pa.Table | None]) -> pa.Table:
        """See `Setting`."""
        made = [change for change in changes if change is not None]
        if not made:
            return rows
        persons = _NEW_PERSON + np.repeat(np.arange(len(made)), [len(change) for change in made])
        added = with_persons(self.schema, pa.concat_tables(made), persons)
        return pa.concat_tables([rows, added]).combine_chunks()

    def repeat(self, pair: Pair[pa.Table], *, beyond: bool = False) -> Pair[pa.Table]:
        """See `Setting`."""
        times = self.records if not beyond or self.schema.unit is None else 3 * self.records + 1
        here, there = (None if side is None else pa.concat_tables([side] * times) for side in (pair.here, pair.there))
        return Pair(here, there)

    def questions(self, release: Release) -> list[Question]:
        """See `Setting`. Lists of values are left out: their threshold has a proof and tests apart."""
        bought = [item for item in release.completing if not isinstance(item.statistic, KeyCounts)]
        return [Question(item, self.schema) for item in bought] + [
            Question(item, release.schema) for item in release.modelling
        ]

    def candidates(self, count: int, rng: np.random.Generator) -> Candidates[pa.Table]:
        """See `Setting`. Corners and random records; under label adjacency each with every target."""
        rows = pa.concat_tables([corner_rows(self.schema), invent_rows(self.schema, count, rng, strange=True)])
        group, corners = np.zeros(len(rows), dtype=np.int64), _CORNERS
        if self.adjacency == Adjacency.LABEL:
            rows, group = other_targets(self.schema, rows)
            last = int((group == group[0]).sum()) - 1
            corners = (0, *sorted({1, max(1, last - 1), last}))
        return Candidates([rows.slice(place, 1) for place in range(len(rows))], group, corners)

    def contributions(self, questions: Sequence[Question], rows: Sequence[pa.Table]) -> Iterator[FloatArray]:
        """See `Setting`."""
        together = pa.concat_tables(rows).combine_chunks().to_batches()[0]
        for question in questions:
            yield self._contributions(question, together)

    @redact_errors
    def _contributions(self, question: Question, together: pa.RecordBatch) -> FloatArray:
        statistic = question.item.statistic
        assert isinstance(question.schema, Schema)  # noqa: S101 - a table was released
        batch = layout_of(question.schema).encode(together, statistic.columns)
        raw = np.array([statistic(record) for record in batch.parts(1, statistic.columns)], dtype=np.float64)
        return raw * (weights_of(statistic) / question.item.sigma)

    def describe(self, release: Release, probes: Sequence[pa.Table | None], seed: int) -> FloatArray:
        """See `Setting`: the noisy size, how likely some records are, and the columns of a sample."""
        known = [probe for probe in probes if probe is not None]
        features = [float(release.size), *_likely(release, pa.concat_tables([*known, corner_rows(self.schema)]))]
        sample = release.encode(release.sample(_SAMPLED, seed=seed, output="arrow"))
        for codes in sample.codes.values():
            size = max(int(codes.max(initial=0)), 1)
            features += [
                float(codes.mean() / size),
                *(np.bincount(codes * (_PARTS - 1) // size, minlength=_PARTS) / len(codes)),
            ]
        return np.array(features)


def _likely(release: Release, probes: pa.Table) -> list[float]:
    """How likely the release thinks each of some records is; nothing where its model has no such answer."""
    try:
        found = release.log_prob(probes)
    except SfumatoError:
        return []
    return [max(float(value), -1e3) if not math.isnan(value) else -1e3 for value in found]
