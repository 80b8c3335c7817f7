"""What a receiver holds of a family of tables: persons with their rows, without ever meeting the private data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa

from sfumato.archive.whole_files import whole_file
from sfumato.artefact.families.frames import linked_tables, to_family_frame
from sfumato.artefact.figures import Expectation
from sfumato.artefact.requests import check_whole
from sfumato.artefact.statement import PrivacyStatement
from sfumato.errors import RequestError
from sfumato.fitting.families.conditions import FamilyConditions
from sfumato.fitting.families.drawn_rows import DrawnRows
from sfumato.fitting.families.model import FamilyModel
from sfumato.fitting.families.sampling import FamilySampler
from sfumato.fitting.stored_plan import StoredPlan
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.encoding import Header
from sfumato.trusted.encoding.header import FrameKind
from sfumato.trusted.families import FamilyLayout, family_layout_of
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.display import list_some, shorten
from sfumato.trusted.schema.messages import did_you_mean

if TYPE_CHECKING:
    from sfumato.artefact.families.answers import TableAnswers
    from sfumato.artefact.families.row_predictor import RowPredictor

_PERSONS_AT_ONCE, _ROWS_AT_ONCE = 1 << 14, 1 << 21
_MOST_AT_ONCE = 1 << 28
_ANSWERING, _SEED = 1 << 15, 7  # persons that answers come from
_FEW = 32  # persons who show how many rows one has
_TRIED = 1 << 17  # persons drawn for a condition, before it is said how long the rest would take
_MOST_DRAWN, _RAREST = 1 << 22, 64  # persons drawn for a condition in all, or for each that is asked for


@dataclass(frozen=True, eq=False)
class FamilyRelease:
    """Statement, measurements and model of several tables. Frozen, and without any reference to private data.

    Example
        >>> family["stays"].count().mean > 0
        True
    """

    schema: FamilySchema
    header: Mapping[str, Header]
    statement: PrivacyStatement
    plan: StoredPlan
    measurements: tuple[Measurement, ...]
    fitted: FamilyModel

    def __repr__(self) -> str:
        return (
            f"<FamilyRelease of {shorten(self.schema.name)}: {len(self.schema.tables)} tables "
            f"({list_some(self.schema.tables)}), about {self.size:,} persons; {self.statement.claim}>"
        )

    def _repr_html_(self) -> str:
        from sfumato.artefact.families.notebook import html_of_family

        return html_of_family(self)

    @property
    def layout(self) -> FamilyLayout:
        """What was measured of the family."""
        return family_layout_of(self.schema)

    @property
    def size(self) -> int:
        """The noisy number of persons, at least 1; the default size of a sample."""
        return max(1, round(self.fitted.persons.size))

    def __getitem__(self, table: str) -> "TableAnswers":
        """Answers about one table: counts, means, marginals. Raises `RequestError` for a table that is not there."""
        from sfumato.artefact.families.answers import TableAnswers

        if not isinstance(table, str) or table not in self.schema.tables:
            hint = did_you_mean(str(table), self.schema.tables)
            raise RequestError(f"there is no table {table!r}{hint}; there are {', '.join(self.schema.tables)}")
        return TableAnswers(self, table)

    def sample(
        self,
        persons: int | None = None,
        *,
        given: Mapping[str, Mapping[str, Any]] | None = None,
        seed: int | None = None,
        output: FrameKind | None = None,
    ) -> dict[str, Any]:
        """Synthetic persons with all their rows: a frame for each table, whose keys match.

        persons   how many; the noisy number of persons by default
        given     conditions by table: {"patients": {"sex": "f"}, "stays": {"ward": "surgery"}} asks for persons who
                  are f and have at least one such stay
        seed      makes the sample repeatable; it does no harm to privacy, the release is public
        output    "arrow", "pandas" or "polars" where another kind is wanted

        Names, order and types of the columns are those of the private tables; keys are fresh numbers 1, 2, 3, written
        as text where text was declared. Rows of one parent row stand in their order. Raises `RequestError` where
        numbers are no integers, a condition names an unknown table or column, or has no probability.

        Example
            >>> tables = family.sample(100, seed=1)
            >>> list(tables), tables["patients"].num_rows
            (['patients', 'stays', 'diagnoses'], 100)
        """
        if persons is not None and check_whole(persons, "the number of persons") > _MOST_AT_ONCE:
            raise RequestError(f"{persons:,} persons do not fit into memory; draw them in parts by sample_tables")
        parts = list(self.sample_tables(persons, given=given, seed=seed))
        return {
            name: to_family_frame(pa.concat_tables([part[name] for part in parts]), self, name, output)
            for name in self.schema.tables
        }

    def sample_tables(
        self,
        persons: int | None = None,
        *,
        given: Mapping[str, Mapping[str, Any]] | None = None,
        seed: int | None = None,
    ) -> Iterator[dict[str, pa.Table]]:
        """A sample of any size in parts that fit into memory, in plain Arrow types; keys go on from part to part.

        Arguments and errors are those of `sample`.

        Example
            >>> sum(part["patients"].num_rows for part in family.sample_tables(40_000, seed=1))
            40000
        """
        wanted = self.size if persons is None else check_whole(persons, "the number of persons")
        seed = None if seed is None else check_whole(seed, "the seed")
        conditions = FamilyConditions.of(given, self.layout)
        rng = np.random.default_rng(seed)
        before = dict.fromkeys(self.schema.tables, 0)
        for drawn in self._drawn(wanted, conditions, rng):
            yield linked_tables(drawn, self.schema, before, rng)
            for name, rows in drawn.items():
                before[name] += len(rows)

    def _drawn(
        self, persons: int, conditions: FamilyConditions, rng: np.random.Generator
    ) -> Iterator[dict[str, DrawnRows]]:
        """So many persons who meet the conditions, part by part; one part at least."""
        model = replace(self.fitted, persons=conditions.restrict(self.fitted.persons))
        sampler = FamilySampler(model, self.layout, conditions.limits)
        left, tried, share = persons, 0, 1.0
        while True:
            wanted = max(1, left) if conditions.are_met_always else int(left / share * 1.2) + 16
            rows = min(wanted, self.most_persons(_PERSONS_AT_ONCE))
            drawn = sampler.draw(rows, rng)
            if not conditions.are_met_always:
                met = np.flatnonzero(conditions.met_by(drawn))
                share = max(len(met) / rows, 1 / _PERSONS_AT_ONCE)
                drawn = sampler.keep(drawn, met[:left])
            elif left == 0:
                drawn = sampler.keep(drawn, np.zeros(0, dtype=np.int64))
            left, tried = left - len(drawn[self.schema.root]), tried + rows
            if len(drawn[self.schema.root]) or left == 0:
                yield drawn
            if left <= 0:
                return
            found = persons - left
            if tried >= _TRIED and tried * left / (found + 1) > max(_MOST_DRAWN, _RAREST * persons):
                raise RequestError(
                    f"hardly any person meets these conditions together ({found:,} of {tried:,} drawn ones), and "
                    f"{left:,} more would take too long; ask for fewer persons or wider conditions"
                )

    def most_persons(self, persons: int) -> int:
        """So many persons, or fewer where they have so many rows that memory would not hold them."""
        return max(1, min(persons, int(_ROWS_AT_ONCE / self._rows_each)))

    @cached_property
    def _rows_each(self) -> float:
        """About as many rows as a person has in all tables."""
        few = FamilySampler(self.fitted, self.layout).draw(_FEW, np.random.default_rng(_SEED))
        return sum(map(len, few.values())) / _FEW

    @cached_property
    def answering(self) -> dict[str, DrawnRows]:
        """The drawn persons that answers are computed from; the same whenever the release is opened."""
        sampler, persons = FamilySampler(self.fitted, self.layout), self.most_persons(_ANSWERING)
        return sampler.draw(persons, np.random.default_rng(_SEED))

    @cached_property
    def targets(self) -> dict[str, str]:
        """The target of each table that has one."""
        return {name: table.target for name, table in self.schema.tables.items() if table.target is not None}

    def predict_proba(self, tables: Mapping[str, Any], table: str | None = None) -> FloatArray:
        """The probability of every class of a table's target, for each row of that table, from the rows above it and
        the rows before it.

        tables   the frames of persons and of the tables down to the one that is asked about, with their keys
        table    whose target; by default the only table with one

        What comes after a row is not looked at: the number of later rows is summed out. So is what tables below or
        beside would say that are not given. The first call draws rows and fits a predictor to them. A row without a
        parent row is told by the target's distribution alone. Returns an array of rows x classes, see `classes`. Raises
        `RequestError` where there is no such target, or it is numeric, or a frame lacks a key or an order.

        Example
            >>> family.predict_proba(family.sample(50, seed=1), "stays").shape[1]
            2
        """
        from sfumato.artefact.families.prediction import predict_target

        return predict_target(self, tables, self._asked(table))

    def predictors(self, table: str, unknown: frozenset[str]) -> "dict[str, RowPredictor]":
        """What predicts the target of a table where some tables are not given; fitted once."""
        from sfumato.artefact.families.prediction import fit_predictors

        if (table, unknown) not in self._predictors:
            self._predictors[table, unknown] = fit_predictors(self, table, unknown)
        return self._predictors[table, unknown]

    @cached_property
    def _predictors(self) -> "dict[tuple[str, frozenset[str]], dict[str, RowPredictor]]":
        return {}

    def predict(self, tables: Mapping[str, Any], table: str | None = None) -> Any:
        """The likeliest class of a table's target for each row, see `predict_proba`.

        Example
            >>> len(family.predict(family.sample(50, seed=1), "stays")) > 0
            True
        """
        name = self._asked(table)
        told = self.predict_proba(tables, name)
        classes = self.classes(name)
        return np.array([classes[place] for place in told.argmax(axis=1)], dtype=object)

    def classes(self, table: str | None = None) -> list[Any]:
        """The values of a table's target, in the order of `predict_proba`; None stands for missing.

        Example
            >>> family.classes("stays")
            [False, True]
        """
        from sfumato.artefact.families.prediction import classes_of

        return classes_of(self, self._asked(table))

    def _asked(self, table: str | None) -> str:
        if table is None and len(self.targets) == 1:
            return next(iter(self.targets))
        if table not in self.targets:
            known = ", ".join(self.targets) or "none"
            raise RequestError(f"name the table whose target is to be predicted; tables with a target: {known}")
        return table

    def count(self, table: str) -> Expectation:
        """The number of rows of a table, and its 95 % interval: see `TableAnswers.count`.

        Example
            >>> family.count("patients").mean > 0
            True
        """
        return self[table].count()

    def save(self, path: str | Path) -> None:
        """Write the bundle, whole or not at all. Raises `OutputError` where it cannot be written.

        Example
            >>> family.save(folder / "clinic.sfumato")
        """
        with whole_file(path) as file:
            self.write(file)

    def write(self, file: BinaryIO) -> None:
        """Write the bundle to an open file."""
        from sfumato.artefact.families.bundle import write_family_bundle

        write_family_bundle(self, file)
