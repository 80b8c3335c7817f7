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
from sfumato.trusted.families.views import View, ViewColumn
from sfumato.trusted.keyed_numbers import derive_key, draw_factors, hash_ids, keyed_number
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.family import OrderColumn

UNIT = 1_024  # parts that all records of a person in one view share
WHOLE = 2**53

Rows = Mapping[str, Sequence[Mapping[str, Any]]]  # the rows of each table
Records = Counter[tuple[int, tuple[int, ...]]]  # how often each weight and codes occur


@dataclass(eq=False)
class Node:
    """A row that counts."""

    table: str
    key: bytes | None
    codes: dict[str, int]
    numbers: tuple[int, ...]
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
    """All records of a family.

    `ambiguous` says that rows of one parent row with the same codes and different places in the order competed for too
    few seats, or for one key: then this version keeps the earliest.
    """

    def __init__(self, family: FamilySchema, key: bytes, storage: Mapping[str, pa.Schema]) -> None:
        self.family, self.layout, self.storage = family, family_layout_of(family), storage
        self.ambiguous = False
        self._persons = derive_key(key, "persons")
        self._keys = {name: derive_key(key, f"table {name}") for name in family.tables}
        self._factors = {name: draw_factors(self._keys[name], self.layout.tables[name].measured) for name in self._keys}
        self._read: dict[Any, dict[str, int]] = {}

    def records(self, rows: Rows) -> dict[str, Records]:
        """The weight and the codes of every record of every view."""
        people = self.people(rows).values()
        return {
            name: Counter(record for person in people for record in self._records(view, person))
            for name, view in self.layout.views.items()
        }

    def people(self, rows: Rows) -> dict[bytes, Node]:
        """Every person with all rows that count."""
        root = self.family.root
        key = self.family.tables[root].key
        found = {}
        for person in sorted({id_of(row[key]) for row in rows[root]} - {None}):
            mine = [self._node(root, row, person) for row in rows[root] if id_of(row[key]) == person]
            found[person] = min(mine, key=lambda node: node.numbers)
            self._fill(found[person], person, rows)
        return found

    def _fill(self, node: Node, person: bytes, rows: Rows) -> None:
        """Hang up all rows below a row."""
        table = self.layout.tables[node.table]
        for child in self.family.children(node.table):
            named = [row for row in rows[child] if self._belongs(child, row, node, person)]
            nodes = [self._node(child, row, person, node) for row in named]
            if self.family.children(child):
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

    def _lowest(self, nodes: list[Node], most: int) -> list[Node]:
        """Those that win the lot: of equal rows the earliest."""
        ranked = sorted(nodes, key=lambda node: (node.numbers, node.in_order))
        for last, next_ in zip(ranked[most - 1 : most], ranked[most : most + 1], strict=False):
            same = [node.in_order for node in ranked if node.numbers == last.numbers]
            self.ambiguous |= last.numbers == next_.numbers and len(set(same)) > 1
        return ranked[:most]

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

    def _node(self, name: str, row: Mapping[str, Any], person: bytes, above: Node | None = None) -> Node:
        table, own = self.layout.tables[name], self.family.tables[name]
        keyed = above is not None and bool(self.family.children(name))
        key = id_of(row[own.key]) if keyed else None
        codes = dict(self._codes(name, row))
        numbers = self._numbers(name, person, key, tuple(codes[column] for column in table.measured))
        order = None if table.ordered_by is None else self._order(name, row[table.ordered_by])
        return Node(name, key, codes, numbers, order, above)

    def _codes(self, name: str, row: Mapping[str, Any]) -> dict[str, int]:
        """The codes of one row, read by itself."""
        known = (name, tuple(row.items()))
        if known not in self._read:
            table = self.layout.tables[name]
            batch = pa.RecordBatch.from_pylist([dict(row)], schema=self.storage[name])
            codes = table.layout.encode(batch, table.measured).codes
            self._read[known] = {column: int(codes[column][0]) for column in table.measured}
        return self._read[known]

    def _numbers(self, name: str, person: bytes, key: bytes | None, codes: tuple[int, ...]) -> tuple[int, ...]:
        known = (name, person, key, codes)
        if known not in self._read:
            words = hash_ids(self._persons, pa.array([person], pa.large_binary()))
            if key is not None:
                words = words + hash_ids(self._keys[name], pa.array([key], pa.large_binary()))
            read = {column: np.array([code]) for column, code in zip(self._factors[name][0], codes, strict=True)}
            self._read[known] = tuple(
                int(keyed_number(words[:, place], factors, read)[0])
                for place, factors in enumerate(self._factors[name])
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
            return _limited(_number(value), -WHOLE, WHOLE) if order.type == "integer" else _number(value)
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
