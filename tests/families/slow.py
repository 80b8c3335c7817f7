"""The records of every view of a family, written a second time: row by row, in lists and dictionaries.

A person is a tree: their row, and below each row lists of the rows that belong to it. Only what single values are read
as, and the keyed numbers of single rows, come from the library; who has which rows, which of them count and in which
order, and what stands in a record, is written anew from what the library promises.
"""

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.trusted.families import family_layout_of
from sfumato.trusted.families.tickets import AGAIN, TURN
from sfumato.trusted.families.views import View, ViewColumn
from sfumato.trusted.keyed_numbers import derive_key, draw_factors, draw_words, hash_ids, keyed_number, mix
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.family import OrderColumn

UNIT = 1_024  # parts that all records of a person in one view share

Rows = Mapping[str, Sequence[Mapping[str, Any]]]  # the rows of each table
Records = Counter[tuple[int, tuple[int, ...]]]  # how often each weight and codes occur


@dataclass(eq=False)
class Node:
    """A row that counts."""

    table: str
    key: bytes | None
    codes: dict[str, int]
    numbers: tuple[int, ...]
    row: Mapping[str, Any]
    order: float | None = None
    above: "Node | None" = None
    before: "Node | None" = None
    place: int = 0
    siblings: int = 1
    below: dict[str, list["Node"]] = field(default_factory=dict)

    @property
    def in_order(self) -> tuple[bool, float]:
        """Rows without a place in the order come last."""
        return (self.order is None or math.isnan(self.order), 0.0 if self.order is None else self.order)

    def all_of(self, table: str) -> Iterator["Node"]:
        """The rows of a table that belong to this one, or to rows of it, from front to back."""
        if self.table == table:
            yield self
        for rows in self.below.values():
            for row in rows:
                yield from row.all_of(table)

    def of(self, table: str) -> "Node":
        """This row or the one above it that is of a table."""
        assert self.table == table or self.above is not None
        return self if self.table == table else self.above.of(table)


def id_of(value: object) -> bytes | None:
    """A person or a key, which are whole numbers or text here, as bytes."""
    return None if value is None or value == "" else str(value).encode()


class SlowFamily:
    """All records of a family."""

    def __init__(self, family: FamilySchema, key: bytes, storage: Mapping[str, pa.Schema]) -> None:
        self.family, self.layout, self.storage = family, family_layout_of(family), storage
        self._persons = derive_key(key, "persons")
        self._keys = {name: derive_key(key, f"table {name}") for name in family.tables}
        self._factors = {name: draw_factors(self._keys[name], self.layout.tables[name].measured) for name in self._keys}
        self._turns, self._again = (
            {name: draw_words(derive_key(self._keys[name], purpose)) for name in self._keys}
            for purpose in (TURN, AGAIN)
        )
        self._read: dict[Any, Any] = {}

    def records(self, rows: Rows) -> dict[str, Records]:
        """The weight and the codes of every record of every view."""
        rows = {name: self._of_every_key(name, found) for name, found in rows.items()}
        people = self.people(rows).values()
        return {
            name: Counter(record for person in people for record in self._records(view, person))
            for name, view in self.layout.views.items()
        }

    def _of_every_key(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Where rows do not say whose they are: of each key not more than a parent row may have."""
        if self.family.level(name) < 3 or self.family.tables[name].person is not None:
            return rows
        column = self.family.foreign_key_of(name)
        kept = []
        for key in sorted({id_of(row[column]) for row in rows} - {None}):
            words = hash_ids(self._keys[name], pa.array([key], pa.large_binary()))
            nodes = [self._node(name, row, words) for row in rows if id_of(row[column]) == key]
            kept += [node.row for node in self._lowest(self._told_apart(nodes), self.family.rows_of(name)[1])]
        return kept

    def people(self, rows: Rows) -> dict[bytes, Node]:
        """Every person with all rows that count."""
        root = self.family.root
        key = self.family.tables[root].key
        found = {}
        for person in sorted({id_of(row[key]) for row in rows[root]} - {None}):
            words = hash_ids(self._persons, pa.array([person], pa.large_binary()))
            mine = [self._node(root, row, words) for row in rows[root] if id_of(row[key]) == person]
            (found[person],) = self._lowest(self._told_apart(mine), 1)
            self._fill(found[person], person, rows)
        return found

    def _fill(self, node: Node, person: bytes, rows: Rows) -> None:
        """Hang up all rows below a row."""
        table = self.layout.tables[node.table]
        for child in self.family.children(node.table):
            named = [row for row in rows[child] if self._belongs(child, row, node, person)]
            words = hash_ids(self._persons, pa.array([person], pa.large_binary()))
            nodes = self._told_apart([self._node(child, row, words, node) for row in named])
            if self.family.tables[child].key is not None:
                nodes = self._one_of_each_key(nodes)
            node.below[child] = self._in_order(child, nodes)
            for one in node.below[child]:
                self._fill(one, person, rows)
            node.codes[table.counts[child]] = code_in(table.codes[table.counts[child]], len(node.below[child]))

    def _belongs(self, child: str, row: Mapping[str, Any], node: Node, person: bytes) -> bool:
        """Whether a row names a row and, where it says whose it is, that row's person."""
        named = id_of(row[self.family.foreign_key_of(child)])
        if node.table == self.family.root:
            return named == person
        column = self.family.tables[child].person
        return named == node.key and (column is None or id_of(row[column]) == person)

    def _one_of_each_key(self, nodes: list[Node]) -> list[Node]:
        found = []
        for key in sorted({node.key for node in nodes} - {None}):
            same = [node for node in nodes if node.key == key]
            found += self._lowest(same, 1)
        return found

    def _told_apart(self, nodes: list[Node]) -> list[Node]:
        """Rows that are the same in everything, numbered through."""
        seen: Counter[tuple[int, ...]] = Counter()
        for node in nodes:
            again = {AGAIN: np.array([seen[node.numbers]])}
            seen[node.numbers] += 1
            node.numbers = tuple(
                int(keyed_number(np.array([number]).view(np.uint64), {AGAIN: factor}, again)[0])
                for number, factor in zip(node.numbers, self._again[node.table], strict=True)
            )
        return nodes

    @staticmethod
    def _lowest(nodes: list[Node], most: int) -> list[Node]:
        """Those that win the lot."""
        return sorted(nodes, key=lambda node: node.numbers)[:most]

    def _in_order(self, child: str, nodes: list[Node]) -> list[Node]:
        """Not more rows than a parent row may have, as they follow each other."""
        kept = self._lowest(nodes, self.family.rows_of(child)[1])
        kept.sort(key=lambda node: (node.in_order, node.numbers))
        gap = self.layout.tables[child].gap
        for place, node in enumerate(kept):
            node.place, node.siblings = place, len(kept)
            node.before = kept[place - 1] if place else None
            if gap is not None:
                node.codes[gap] = code_in(self.layout.tables[child].codes[gap], self._gap(node))
        return kept

    @staticmethod
    def _gap(node: Node) -> float | None:
        if node.before is None or math.isnan(node.order) or math.isnan(node.before.order):
            return None
        return node.order - node.before.order

    def _node(self, name: str, row: Mapping[str, Any], words: Any, above: Node | None = None) -> Node:
        table, own = self.layout.tables[name], self.family.tables[name]
        key = id_of(row[own.key]) if name != self.family.root and own.key is not None else None
        codes = dict(self._codes(name, row))
        if key is not None:
            words = words + hash_ids(self._keys[name], pa.array([key], pa.large_binary()))
        if self.family.level(name) > 2:
            named = id_of(row[self.family.foreign_key_of(name)])
            words = words + hash_ids(self._keys[own.parent], pa.array([named], pa.large_binary()))
        numbers = self._numbers(name, words, tuple(codes[column] for column in table.measured), row)
        order = None if table.ordered_by is None else self._order(name, row[table.ordered_by])
        return Node(name, key, codes, numbers, row, order, above)

    def _codes(self, name: str, row: Mapping[str, Any]) -> dict[str, int]:
        """The codes of one row, read by itself."""
        known = (name, tuple(row.items()))
        if known not in self._read:
            table = self.layout.tables[name]
            batch = pa.RecordBatch.from_pylist([dict(row)], schema=self.storage[name])
            codes = table.layout.encode(batch, table.measured).codes
            self._read[known] = {column: int(codes[column][0]) for column in table.measured}
        return self._read[known]

    def _numbers(self, name: str, words: Any, codes: tuple[int, ...], row: Mapping[str, Any]) -> tuple[int, ...]:
        table = self.layout.tables[name]
        at = None if table.ordered_by is None else row[table.ordered_by]
        known = (name, words.tobytes(), codes, at)
        if known not in self._read:
            read: dict[str, Any] = {
                column: np.array([code]) for column, code in zip(self._factors[name][0], codes, strict=True)
            }
            factors: list[dict[str, Any]] = [dict(one) for one in self._factors[name]]
            if table.ordered_by is not None:
                cell = pa.array([at], self.storage[name].field(table.ordered_by).type)
                read[TURN] = mix(table.read_turns(cell).view(np.uint64))
                for one, factor in zip(factors, self._turns[name], strict=True):
                    one[TURN] = factor
            self._read[known] = tuple(
                int(keyed_number(words[:, place], one, read)[0]) for place, one in enumerate(factors)
            )
        return self._read[known]

    def _order(self, name: str, value: Any) -> float:
        """Where a row stands in the order; not a number where it does not say so."""
        codes, order = self.layout.tables[name].order_codes, self.family.tables[name].order
        released = not isinstance(order, OrderColumn)
        column = self.family.schema_of(name)[order] if released else order
        if value is None:
            return math.nan if not released or column.missing else float(codes.numbers[codes.otherwise])
        if not released:
            return value if order.type == "integer" else _number(value)
        return _limited(_number(value), *map(_number, column.bounds))

    def _records(self, view: View, person: Node) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The records of one person in a view, which share a unit."""
        if view.table == self.family.root:
            nodes = [person] if self._has_all(person, view.having) else []
        else:
            later = bool(view.names("previous"))
            nodes = [node for node in person.all_of(view.table) if (node.place > 0) == later]
        kept = sorted(nodes, key=lambda node: node.numbers)[:UNIT]
        for node in kept:
            yield UNIT // len(kept), tuple(self._code(column, node) for column in view.columns)

    def _has_all(self, person: Node, having: str | None) -> bool:
        needed = {child for child in person.below if self.family.rows_of(child)[0] > 0} | ({having} - {None})
        return all(person.below[child] for child in needed)

    @staticmethod
    def _code(column: ViewColumn, node: Node) -> int:
        match column.which:
            case "own":
                return node.codes[column.column]
            case "previous":
                return node.before.codes[column.column]
            case "above":
                return node.of(column.table).codes[column.column]
            case "first":
                rows = node.below[column.table]
                return rows[0].codes[column.column] if rows else column.codes.missing
            case "place":
                return code_in(column.codes, node.place + 1)
            case "left":
                return code_in(column.codes, node.siblings - node.place - 1)


def code_in(codes: Any, value: float | None) -> int:
    """The code of one value."""
    return int(codes.encode(pa.array([value], pa.float64()))[0])


def _number(value: Any) -> float:
    """A value as a number: days of dates, seconds of datetimes."""
    if isinstance(value, dt.datetime):
        return float(round((value - dt.datetime(1970, 1, 1)).total_seconds()))
    return float((value - dt.date(1970, 1, 1)).days) if isinstance(value, dt.date) else float(value)


def _limited(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
