"""A family of tables on this machine: the rows of each person are put together once, and summed view by view.

Rows are read once. Tickets, then records, lie encoded in temporary files without a name, which vanish with the process;
small tables never leave memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import IO, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch, Header
from sfumato.trusted.families import FamilyLayout, family_layout_of
from sfumato.trusted.families.assembly import Records, assemble
from sfumato.trusted.families.tickets import Tickets
from sfumato.trusted.keyed_numbers import BINS, bin_of
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import FamilySchema, Schema, Unit
from sfumato.trusted.sources.batches import ROWS_AT_ONCE, sum_of
from sfumato.trusted.sources.bounded_source import Readable
from sfumato.trusted.sources.temporary_files import BinnedFiles, read_batches, read_whole, temporary_file
from sfumato.trusted.statistics import PersonLevel, Statistic


class PersonsAlone:
    """What a family of tables refuses: it has no records that stand for themselves, and nothing to be bought."""

    def count_keys(self, name: str) -> NoReturn:
        """See `Source`."""
        raise TypeError(f"the values of column {name!r} cannot be discovered in a family of tables")

    def recode(self, schema: Schema) -> NoReturn:
        """See `Source`."""
        raise TypeError(f"a family of tables is not measured by another schema, such as {schema.name!r}")

    def batches(self, names: tuple[str, ...]) -> NoReturn:
        """See `Source`."""
        raise TypeError(f"no column of a family of tables is public, and {len(names)} are asked for")

    def records(self, names: tuple[str, ...]) -> NoReturn:
        """See `Source`."""
        raise TypeError(f"the rows of a family are read table by table, and {len(names)} columns are asked for")


class FamilySource(PersonsAlone):
    """The records of every view of a family, by how much each of them counts.

    Formal guarantees
        See `assembly`: a person's records and weights depend on the key and on the rows that lead to that person.
        Persons and keys are told apart by their ids themselves, never by a hash.
    """

    def __init__(self, tables: Mapping[str, Readable], family: FamilySchema, key: bytes) -> None:
        self.layout: FamilyLayout = family_layout_of(family)
        self.unit: Unit = family.unit
        self.header: Mapping[str, Header] = {name: tables[name].header for name in family.tables}
        self._tables = tables
        self._tickets = Tickets(self.layout, key)
        self._open = ExitStack()

    @redact_errors
    def sum(self, statistic: Statistic) -> IntArray:
        """See `Source`. Persons count, so statistics of records are refused."""
        if not isinstance(statistic, PersonLevel):
            raise TypeError("of a family of tables only person-level statistics are summed")
        return sum_of(statistic, ((batch,) for batch in self.records_of(statistic.view, statistic.columns)))

    def records_of(self, view: str, names: Sequence[str]) -> Iterator[Batch]:
        """The records of a view, in batches of one weight each. Private: only what sums them may call it."""
        all_names = list(self.layout.views[view].by_name)
        places = sorted(all_names.index(name) for name in names)
        for (held, weight), file in self._kept.items():
            for records in read_batches(file, places) if held == view else ():
                codes = {all_names[place]: column.to_numpy() for place, column in zip(places, records, strict=True)}
                yield Batch(records.num_rows, codes, weight)

    def close(self) -> None:
        """See `Source`."""
        self._open.close()
        for table in self._tables.values():
            table.close()

    @cached_property
    def _kept(self) -> Mapping[tuple[str, int], IO[bytes]]:
        """A file for each view and weight."""
        files = _Files(self._open)
        with ExitStack() as binned:
            bins = self._binned(binned)
            for number in range(BINS):
                rows = {name: read_whole(bins[name][number], self._tickets.schema(name)) for name in self.layout.tables}
                for view, records in assemble(self.layout, self._tickets, rows).items():
                    files.add(view, records)
        files.end()
        return files.open

    def _binned(self, binned: ExitStack) -> dict[str, list[IO[bytes]]]:
        """The tickets of all tables, a file for each bin of persons."""
        found: dict[str, list[IO[bytes]]] = {}
        for name in self.layout.tables:
            with ExitStack() as writing:
                bins = BinnedFiles(binned, writing, self._tickets.schema(name))
                parents = found.get(self.layout.family.tables[name].parent or "", [])
                known = self._tickets.names_person(name)
                for tickets in self._read_tickets(name) if known else self._joined(name, parents):
                    bins.add(tickets, bin_of(self._tickets.hash_persons(tickets.column("person"))))
            found[name] = bins.files
        return found

    def _read_tickets(self, name: str) -> Iterator[pa.RecordBatch]:
        for records in self._tables[name].records(self.layout.tables[name].reads):
            yield self._tickets.write(name, records)

    def _joined(self, name: str, parents: list[IO[bytes]]) -> Iterator[pa.RecordBatch]:
        """The tickets of a table whose rows do not say whose they are: those of everybody who has the row they name."""
        parent = self.layout.family.tables[name].parent or ""
        schema = pa.schema([("key", pa.large_binary()), ("person", pa.large_binary())])
        with ExitStack() as binned:
            with ExitStack() as writing:
                owners, rows = (
                    BinnedFiles(binned, writing, schema),
                    BinnedFiles(binned, writing, self._tickets.schema(name)),
                )
                for file in parents:
                    for tickets in read_batches(file):
                        named = tickets.select(["key", "person"]).filter(tickets.column("key").is_valid())
                        owners.add(named, bin_of(self._tickets.hash_keys(parent, named.column("key"))))
                for tickets in self._read_tickets(name):
                    rows.add(tickets, bin_of(self._tickets.hash_keys(parent, tickets.column("parent"))))
            for owned, named in zip(owners.files, rows.files, strict=True):
                yield join_owners(read_whole(named, self._tickets.schema(name)), read_whole(owned, schema))


def join_owners(rows: pa.Table, owners: pa.Table) -> pa.RecordBatch:
    """Each row once for every distinct person who has the row that it names."""
    known = owners.group_by(["key", "person"]).aggregate([]).combine_chunks()
    keys, named = _array(known, "key"), _array(rows, "parent")
    distinct = pc.unique(keys)
    owner = pc.index_in(keys, value_set=distinct).to_numpy(zero_copy_only=False)
    order = np.argsort(owner, kind="stable")
    place = pc.fill_null(pc.index_in(named, value_set=distinct), -1).to_numpy(zero_copy_only=False)
    held = np.bincount(owner, minlength=len(distinct))
    starts = np.cumsum(held) - held
    times = np.where(place >= 0, held[place] if len(held) else 0, 0)
    row = np.repeat(np.arange(len(place)), times)
    within = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    whose = order[starts[place[row]] + within] if len(row) else np.zeros(0, dtype=np.int64)
    joined = rows.take(pa.array(row)).set_column(0, "person", _array(known, "person").take(pa.array(whose)))
    batches = joined.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)


class _Files:
    """Files of codes, one for each view and weight."""

    def __init__(self, open_: ExitStack) -> None:
        self._stack = open_
        self.open: dict[tuple[str, int], IO[bytes]] = {}
        self._writers: dict[tuple[str, int], pyarrow.ipc.RecordBatchStreamWriter] = {}
        self._waiting: dict[tuple[str, int], list[pa.RecordBatch]] = {}

    def add(self, view: str, records: Records) -> None:
        """Put records into the files of their weights."""
        for weight in np.unique(records.weights).tolist():
            at = np.flatnonzero(records.weights == weight)
            columns = [pa.array(codes[at]) for codes in records.codes.values()]
            batch = pa.record_batch(columns, [str(place) for place in range(len(columns))])
            waiting = self._waiting.setdefault((view, weight), [])
            waiting.append(batch)
            if sum(one.num_rows for one in waiting) >= ROWS_AT_ONCE:
                self._write((view, weight))

    def _write(self, name: tuple[str, int]) -> None:
        waiting = self._waiting.pop(name)
        if name not in self.open:
            self.open[name] = temporary_file(self._stack)
            self._writers[name] = pyarrow.ipc.new_stream(self.open[name], waiting[0].schema)
        together = pa.Table.from_batches(waiting).combine_chunks()
        self._writers[name].write_table(together, max_chunksize=ROWS_AT_ONCE)

    def end(self) -> None:
        """Write what is left."""
        for name in list(self._waiting):
            self._write(name)
        for writer in self._writers.values():
            writer.close()


def _array(table: pa.Table, name: str) -> pa.Array:
    found = table.column(name)
    return pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)
