"""What is under audit: a schema, a budget, an adjacency and a mechanism, driven as a custodian would drive them."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic

import numpy as np

from sfumato import api
from sfumato.auditing.candidates import Candidates, Pair, Rows
from sfumato.errors import ReleaseWarning
from sfumato.fitting.completion.plan import delta_of_lists
from sfumato.fitting.mechanisms.choice import Settings
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.curator import Curator
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED
from sfumato.trusted.reservation import LedgerLike
from sfumato.trusted.schema import FamilySchema, Schema
from sfumato.trusted.session import Terms, check_terms, open_session
from sfumato.trusted.sources import Source

ROWS = 45  # of an invented table
KEY = b"an audit's key: one for both tables"


@dataclass(frozen=True)
class Question:
    """A measurement of a release, and the schema by which its records were encoded."""

    item: Measurement
    schema: Schema | FamilySchema


@dataclass(frozen=True)
class Setting(ABC, Generic[Rows]):
    """One way to release private rows, and what it promises.

    settings   what is asked for of the mechanism, as `sfumato.release` takes it
    """

    schema: Any
    epsilon: float
    delta: float
    adjacency: Adjacency
    mechanism: str
    settings: Settings = field(default_factory=Settings)

    @cached_property
    def terms(self) -> Terms:
        """What a release would promise; bad terms raise an error of `sfumato.errors`."""
        keys = delta_of_lists(self.schema, self.delta) if isinstance(self.schema, Schema) else 0.0
        return check_terms(self.schema, self.epsilon, self.delta, self.adjacency, "declared", None, None, keys)

    @property
    def claim(self) -> float:
        """The mu that is promised, for one record, or for one person with all of theirs."""
        return math.sqrt(self.terms.budget.units / UNITS_PER_MU_SQUARED)

    @property
    def records(self) -> int:
        """How many records of one person count."""
        return self.terms.budget.records

    @property
    def by_person(self) -> bool:
        """Whether the promise is for a person with all of their records."""
        return self.schema.unit is not None

    def release(self, rows: Rows, ledger: LedgerLike = None) -> Any:
        """A whole release of the rows, by the function that custodians call."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReleaseWarning)  # invented tables are small
            return api.release(
                rows,
                self.schema,
                epsilon=self.epsilon,
                delta=self.delta,
                mechanism=self.mechanism,
                **self.settings,
                adjacency=self.adjacency,
                ledger=ledger,
                types="declared",
            )

    @contextmanager
    def curator(self, rows: Rows) -> Iterator[Curator]:
        """The curator of one session, with the whole budget and no ledger."""
        with open_session(rows, self.terms, self.mechanism) as session:
            yield session.curator

    @cached_property
    def reference(self) -> Any:
        """One release, of a table that holds a single record many times over: what would be asked, and at which mu."""
        return self.release(self.crowd)

    @abstractmethod
    def open(self, schema: Any, *tables: Rows) -> AbstractContextManager[tuple[Source, ...]]:
        """The records of some tables as a release reads them, with one key for all."""

    @property
    @abstractmethod
    def crowd(self) -> Rows:
        """Invented rows of a single record, or a single kind of person, many times over."""

    @abstractmethod
    def invent(self, rng: np.random.Generator) -> Rows:
        """Invented rows of many kinds."""

    @abstractmethod
    def insert(self, rows: Rows, changes: Sequence[Rows | None]) -> Rows:
        """Invented rows and some more; each change is one new person's where there are persons, and may be nothing."""

    @abstractmethod
    def repeat(self, pair: Pair[Rows], *, beyond: bool = False) -> Pair[Rows]:
        """A change with as many records of the person as count, or more than that."""

    @abstractmethod
    def questions(self, release: Any) -> list[Question]:
        """What a release asked, in order."""

    @abstractmethod
    def candidates(self, count: int, rng: np.random.Generator) -> Candidates[Rows]:
        """Records or persons to try as the worst one."""

    def canaries(self, count: int, rng: np.random.Generator) -> Candidates[Rows]:
        """Records or persons to put in by a coin: each adds what `contributions` says, whoever else is there."""
        return self.candidates(count, rng)

    @abstractmethod
    def contributions(self, questions: Sequence[Question], rows: Sequence[Rows]) -> Iterator[FloatArray]:
        """What each of some changes adds to each answer, in units of its noise (changes x coordinates)."""

    @abstractmethod
    def describe(self, release: Any, probes: Sequence[Rows | None], seed: int) -> FloatArray:
        """A release as numbers that anybody who holds it can compute."""
