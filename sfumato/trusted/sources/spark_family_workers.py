"""What runs on Spark's workers for families of tables. Nothing here draws noise; errors quote nothing."""

import functools
import json
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from sfumato.trusted.arrays import CodeArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.families import FamilyLayout, family_layout_of
from sfumato.trusted.families.assembly import assemble, keep_named
from sfumato.trusted.families.tickets import Tickets, one_array
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources.spark_workers import Records, in_pieces, quietly
from sfumato.trusted.sources.sums import sum_of
from sfumato.trusted.statistics import PersonLevel, Statistic, statistic_from_dict

TICKETS = pa.schema(
    [
        ("table", pa.int32()),
        ("person", pa.binary()),
        ("parent", pa.binary()),
        ("key", pa.binary()),
        ("turn", pa.int64()),
        ("codes", pa.binary()),
    ]
)
RECORDS = pa.schema([("view", pa.int32()), ("weight", pa.int32()), ("codes", pa.binary())])
_ROWS_AT_ONCE = 1 << 16


@quietly
def write_tickets(schema: str, key: bytes, name: str, records: Records) -> Records:
    """The tickets of a table's rows, in the form that those of all tables have in common."""
    tickets = _tickets(schema, key)
    table = tickets.layout.tables[name]
    for batch in records:
        written = tickets.write(name, batch.rename_columns(list(table.reads)))
        rows, there = written.num_rows, set(written.schema.names)
        ids = {
            column: written.column(column).cast(pa.binary()) if column in there else pa.nulls(rows, pa.binary())
            for column in ("person", "parent", "key")
        }
        turn = written.column("turn") if "turn" in there else pa.nulls(rows, pa.int64())
        codes = tickets.codes_in(name, pa.Table.from_batches([written]))
        number = pa.array(np.full(rows, list(tickets.layout.tables).index(name), dtype=np.int32))
        yield pa.record_batch([number, *ids.values(), turn, pack(codes, rows)], schema=TICKETS)


@quietly
def assemble_views(schema: str, key: bytes, records: Records) -> Records:
    """The records of all views, of the persons of one part, whose rows come person by person."""
    tickets = _tickets(schema, key)
    for together in _together("person", records):
        rows = {name: _of_table(tickets, number, name, together) for number, name in enumerate(tickets.layout.tables)}
        for number, (_, found) in enumerate(assemble(tickets.layout, tickets, rows).items()):
            count = len(found.weights)
            view = pa.array(np.full(count, number, dtype=np.int32))
            weights = pa.array(found.weights.astype(np.int32))
            yield pa.record_batch([view, weights, pack(found.codes, count)], schema=RECORDS)


@quietly
def keep_rows_of_keys(schema: str, key: bytes, name: str, records: Records) -> Records:
    """Not more rows of one key than its row may have: see `keep_named`. Rows come key by key."""
    tickets = _tickets(schema, key)
    for together in _together("parent", records):
        rows = _of_table(tickets, list(tickets.layout.tables).index(name), name, together)
        places = keep_named(tickets, name, rows.append_column("place", pa.array(np.arange(len(rows)))))
        yield from together.take(one_array(places, "place")).combine_chunks().to_batches()


@quietly
def sum_view(schema: str, statistic: str, records: Records) -> Records:
    """The sum of a person-level statistic over one part of the records of its view, in pieces."""
    asked = _statistic(statistic)
    assert isinstance(asked, PersonLevel)  # noqa: S101 - nothing else is asked of a family
    names = list(_layout(schema).views[asked.view].by_name)
    yield in_pieces(sum_of(asked, [_batches(names, records)], threads=1))


def _batches(names: list[str], records: Records) -> Iterator[Batch]:
    """Records in batches of one weight each."""
    for batch in records:
        weights = batch.column("weight").to_numpy()
        codes = unpack(batch.column("codes"), len(names))
        for weight in np.unique(weights).tolist():
            at = weights == weight
            yield Batch(int(at.sum()), {name: codes[at, place] for place, name in enumerate(names)}, int(weight))


def _together(by: str, records: Records) -> Iterator[pa.Table]:
    """All rows of some persons, or of some keys, together: rows come sorted by them."""
    waiting: list[pa.RecordBatch] = []
    for batch in records:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) < _ROWS_AT_ONCE:
            continue
        table = pa.Table.from_batches(waiting).combine_chunks()
        ids = table.column(by).to_pylist()
        last = ids.index(ids[-1])  # those of the last one may go on in the next batch
        if last:
            yield table.slice(0, last)
        waiting = table.slice(last).combine_chunks().to_batches()
    yield pa.Table.from_batches(waiting, TICKETS)


def _of_table(tickets: Tickets, number: int, name: str, together: pa.Table) -> pa.Table:
    """The tickets of one table, as `Tickets.write` made them."""
    mine = together.filter(pa.array(together.column("table").to_numpy() == number)).combine_chunks()
    fields = tickets.schema(name)
    codes = unpack(one_array(mine, "codes"), len(tickets.layout.tables[name].measured))
    columns = {
        column: one_array(mine, column) for column in ("person", "parent", "key", "turn") if column in fields.names
    }
    columns |= {f"code {place}": pa.array(codes[:, place]) for place in range(codes.shape[1])}
    return pa.table([columns[field.name].cast(field.type) for field in fields], schema=fields)


def pack(codes: Mapping[str, CodeArray], rows: int) -> pa.BinaryArray:
    """The codes of each record as bytes."""
    stacked = np.stack([*codes.values()], axis=1) if codes else np.zeros((rows, 0), dtype=np.int32)
    width = 4 * stacked.shape[1]
    data = np.ascontiguousarray(stacked, dtype="<i4").tobytes()
    offsets = np.arange(rows + 1, dtype=np.int32) * width
    return pa.BinaryArray.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data)])


def unpack(packed: pa.BinaryArray, columns: int) -> CodeArray:
    """The codes (records x columns) that `pack` wrote."""
    data = b"".join(packed.to_pylist())
    codes: CodeArray = np.frombuffer(data, dtype="<i4").reshape(-1, columns).astype(np.int32, copy=False)
    return codes


@functools.lru_cache(maxsize=4)
def _family(text: str) -> FamilySchema:
    return FamilySchema.from_dict(json.loads(text))


def _layout(text: str) -> FamilyLayout:
    return family_layout_of(_family(text))


@functools.lru_cache(maxsize=2)
def _tickets(text: str, key: bytes) -> Tickets:
    return Tickets(_layout(text), key)


@functools.lru_cache(maxsize=4)
def _statistic(text: str) -> Statistic:
    return statistic_from_dict(json.loads(text))
