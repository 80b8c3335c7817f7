"""What is measured of a family of tables: the columns of every row, and the views that records are made of.

A row has more columns than its table: how many rows it has in each child table and, where rows follow each other by a
released column, the distance to the row before. Both are functions of the rows of one person.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import pyarrow as pa
from pydantic import ValidationError

from sfumato.errors import SchemaError
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.constraints.layout import Layout
from sfumato.trusted.encoding import Codes, NumericCodec, codes_of
from sfumato.trusted.families.turns import read_running_numbers, read_turns
from sfumato.trusted.families.views import PERSONS, View, ViewColumn, Which
from sfumato.trusted.identity import ByIdentity
from sfumato.trusted.schema import (
    Column,
    DateColumn,
    DatetimeColumn,
    FamilySchema,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from sfumato.trusted.schema.bounds import span_of
from sfumato.trusted.schema.family import FamilyTable, OrderColumn
from sfumato.trusted.schema.schema import Combination

_WHOLE = 2**53
_EXACT = 1 << 20  # whole numbers up to which each has a code of its own


@dataclass(frozen=True, eq=False)
class TableLayout:
    """One table of a family: its measured columns, and those that its rows have besides.

    definitions   of the measured columns, then of `counts` and, last, of `gap`
    counts        the column that says how many rows a row has in a child table, by that table
    gap           the column of the distance to the row before; None where there is no order, or a column not released
    """

    name: str
    table: FamilyTable
    layout: Layout
    definitions: Mapping[str, Column]
    counts: Mapping[str, str]
    gap: str | None

    @property
    def schema(self) -> Schema:
        """The schema of the table alone."""
        return self.layout.schema

    @property
    def measured(self) -> tuple[str, ...]:
        """The measured columns of the table."""
        return tuple(self.layout.measured.by_name)

    @cached_property
    def codes(self) -> Mapping[str, Codes]:
        """The codes of all columns of a row."""
        text = self.schema.text
        return {name: codes_of(column, text) for name, column in self.definitions.items()}

    @property
    def ordered_by(self) -> str | None:
        """The column that puts the rows of one parent row in order."""
        order = self.table.order
        return order.column if isinstance(order, OrderColumn) else order

    @cached_property
    def order_codes(self) -> NumericCodec | None:
        """How the values of that column are read as numbers."""
        order = self.table.order
        if order is None:
            return None
        column = _unreleased(order) if isinstance(order, OrderColumn) else self.schema[order]
        codes = codes_of(column, self.schema.text)
        assert isinstance(codes, NumericCodec)  # noqa: S101 - the schema has been checked
        return codes

    def read_turns(self, column: pa.Array) -> IntArray:
        """Where rows stand in the order, by the values of that column."""
        assert self.order_codes is not None  # noqa: S101 - there is an order
        order = self.table.order
        running = isinstance(order, OrderColumn) and order.type == "integer"
        return (read_running_numbers if running else read_turns)(self.order_codes, column)

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the table that are read."""
        order = () if self.ordered_by is None else (self.ordered_by,)
        return tuple(dict.fromkeys((*self.schema.ids, *self.layout.reads(self.measured), *order)))


def _unreleased(order: OrderColumn) -> Column:
    """The column as a schema would describe it, in the widest bounds."""
    match order.type:
        case "date":
            return DateColumn.model_validate(
                {"name": "x", "type": "date", "bounds": ("0001-01-01", "9999-12-31"), "missing": True}
            )
        case "datetime":
            ends = ("0001-01-01T00:00:00", "9999-12-31T23:59:59")
            return DatetimeColumn.model_validate({"name": "x", "type": "datetime", "bounds": ends, "missing": True})
        case "integer":
            return IntegerColumn(name="x", type="integer", bounds=(-_WHOLE, _WHOLE), missing=True)
        case "number":
            return NumberColumn(name="x", type="number", bounds=(-1e100, 1e100), missing=True)


@dataclass(frozen=True, eq=False)
class FamilyLayout:
    """The tables and views of a family.

    Edge cases
        An order by a column that a constraint decides, a function of a child table that would have to be learnt, more
        columns than a view can have: `SchemaError`.
    """

    family: FamilySchema

    def __post_init__(self) -> None:
        for name, table in self.tables.items():
            order = table.table.order
            if isinstance(order, str) and order not in table.measured:
                raise SchemaError(
                    f"tables, {name}, order: {order!r} follows from a constraint; order by the column behind it"
                )
            if table.layout.functions and name != self.family.root:
                child = table.layout.functions[0][0]
                raise SchemaError(
                    f"tables, {name}, constraints: {child!r} would have to be learnt as a function, which is for the "
                    "table of persons and for single tables; write its table"
                )
        _ = self.views  # too many columns, or names that collide, are refused now

    @cached_property
    def tables(self) -> Mapping[str, TableLayout]:
        """Every table, each after its parent."""
        return {name: self._table(name) for name in self.family.in_order}

    def _table(self, name: str) -> TableLayout:
        table, layout = self.family.tables[name], layout_of(self.family.schema_of(name))
        definitions = dict(layout.measured.by_name)
        counts = {}
        for child in self.family.children(name):
            least, most = self.family.rows_of(child)
            counts[child] = _free(f"number of {child}", definitions)
            definitions[counts[child]] = IntegerColumn(name="x", type="integer", bounds=(least, most))
        gap = None
        if isinstance(table.order, str) and table.order in definitions and self.family.rows_of(name)[1] > 1:
            gap = _free(f"{table.order} since the row before", definitions)
            try:
                definitions[gap] = _gap(layout.schema[table.order], table.gap)
            except (ValidationError, OverflowError):
                raise SchemaError(
                    f"tables, {name}, order: rows of {table.order!r} can be too far apart for a column; write narrower "
                    "bounds, or gap: [0, MOST]"
                ) from None
        return TableLayout(name, table, layout, definitions, counts, gap)

    @cached_property
    def views(self) -> Mapping[str, View]:
        """Every view, by its name."""
        found = [self._persons()]
        for name in self.family.in_order[1:]:
            if self.family.level(name) > 2:  # first rows of persons are in their view already
                found.append(self._first(name))
            elif self.tables[name].table.target and self.family.rows_of(name)[0] == 0:
                targets = _targets(self.tables[name])
                found.append(replace(found[0], name=f"{name}, first", targets=targets, forbidden=(), having=name))
            if self.family.rows_of(name)[1] > 1:
                found.append(self._next(name))
        return {view.name: view for view in found}

    def _persons(self) -> View:
        root, family = self.tables[self.family.root], self.family
        columns = list(_columns(root, "own", root.definitions))
        rules = [_renamed(rule, root.name) for rule in root.layout.measured.forbidden]
        targets = list(_targets(root))
        for child, count in root.counts.items():
            table, may_be_absent = self.tables[child], family.rows_of(child)[0] == 0
            columns += _columns(table, "first", _first_columns(table), missing=True if may_be_absent else None)
            there: Combination = {}
            if may_be_absent:
                name = f"{root.name}.{count}"
                there = {name: ((1, root.codes[count].size),)}
                rules += _absent_together(table, name, there)
            rules += [{**there, **_renamed(rule, child)} for rule in table.layout.measured.forbidden]
            targets += () if may_be_absent else _targets(table)
        return View(PERSONS, root.name, tuple(columns), tuple(targets), tuple(rules))

    def _first(self, name: str) -> View:
        table = self.tables[name]
        columns = (*self._above(name), *_columns(table, "own", _first_columns(table)))
        return View(f"{name}, first", name, columns, _targets(table))

    def _next(self, name: str) -> View:
        table, (_, most) = self.tables[name], self.family.rows_of(name)
        own = [
            column for column in table.definitions if table.gap is None or column not in (table.gap, table.ordered_by)
        ]
        ordered = table.ordered_by is not None
        columns = [*self._above(name, without=(name,) if ordered else ())]
        if ordered:
            columns += [_place(name, "place", 2, most), _place(name, "left", 0, most - 2)]
        columns += [*_columns(table, "previous", table.definitions), *_columns(table, "own", own)]
        if table.gap is not None:
            columns += _columns(table, "own", [table.gap], missing=table.schema[str(table.ordered_by)].missing)
        return View(f"{name}, next", name, tuple(columns), _targets(table))

    def _above(self, name: str, without: tuple[str, ...] = ()) -> Iterator[ViewColumn]:
        """The columns of all rows above a row, but for the number of its rows in the tables of `without`."""
        for above in self.family.path(name)[:-1]:
            table = self.tables[above]
            told = {table.counts[child] for child in without if child in table.counts}
            yield from _columns(table, "above", [column for column in table.definitions if column not in told])


def _targets(table: TableLayout) -> tuple[str, ...]:
    """The column of a table's row that users will predict, as views call it."""
    return (f"{table.name}.{table.layout.measured.target}",) if table.table.target else ()


def _first_columns(table: TableLayout) -> list[str]:
    """The columns of a first row, which has none before it."""
    return [name for name in table.definitions if name != table.gap]


def _columns(
    table: TableLayout, which: Which, names: Iterable[str], missing: bool | None = None
) -> Iterator[ViewColumn]:
    """Columns of a table's row in a view; `missing` says whether they may be null, where the table does not."""
    before = "previous " if which == "previous" else ""
    for name in names:
        definition = table.definitions[name]
        if missing is not None:
            definition = definition.model_copy(update={"missing": missing})
        yield ViewColumn(f"{before}{table.name}.{name}", which, table.name, name, definition)


def _place(table: str, which: Which, least: int, most: int) -> ViewColumn:
    column = IntegerColumn(name="x", type="integer", bounds=(least, most))
    return ViewColumn(f"{table} ({which})", which, table, "", column)


def _absent_together(table: TableLayout, count: str, there: Combination) -> Iterator[Combination]:
    """A person without rows has nulls in all columns of the first; and one with rows only where the table has."""
    for name in _first_columns(table):
        codes = table.codes[name]
        values = codes.size if codes.missing is None else codes.missing
        yield {count: ((0, 1),), f"{table.name}.{name}": ((0, values),)}
        if codes.missing is None:
            yield {**there, f"{table.name}.{name}": ((values, values + 1),)}


def _renamed(rule: Combination, table: str) -> Combination:
    return {f"{table}.{name}": runs for name, runs in rule.items()}


def _gap(order: Column, bounds: tuple[float, float] | None) -> Column:
    """The distance between two values: in days of dates, in seconds of datetimes; null for the first row."""
    low, high = span_of(order)
    least, most = bounds or (0.0, high - low)
    if order.type == "number":
        return NumberColumn(name="x", type="number", bounds=(least, max(most, 2.0**-20)), missing=True)
    content = {"name": "x", "type": "integer", "bounds": (round(least), max(round(most), 1)), "missing": True}
    return IntegerColumn.model_validate({**content, "scale": "log" if most >= _EXACT else "linear"})


def _free(name: str, taken: Mapping[str, Column]) -> str:
    while name in taken:
        name += "'"
    return name


def family_layout_of(family: FamilySchema) -> FamilyLayout:
    """The layout of a family."""
    return _layout_of(ByIdentity(family))


@lru_cache(maxsize=16)
def _layout_of(key: ByIdentity[FamilySchema]) -> FamilyLayout:
    return FamilyLayout(key.value)
