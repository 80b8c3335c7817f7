"""What runs on Spark's workers: functions from batches of records to batches. Nothing here draws noise.

Schema and statistic travel as JSON text, and a worker makes them once. Errors get into Spark's logs and quote nothing.
"""

import functools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ParamSpec

import numpy as np
import pyarrow as pa

from sfumato._version import __version__
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources.contribution_bounding import ContributionBounding
from sfumato.trusted.sources.files import read_file
from sfumato.trusted.sources.locations import Location
from sfumato.trusted.sources.samples import joined
from sfumato.trusted.sources.sums import sum_of
from sfumato.trusted.statistics import Sampled, Statistic, statistic_from_dict

P = ParamSpec("P")
Records = Iterator[pa.RecordBatch]
Reading = Callable[[pa.RecordBatch], Batch]
Work = Callable[[Records], Records]

PIECE = 1 << 11  # numbers: Spark hands over up to 10,000 rows at once, which are 160 MiB then
PIECES = pa.schema([("place", pa.int32()), ("numbers", pa.binary())])
PACK = 1 << 14  # bytes of the codes of some records of a share
PACKS = pa.schema([("codes", pa.binary())])
VERSIONS = pa.schema([("python", pa.string()), ("sfumato", pa.string())])


def quietly(work: Callable[P, Records]) -> Callable[P, Records]:
    """`redact_errors` for what yields batches."""

    @functools.wraps(work)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> Records:
        batches = work(*args, **kwargs)
        step = redact_errors(lambda: next(batches, None))
        while (batch := step()) is not None:
            yield batch

    return quiet


@quietly
def sum_records(statistic: str, read: Reading, records: Records) -> Records:
    """The sum of a statistic over one part of a frame, in pieces. A part without records has zeros."""
    total = sum_of(_statistic(statistic), [map(read, records)], threads=1)
    yield in_pieces(total)


@quietly
def merge_pieces(pieces: Records) -> Records:
    """The pieces of several parts, added up."""
    yield _pieces(add_pieces(pieces))


@quietly
def encode_records(read: Reading, records: Records) -> Records:
    """The codes of every record."""
    for batch in map(read, records):
        yield pa.record_batch([*map(pa.array, batch.codes.values())], schema=codes_layout(len(batch.codes)))


@quietly
def choose_records(sampled: str, read: Reading, records: Records) -> Records:
    """The codes of the records of a share, in packs: Java takes each by itself. All packs but the last are full."""
    statistic = _statistic(sampled)
    assert isinstance(statistic, Sampled)  # noqa: S101 - other statistics have no share
    names = statistic.columns
    waiting: list[Batch] = []
    for batch in map(read, records):
        found = [*waiting, statistic.of.choose(batch, names)]
        *full, last = joined(names, found, records_in_pack(len(names))) or [Batch(0, {})]
        yield _packs(full)
        waiting = [last] if last.rows else []
    yield _packs(waiting)


def records_in_pack(columns: int) -> int:
    """How many records of so many columns a pack holds, or fewer."""
    return max(1, PACK // 4 // columns)


def unpack(names: tuple[str, ...], packs: pa.RecordBatch) -> Iterator[Batch]:
    """The records in some packs."""
    for pack in packs.column("codes"):
        codes = np.frombuffer(pack.as_buffer(), dtype="<i4").reshape(len(names), -1)
        yield Batch(codes.shape[1], dict(zip(names, codes, strict=True)))


def _packs(batches: list[Batch]) -> pa.RecordBatch:
    codes = (np.stack([*batch.codes.values()]).astype("<i4", copy=False) for batch in batches)
    return pa.record_batch([pa.array([some.tobytes() for some in codes], pa.binary())], schema=PACKS)


@quietly
def read_files(
    files: tuple[tuple[str, int], ...], storage: pa.Schema, names: tuple[str, ...], work: Work, places: Records
) -> Records:
    """What some work makes of row groups, each named by its place among those of all files."""
    groups = [(path, group) for path, count in files for group in range(count)]
    chosen = (groups[place] for batch in places for place in batch.column(0).to_pylist())
    batches = (batch for path, group in chosen for batch in read_file(Location.of(path), storage, names, group))
    yield from work(batch.select(list(names)) for batch in batches)


@quietly
def draw_tickets(schema: str, key: bytes, records: Records) -> Records:
    """The tickets of all records that may count for their persons: see `contribution_bounding`."""
    bounding = _bounding(schema, key)
    for batch in records:
        tickets = bounding.draw(batch.rename_columns(list(bounding.columns)))
        yield tickets.select(ticket_layout(tickets.schema).names).cast(ticket_layout(tickets.schema))


@quietly
def versions(records: Records) -> Records:
    """What this worker runs, for each batch."""
    for _ in records:
        yield pa.record_batch([[python_version()], [__version__]], schema=VERSIONS)


def python_version() -> str:
    """Without the last number, which changes nothing."""
    return "{}.{}".format(*sys.version_info)


def from_storage(schema: str, names: tuple[str, ...], records: pa.RecordBatch) -> Batch:
    """The codes of records in the named measured columns, from what these are made of, in order, as it was stored."""
    layout = layout_of(_schema(schema))
    return layout.encode(records.rename_columns(list(layout.reads(names))), names)


def from_codes(names: tuple[str, ...], records: pa.RecordBatch) -> Batch:
    """The codes of records that are codes already."""
    columns = zip(names, records.columns, strict=True)
    return Batch(records.num_rows, {name: column.to_numpy() for name, column in columns})


def codes_layout(columns: int) -> pa.Schema:
    """Codes of so many columns."""
    return pa.schema([(plain_name(place), pa.int32()) for place in range(columns)])


def plain_name(place: int) -> str:
    """A column's name by its place: Spark takes dots and backticks in a name for syntax."""
    return f"c{place}"


def ticket_layout(tickets: pa.Schema) -> pa.Schema:
    """The columns of a ticket that Spark needs, in types that it has."""
    wanted = (column for column in tickets if column.name != "bin")
    return pa.schema([(column.name, pa.binary() if column.name == "person" else column.type) for column in wanted])


def add_pieces(pieces: Iterable[pa.RecordBatch]) -> dict[int, IntArray]:
    """The sum of the pieces at each place."""
    sums: dict[int, IntArray] = {}
    for batch in pieces:
        for place, numbers in zip(batch.column("place").to_pylist(), batch.column("numbers"), strict=True):
            more = np.frombuffer(numbers.as_buffer(), dtype="<i8")
            sums[place] = sums[place] + more if place in sums else more
    return sums


def in_pieces(total: IntArray) -> pa.RecordBatch:
    """A sum, cut into pieces."""
    return _pieces({place: total[place * PIECE :][:PIECE] for place in range(-(-len(total) // PIECE))})


def _pieces(sums: Mapping[int, IntArray]) -> pa.RecordBatch:
    numbers = [piece.astype("<i8").tobytes() for piece in sums.values()]
    return pa.record_batch([pa.array(list(sums), pa.int32()), pa.array(numbers, pa.binary())], schema=PIECES)


@functools.lru_cache(maxsize=4)
def _schema(text: str) -> Schema:
    return Schema.from_dict(json.loads(text))


@functools.lru_cache(maxsize=4)
def _statistic(text: str) -> Statistic:
    return statistic_from_dict(json.loads(text))


@functools.lru_cache(maxsize=1)
def _bounding(schema: str, key: bytes) -> ContributionBounding:
    people = _schema(schema)
    assert people.unit is not None  # noqa: S101 - tickets are drawn by person, and for nothing else
    return ContributionBounding(people, people.unit, key)
