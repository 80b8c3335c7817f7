"""The tables of a family as a custodian has them: rows linked by their keys, and what of them does not count."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.errors import DataError, RequestError
from sfumato.trusted.arrays import CodeArray, FloatArray, IntArray
from sfumato.trusted.encoding import Codes, NumericCodec
from sfumato.trusted.families import FamilyLayout, family_layout_of
from sfumato.trusted.families.assembly import Linked, LinkedRows, link_rows
from sfumato.trusted.families.tickets import Tickets
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.family import MOST_ROWS
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.family_opening import name_table, tables_of
from sfumato.trusted.sources.family_source import join_owners

_KEY = bytes(32)  # which rows of a crowd are compared is no secret here
_PLACE = "place in the stored table"
_NO_LINK = "no parent row, no key, or one that another row of the person has"


@dataclass(frozen=True)
class LinkFacts:
    """How the rows of one table are linked.

    rows       that the table has
    unlinked   without a parent row, without a key, or with one that another row of the person has
    beyond     more than the schema allows for one parent row; they are left out by lot
    below      parent rows that have fewer rows here than the schema says
    shared     keys of this table that rows of two persons or more have
    """

    table: str
    rows: int
    unlinked: int
    beyond: int
    below: int = 0
    shared: int = 0
    of_persons: bool = False

    def describe(self) -> str:
        """In a few words; empty where all rows count."""
        parts = []
        if self.unlinked:
            lacking = "no key, or one that another row has" if self.of_persons else _NO_LINK
            parts.append(f"{self.unlinked:,} of {self.rows:,} rows have {lacking}")
        if self.beyond:
            parts.append(f"{self.beyond:,} of {self.rows:,} rows are beyond the most that the schema allows")
        if self.below:
            parts.append(f"{self.below:,} parent rows have fewer rows than the schema says")
        if self.shared:
            parts.append(f"keys that two persons or more have: {self.shared:,}; the promise needs that there are none")
        return "; ".join(parts)


@dataclass(frozen=True, eq=False)
class FamilyRows:
    """Linked rows of all tables, as codes and as they are stored.

    origin   of each ticket: the place of its row in the stored table; one row may count for several persons
    """

    layout: FamilyLayout
    linked: Linked
    stored: Mapping[str, pa.Table]
    origin: Mapping[str, IntArray]
    facts: tuple[LinkFacts, ...] = ()

    @property
    def persons(self) -> int:
        """How many there are."""
        return len(self.linked[self.layout.family.root].person)

    def rows(self, table: str) -> LinkedRows:
        """The rows of one table that count."""
        return self.linked[table]

    def stored_rows(self, table: str) -> IntArray:
        """The place in the stored table of each row that counts."""
        return self.origin[table][self.linked[table].ticket]

    def numbers(self, table: str, column: str) -> FloatArray:
        """A column of these rows as numbers: of a list the place in it; NaN where it is missing."""
        return numbers_of_codes(self.linked[table].codes[column], self.layout.tables[table].codes[column])


def numbers_of_codes(code: CodeArray, codes: Codes) -> FloatArray:
    """Codes as numbers."""
    if isinstance(codes, NumericCodec):
        return codes.in_units(codes.read(codes.decode(code, np.full(len(code), 0.5))).values)
    return np.where(code == codes.missing, np.nan, code) if codes.missing is not None else code.astype(np.float64)


def read_private_family(data: Any, family: FamilySchema, which: str) -> FamilyRows:
    """The tables of a custodian, in any form that `release` takes.

    Raises `DataError` where a table is not there or lacks a column, and `RequestError` where nobody has a row.
    """
    try:
        tables = tables_of(data, family)
        stored = {name: _read(tables[name], family, name) for name in family.tables}
    except DataError as error:
        raise DataError(f"the {which} tables: {error}") from None
    found = link_tables(stored, family)
    if not found.persons:
        raise RequestError(f"the {which} tables: there is no person to compare with; give tables that have some")
    return found


def _read(data: Any, family: FamilySchema, name: str) -> pa.Table:
    schema, layout = family.schema_of(name), family_layout_of(family).tables[name]
    names = tuple(dict.fromkeys((*layout.reads, *schema.by_name)))
    try:
        with closing(open_source(data, schema, declared=True)) as source:
            batches = redact_errors(lambda: list(source.records(names)))()
    except DataError as error:
        raise name_table(error, family, name) from None
    return pa.Table.from_batches(batches) if batches else pa.table({column: pa.array([]) for column in names})


def link_tables(stored: Mapping[str, pa.Table], family: FamilySchema) -> FamilyRows:
    """Tables in memory, linked; and how many rows do not count, and why."""
    layout = family_layout_of(family)
    found = FamilyRows(layout, *_link(layout, stored))
    free = {
        name: table if table.rows is None else table.model_copy(update={"rows": (table.rows[0], MOST_ROWS)})
        for name, table in family.tables.items()
    }
    counted = {name: _count(found, name) for name in family.tables}
    linked = counted
    if any(counted[name] < stored[name].num_rows for name in family.tables):
        boundless = family_layout_of(family.model_copy(update={"tables": free}))
        without = FamilyRows(boundless, *_link(boundless, stored))
        linked = {name: _count(without, name) for name in family.tables}
    facts = tuple(
        LinkFacts(
            name,
            stored[name].num_rows,
            stored[name].num_rows - linked[name],
            max(0, linked[name] - counted[name]),
            _count_below(found, name),
            _count_shared(found, name),
            name == family.root,
        )
        for name in layout.tables
    )
    return replace(found, facts=facts)


def _count(rows: FamilyRows, table: str) -> int:
    """How many stored rows count for somebody."""
    return len(np.unique(rows.stored_rows(table)))


def _count_below(rows: FamilyRows, table: str) -> int:
    """How many parent rows have fewer rows than the schema says."""
    parent, fewest = rows.layout.family.tables[table].parent, rows.layout.family.rows_of(table)[0]
    if parent is None or not fewest:
        return 0
    held = np.bincount(rows.rows(table).parent, minlength=len(rows.rows(parent).person))
    return int((held < fewest).sum())


def _count_shared(rows: FamilyRows, table: str) -> int:
    """How many keys that other rows name belong to several persons; of one person a key counts once."""
    key = rows.rows(table).key
    if key is None or not rows.layout.family.children(table):
        return 0
    return int((np.bincount(key.dictionary_encode().indices.to_numpy(), minlength=1) > 1).sum())


@redact_errors
def _link(
    layout: FamilyLayout, stored: Mapping[str, pa.Table]
) -> tuple[Linked, Mapping[str, pa.Table], Mapping[str, IntArray]]:
    """The rows that count, all rows, and where each ticket comes from."""
    tickets = Tickets(layout, _KEY)
    written: dict[str, pa.Table] = {}
    origin: dict[str, IntArray] = {}
    for name in layout.tables:
        batches = stored[name].select(list(layout.tables[name].reads)).combine_chunks().to_batches()
        parts = [tickets.write(name, batch, keep_all=True) for batch in batches]
        rows = pa.Table.from_batches(parts, tickets.schema(name)).combine_chunks()
        rows = rows.append_column(_PLACE, pa.array(np.arange(rows.num_rows)))
        rows = rows.filter(rows.column("person" if tickets.names_person(name) else "parent").is_valid())
        if not tickets.names_person(name):
            parent = written[layout.family.tables[name].parent or ""].select(["key", "person"])
            rows = pa.Table.from_batches([join_owners(rows, parent)], rows.schema)
        origin[name] = rows.column(_PLACE).to_numpy()
        written[name] = rows.drop_columns([_PLACE])
    return link_rows(layout, tickets, written), stored, origin
