"""Persons that an audit of a family invents: their rows in all tables, from the schema alone.

Keys of an invented person are numbered from 0 on, and become fresh ones when the person is put into a family. A
negative number stands for a key that somebody else in the family has.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.auditing.invention import corner_rows, invent_rows, middle_row
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.family import OrderColumn

Tables = Mapping[str, pa.Table]
MOST_KEYS = 1_000  # of one person
_FEW, _MANY = 4, 40  # rows of one parent row, and of one person in one table
_UNTIDY = 0.1  # of rows lack a key, or have that of another row
_HIDDEN = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32(), "datetime": pa.timestamp("s")}

Rows = Callable[[str, int], pa.Table]  # so many rows of a table, without keys
Sizes = Callable[[str, int], int]  # how many rows of a table the parent row at this place has


def corner_persons(family: FamilySchema) -> list[Tables]:
    """Persons whose rows of a table are all one and the same, at the ends of every column; few rows, then many."""
    corners = {name: corner_rows(family.schema_of(name)) for name in family.tables}
    places = range(len(corners[family.root]))

    def alike(at: int) -> Rows:
        return lambda name, rows: corners[name].take(pa.array([at] * rows, pa.int64()))

    return [build_person(family, alike(at), size) for size in (_two, _several(family)) for at in places]


def middle_person(family: FamilySchema) -> Tables:
    """Two rows of each table below the first row of its parent, all in the middle of their columns."""
    rows = {name: middle_row(family.schema_of(name)) for name in family.tables}
    return build_person(family, lambda name, count: rows[name].take(pa.array([0] * count, pa.int64())), _two)


def _two(_: str, place: int) -> int:
    """A first row and a next one, once: in every view one record, which then has a person's whole unit."""
    return 0 if place else 2


def _several(family: FamilySchema) -> Sizes:
    return lambda name, _: min(_FEW, family.rows_of(name)[1])


def invent_person(family: FamilySchema, rng: np.random.Generator, *, untidy: bool = False) -> Tables:
    """Random rows, as many as may be, or, where `untidy`, more, and with values and keys that are not allowed."""

    def rows(name: str, count: int) -> pa.Table:
        found = invent_rows(family.schema_of(name), count, rng, untidy)
        return found.take(pa.array([0] * count, pa.int64())) if count and rng.random() < 0.3 else found

    def size(name: str, _: int) -> int:
        least, most = family.rows_of(name)
        sizes = [least, most, min(least + 1, most), *([0, most + 3] if untidy else [])]
        return min(int(rng.choice(sizes)), _MANY)

    person = build_person(family, rows, size)
    return {name: _disturbed(table, family, name, rng) for name, table in person.items()} if untidy else person


def plain_person(family: FamilySchema, rng: np.random.Generator) -> Tables:
    """Random rows, in each table one and the same with as many rows below, so that no lot decides which is which."""
    chosen = {name: invent_rows(family.schema_of(name), 1, rng) for name in family.tables}
    sizes = {}
    for name in family.tables:
        least, most = family.rows_of(name)
        sizes[name] = int(rng.integers(least, min(most, max(least, _FEW)) + 1))
    return build_person(
        family, lambda name, count: chosen[name].take(pa.array([0] * count, pa.int64())), lambda name, _: sizes[name]
    )


def person_with_keys(family: FamilySchema, table: str, keys: Sequence[int]) -> Tables:
    """A person like the one in the middle whose rows of a table have keys that others have."""
    rows = {name: middle_row(family.schema_of(name)) for name in family.tables}
    person = build_person(
        family,
        lambda name, count: rows[name].take(pa.array([0] * count, pa.int64())),
        lambda name, _: len(keys) if name == table else 0,
    )
    place = person[table].column_names.index(family.tables[table].key)
    field = person[table].field(place)
    return {**person, table: person[table].set_column(place, field, pa.array([-key - 1 for key in keys]))}


def build_person(family: FamilySchema, rows: Rows, size: Sizes) -> Tables:
    """One person's rows in all tables, with keys."""
    found: dict[str, pa.Table] = {}
    for name in family.in_order:
        table = family.tables[name]
        above = found[table.parent].num_rows if table.parent else 1
        sizes = [1] if table.parent is None else [size(name, place) for place in range(above)]
        parents = np.repeat(np.arange(above), sizes)[:_MANY]
        filled = rows(name, len(parents))
        ids = {} if table.parent is None else {family.foreign_key_of(name): parents}
        if table.person is not None:
            ids[table.person] = np.zeros(len(parents), dtype=np.int64)
        if table.key is not None:
            ids[table.key] = np.arange(len(parents))
        for column, numbers in ids.items():
            filled = filled.append_column(column, pa.array(numbers, pa.int64()))
        if isinstance(table.order, OrderColumn):
            numbers = pa.array(np.arange(len(parents)) // 2)
            kind = _HIDDEN[table.order.type]
            via = pa.int32() if pa.types.is_date32(kind) else pa.int64()
            filled = filled.append_column(table.order.column, numbers.cast(via).cast(kind))
        found[name] = filled
    return found


def _disturbed(table: pa.Table, family: FamilySchema, name: str, rng: np.random.Generator) -> pa.Table:
    """Some rows without a key, or with the key of another row; persons keep theirs."""
    columns = () if name == family.root else (*family.tables[name].keys, family.foreign_key_of(name))
    for column in dict.fromkeys(columns):
        place = table.column_names.index(column)
        numbers = table.column(place).combine_chunks()
        lost, shared = (pa.array(rng.random(len(table)) < _UNTIDY) for _ in range(2))
        numbers = pc.if_else(lost, pa.nulls(len(table), pa.int64()), pc.if_else(shared, pa.scalar(0), numbers))
        table = table.set_column(place, column, numbers)
    return table


def put_together(family: FamilySchema, persons: Mapping[int, Tables]) -> Tables:
    """The tables of some persons, by their numbers."""
    parts = {
        name: [_numbered(person[name], family, name, number) for number, person in persons.items()]
        for name in family.tables
    }
    return {name: pa.concat_tables(found).combine_chunks() for name, found in parts.items()}


def _numbered(table: pa.Table, family: FamilySchema, name: str, number: int) -> pa.Table:
    """A person's rows in one table with keys that nobody else has, but for those that are meant to be shared."""
    own = family.tables[name]
    to_person = {own.person, own.key if name == family.root else None}
    to_person |= {family.foreign_key_of(name)} if own.parent == family.root else set()
    columns = {own.key, own.person, None if own.parent is None else family.foreign_key_of(name)} - {None}
    for column in columns:
        place = table.column_names.index(column)
        numbers = table.column(place)
        if column in to_person:
            fresh = pc.if_else(pc.is_valid(numbers), pa.scalar(number), numbers)
        else:
            fresh = pc.if_else(pc.less(numbers, 0), pc.subtract(-1, numbers), pc.add(number * MOST_KEYS, numbers))
        table = table.set_column(place, column, fresh)
    return table
