"""Tables that an audit attacks: invented from the schema alone, so that no private record is needed or read."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.schema import BooleanColumn, CategoryColumn, Column, Schema, is_unknown
from sfumato.trusted.schema.columns import text_of

_WORDS = tuple(f"word {k}" for k in range(6))
_UNLISTED = "a value that is not listed"
_SHARES = (0.0, 1.0, 0.25, 0.5, 0.75, 0.1, 0.9, 0.01, 0.99)
_LARGEST = 2**62


def arrow_type(column: Column) -> pa.DataType:
    """The type in which invented values of a column are stored; an integer has room for what is out of bounds."""
    if isinstance(column, CategoryColumn) or (isinstance(column, BooleanColumn) and column.words):
        return pa.string()
    types = {"boolean": pa.bool_(), "number": pa.float64(), "integer": pa.int64(), "date": pa.date32()}
    return types.get(column.type, pa.timestamp("s"))


def known_values(column: Column) -> list[Any]:
    """Values that the schema allows: of a list all, of a range both ends, points between, and what stands out."""
    missing = [None] if column.missing else []
    if isinstance(column, CategoryColumn):
        return [*(_WORDS if is_unknown(column) else map(text_of, column.values)), *missing]
    if isinstance(column, BooleanColumn):
        return [*(map(text_of, column.words) if column.words else (False, True)), *missing]
    low, high = column.bounds
    inside = [_between(low, high, share) for share in _SHARES]
    return [*inside, *getattr(column, "atoms", ()), *missing]


def strange_values(column: Column) -> list[Any]:
    """Values that the schema does not allow and a table may hold all the same: nulls, unlisted, out of bounds."""
    if isinstance(column, CategoryColumn) or (isinstance(column, BooleanColumn) and column.words):
        return [None, _UNLISTED]
    if isinstance(column, BooleanColumn):
        return [None]
    low, high = column.bounds
    return [None, *(value for value in (_beyond(low, high), _beyond(high, low)) if value is not None)]


def _between(low: Any, high: Any, share: float) -> Any:
    """A value at a share of the way, of the type of the ends."""
    if isinstance(low, dt.datetime):
        return low + dt.timedelta(seconds=round(share * (high - low).total_seconds()))
    if isinstance(low, dt.date):
        return low + dt.timedelta(days=round(share * (high - low).days))
    value = low + share * (high - low)
    return int(value) if isinstance(low, int) and isinstance(high, int) else value


def _beyond(far: Any, near: Any) -> Any:
    """A value as far on the other side of `near` as `far` is on this side; None where there is none."""
    try:
        value = near + (near - far) + (dt.timedelta(days=1) if isinstance(near, dt.date) else 0)
    except OverflowError:
        return None
    return value if isinstance(value, dt.date) or abs(value) < _LARGEST else None


def invent_rows(schema: Schema, rows: int, rng: np.random.Generator, strange: bool = False) -> pa.Table:
    """Independent records of values that the schema allows, or, where `strange`, of some that it does not."""
    pools = {
        name: known_values(column) + (strange_values(column) if strange else [])
        for name, column in schema.by_name.items()
    }
    chosen = {name: rng.integers(0, len(pool), rows) for name, pool in pools.items()}
    return _table(schema, {name: [pools[name][k] for k in places] for name, places in chosen.items()})


def corner_rows(schema: Schema) -> pa.Table:
    """Records at the ends of every column: lowest, highest, alternating, and all of them out of bounds."""
    columns = schema.by_name
    ends = {name: known_values(column)[:2] * 2 for name, column in columns.items()}
    odd = {name: strange_values(column) for name, column in columns.items()}
    places = range(len(columns))
    patterns = [[0 for _ in places], [1 for _ in places], [j % 2 for j in places], [j // 2 % 2 for j in places]]
    patterns.append([(j + 1) % 2 for j in places])
    rows = {name: [ends[name][pattern[j]] for pattern in patterns] for j, name in enumerate(columns)}
    return _table(schema, {name: [*rows[name], odd[name][0], odd[name][-1]] for name in columns})


def middle_row(schema: Schema) -> pa.Table:
    """One record in the middle of every range and at the last value of every list, with room on either side."""
    values = {name: [v for v in known_values(column) if v is not None] for name, column in schema.by_name.items()}
    places = {name: _SHARES.index(0.5) if _is_ordered(column) else -1 for name, column in schema.by_name.items()}
    return _table(schema, {name: [values[name][places[name]]] for name in values})


def _is_ordered(column: Column) -> bool:
    return not isinstance(column, CategoryColumn | BooleanColumn)


def _table(schema: Schema, values: Mapping[str, Sequence[Any]]) -> pa.Table:
    types = {name: arrow_type(column) for name, column in schema.by_name.items()}
    return pa.table({name: pa.array(values[name], types[name]) for name in types})


def with_persons(schema: Schema, rows: pa.Table, persons: IntArray) -> pa.Table:
    """The rows with the column that says whose they are, where the schema has a unit."""
    return rows.append_column(schema.unit.column, pa.array(persons)) if schema.unit else rows


def other_targets(schema: Schema, rows: pa.Table) -> tuple[pa.Table, IntArray]:
    """Each row with every value that the target may take, and which row each comes from."""
    if schema.target is None:
        raise ValueError("a schema without a target has no label to change")
    column = schema[schema.target]
    values = known_values(column) + strange_values(column)
    place = rows.column_names.index(schema.target)
    origin = np.repeat(np.arange(len(rows)), len(values))
    labels = pa.array(values * len(rows), arrow_type(column))
    return rows.take(pa.array(origin)).set_column(place, schema.target, labels), origin
