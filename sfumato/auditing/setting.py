"""What is under audit: a schema, a budget, an adjacency and a mechanism, driven as a custodian would drive them."""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato import api
from sfumato.artefact.release import Release
from sfumato.auditing.invention import middle_row, with_persons
from sfumato.errors import ReleaseWarning
from sfumato.fitting.completion.plan import delta_of_lists
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.curator import Curator
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED
from sfumato.trusted.reservation import LedgerLike
from sfumato.trusted.schema import Schema, Unit
from sfumato.trusted.session import Terms, check_terms, open_session
from sfumato.trusted.sources import Source, open_source
from sfumato.trusted.statistics import KeyCounts

ROWS = 45  # of an invented table
_KEY = b"an audit's key: one for both tables"
_RECORDS_EACH = 3  # of the persons in an invented table
_NEW_PERSON = 1_000_000


@dataclass(frozen=True)
class Question:
    """A measurement of a release, and the schema by which its records were encoded."""

    item: Measurement
    schema: Schema


@dataclass(frozen=True)
class Setting:
    """One way to release a table, and what it promises."""

    schema: Schema
    epsilon: float
    delta: float
    adjacency: Adjacency
    mechanism: str

    @cached_property
    def terms(self) -> Terms:
        """What a release would promise; bad terms raise an error of `sfumato.errors`."""
        keys = delta_of_lists(self.schema, self.delta)
        return check_terms(self.schema, self.epsilon, self.delta, self.adjacency, "declared", None, None, keys)

    @property
    def claim(self) -> float:
        """The mu that is promised, for one record, or for one person with all of theirs."""
        return math.sqrt(self.terms.budget.units / UNITS_PER_MU_SQUARED)

    @property
    def records(self) -> int:
        """How many records of one person count."""
        return self.terms.budget.records

    def by_person(self, records: int) -> "Setting":
        """The same for persons, of whom so many records count; itself where the schema has a unit."""
        if self.schema.unit:
            return self
        name = "person"
        while name in self.schema.by_name:
            name += "_"
        unit = Unit(column=name, records=records)
        return replace(self, schema=Schema.from_dict({**self.schema.to_dict(), "unit": unit.model_dump()}))

    def release(self, rows: pa.Table, ledger: LedgerLike = None) -> Release:
        """A whole release of the rows, by the function that custodians call."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReleaseWarning)  # invented tables are small
            return api.release(
                rows,
                self.schema,
                epsilon=self.epsilon,
                delta=self.delta,
                mechanism=self.mechanism,
                adjacency=self.adjacency,
                ledger=ledger,
                types="declared",
            )

    @contextmanager
    def open(self, schema: Schema, *tables: pa.Table) -> Iterator[tuple[Source, ...]]:
        """The records of some tables as a release reads them, with one key for all."""
        with ExitStack() as opened:
            sources = tuple(open_source(rows, schema, _KEY, declared=True) for rows in tables)
            for source in sources:
                opened.callback(source.close)
            yield sources

    @contextmanager
    def curator(self, rows: pa.Table) -> Iterator[Curator]:
        """The curator of one session, with the whole budget and no ledger."""
        with open_session(rows, self.terms, self.mechanism) as session:
            yield session.curator

    @cached_property
    def reference(self) -> Release:
        """One release, of a table that holds a single record many times over: what would be asked, and at which mu."""
        return self.release(self.crowd)

    @property
    def crowd(self) -> pa.Table:
        """An invented table of a single record many times over."""
        return self.owned(pa.concat_tables([middle_row(self.schema)] * ROWS))

    def questions(self, release: Release) -> list[Question]:
        """What a release asked, in order. Lists of values are left out: their threshold has a proof and tests apart."""
        bought = [item for item in release.completing if not isinstance(item.statistic, KeyCounts)]
        return [Question(item, self.schema) for item in bought] + [
            Question(item, release.schema) for item in release.modelling
        ]

    def owned(self, rows: pa.Table) -> pa.Table:
        """Rows of a table that others are in: where there is a unit, a few of each person."""
        return with_persons(self.schema, rows, np.arange(len(rows)) // _RECORDS_EACH)

    def insert(self, rows: pa.Table, changes: Sequence[pa.Table]) -> pa.Table:
        """An owned table and some more rows; where there is a unit, each of `changes` is one new person's."""
        if not changes:
            return rows
        persons = _NEW_PERSON + np.repeat(np.arange(len(changes)), [len(change) for change in changes])
        added = with_persons(self.schema, pa.concat_tables(changes), persons)
        return pa.concat_tables([rows, added]).combine_chunks()
