"""The rows of a family as tickets: whose row it is, the keys that it has and names, its place in the order, its codes.

A ticket is a function of one row. The numbers by which rows are chosen, or put in order where nothing else does, are
keyed hashes, see `keyed_numbers`, of whose row it is and of what it holds.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.trusted.arrays import CodeArray, IntArray, WordArray
from sfumato.trusted.encoding.persons import persons
from sfumato.trusted.families.layout import FamilyLayout
from sfumato.trusted.keyed_numbers import (
    count_equals,
    derive_key,
    draw_factors,
    draw_words,
    hash_ids,
    keyed_number,
    mix,
)

_ID = pa.large_binary()
TURN, AGAIN = "\0turn", "\0again"  # beside the names of columns


class Tickets:
    """The tickets of every table of a family, under one key."""

    def __init__(self, layout: FamilyLayout, key: bytes) -> None:
        self.layout = layout
        self._key = derive_key(key, "persons")
        self._keys = {name: derive_key(key, f"table {name}") for name in layout.tables}
        self._factors = {name: draw_factors(self._keys[name], table.measured) for name, table in layout.tables.items()}
        self._turns, self._again = (
            {name: draw_words(derive_key(self._keys[name], purpose)) for name in layout.tables}
            for purpose in (TURN, AGAIN)
        )

    def has_key(self, name: str) -> bool:
        """Whether the rows of a table, which is not that of persons, have a key."""
        return self.layout.family.level(name) > 1 and self.layout.family.tables[name].key is not None

    def names_person(self, name: str) -> bool:
        """Whether a row says itself whose it is. If not, the row that it names does."""
        return self.layout.family.level(name) < 3 or self.layout.family.tables[name].person is not None

    def schema(self, name: str) -> pa.Schema:
        """The columns of a ticket. That of the person is there once it is known."""
        table = self.layout.tables[name]
        fields = [("person", _ID)]
        fields += [("parent", _ID)] if self.layout.family.level(name) > 2 else []
        fields += [("key", _ID)] if self.has_key(name) else []
        fields += [] if table.ordered_by is None else [("turn", pa.int64())]
        return pa.schema([*fields, *((_code(place), pa.int32()) for place in range(len(table.measured)))])

    def write(self, name: str, records: pa.RecordBatch, *, keep_all: bool = False) -> pa.RecordBatch:
        """A ticket for each row of a table that can count, or for all; the person is null where only the row that it
        names knows.
        """
        table, family = self.layout.tables[name], self.layout.family
        own, fields = family.tables[name], self.schema(name)
        columns: dict[str, pa.Array] = {}
        if self.names_person(name):
            column = own.person or (own.key if name == family.root else family.foreign_key_of(name))
            columns["person"] = persons(records.column(column))
        else:
            columns["person"] = pa.nulls(records.num_rows, _ID)
        if "parent" in fields.names:
            columns["parent"] = persons(records.column(family.foreign_key_of(name)))
        if "key" in fields.names:
            columns["key"] = persons(records.column(own.key))
        if table.ordered_by is not None:
            columns["turn"] = pa.array(table.read_turns(records.column(table.ordered_by)))
        codes = table.layout.encode(records, table.measured).codes
        columns |= {_code(place): pa.array(codes[column]) for place, column in enumerate(table.measured)}
        written = pa.record_batch([columns[field] for field in fields.names], schema=fields)
        if keep_all:
            return written
        needed = written.column("person" if self.names_person(name) else "parent")
        return written.filter(needed.is_valid())

    def codes_in(self, name: str, batch: pa.Table) -> dict[str, CodeArray]:
        """The codes of tickets, by measured column."""
        names = self.layout.tables[name].measured
        found = {column: batch.column(_code(place)) for place, column in enumerate(names)}
        return {column: _numpy(codes) for column, codes in found.items()}

    def hash_persons(self, ids: pa.LargeBinaryArray) -> WordArray:
        """The words of persons, with which the numbers of their rows begin."""
        return hash_ids(self._key, ids)

    def hash_keys(self, name: str, ids: pa.LargeBinaryArray) -> WordArray:
        """The words of a table's keys."""
        return hash_ids(self._keys[name], ids)

    def numbers(self, name: str, words: WordArray, batch: pa.Table) -> list[IntArray]:
        """The numbers of each row: of the words that it begins with, its codes, its turn, its key and its parent row's.

        Rows that are the same in all of these are numbered through, 0, 1, 2 .., and each has numbers of its own: one of
        them is drawn no less and no more often than any other row, and it makes no difference which.
        """
        if "key" in batch.column_names:
            words = words + self.hash_keys(name, one_array(batch, "key"))
        if "parent" in batch.column_names:
            words = words + self.hash_keys(self.layout.family.tables[name].parent or "", one_array(batch, "parent"))
        codes: dict[str, NDArray[Any]] = dict(self.codes_in(name, batch))
        factors = self._factors[name]
        if "turn" in batch.column_names:
            codes[TURN] = mix(one_array(batch, "turn").to_numpy().view(np.uint64))
            factors = [{**one, TURN: own} for one, own in zip(factors, self._turns[name], strict=True)]
        numbers = [keyed_number(words[:, place], one, codes) for place, one in enumerate(factors)]
        again = {AGAIN: count_equals(numbers)}
        return [
            keyed_number(number.view(np.uint64), {AGAIN: factor}, again)
            for number, factor in zip(numbers, self._again[name], strict=True)
        ]


def _code(place: int) -> str:
    return f"code {place}"


def one_array(batch: pa.Table, name: str) -> pa.Array:
    """A column in one piece."""
    found = batch.column(name)
    return pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)


def _numpy(column: pa.ChunkedArray) -> CodeArray:
    return column.to_numpy() if column.num_chunks else np.zeros(0, dtype=np.int32)
