"""A hunter of persons: the largest move of a sum that one person with any number of records can make."""

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.statistics import Statistic
from tests.statistics.hunting import norm

ID = "person"
Make = Callable[[int, np.random.Generator], pa.Table]  # random records of the schema's columns


def owned(records: pa.Table, ids: object) -> pa.Table:
    """The records with the column that says whose they are."""
    return records.append_column(ID, pa.array(np.broadcast_to(np.asarray(ids), len(records)).astype(str)))


def move(statistic: Statistic, schema: Schema, here: pa.Table, there: pa.Table, key: bytes) -> float:
    """How far the sum moves between two tables, through the source that releases go through."""
    return norm(statistic, total(statistic, schema, here, key) - total(statistic, schema, there, key))


def total(statistic: Statistic, schema: Schema, data: object, key: bytes | None = None) -> np.ndarray:
    """The sum over a table."""
    with closing(open_source(data, schema, key, declared=True)) as source:
        return source.sum(statistic)


def neighbours(
    adjacency: Adjacency, schema: Schema, others: pa.Table, make: Make, rng: np.random.Generator, rows: int
) -> tuple[pa.Table, pa.Table]:
    """Two tables that differ in one person who has up to so many records, one of each kind again and again or any."""

    def records(count: int) -> pa.Table:
        found = make(count, rng)
        return found.take(pa.array(rng.integers(0, rng.integers(1, count + 1), count))) if count else found

    before = owned(records(int(rng.integers(1, rows + 1))), "one")
    match adjacency:
        case Adjacency.ADD_REMOVE:
            after = before.slice(0, 0)
        case Adjacency.REPLACE:
            after = owned(records(int(rng.integers(0, rows + 1))), "one")
        case Adjacency.LABEL:
            labels = make(len(before), rng).column(schema.target)
            after = before.set_column(before.column_names.index(schema.target), schema.target, labels)
    return tuple(_shuffled(pa.concat_tables([others, person]), rng) for person in (before, after))


def hunted(
    statistic: Statistic, adjacency: Adjacency, schema: Schema, make: Make, tries: int = 40, rows: int = 60
) -> Iterator[float]:
    """Moves of the sum, as shares of what the claim for one record allows for `records` of them."""
    rng = np.random.default_rng(0)
    others = owned(make(50, rng), rng.integers(0, 12, 50))
    claim = schema.unit.records * statistic.sensitivity(adjacency)
    for attempt in range(tries):
        here, there = neighbours(adjacency, schema, others, make, rng, rows)
        yield move(statistic, schema, here, there, bytes([attempt])) / claim


def _shuffled(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    return table.take(pa.array(rng.permutation(len(table))))
