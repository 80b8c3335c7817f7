"""A family of tables on this machine: the rows of each person are put together once, and summed view by view.

Rows are read once. Tickets, then records, lie encoded in temporary files without a name, which vanish with the process;
small tables never leave memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import IO, Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
from numpy.typing import NDArray

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch, Header
from sfumato.trusted.families import FamilyLayout, family_layout_of
from sfumato.trusted.families.assembly import Records, assemble, keep_named
from sfumato.trusted.families.tickets import Tickets, one_array
from sfumato.trusted.keyed_numbers import BINS, bin_of
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import FamilySchema, Schema, Unit
from sfumato.trusted.sources.batches import ROWS_AT_ONCE
from sfumato.trusted.sources.bounded_source import Readable
from sfumato.trusted.sources.sums import sum_of
from sfumato.trusted.sources.temporary_files import BinnedFile, read_batches, temporary_file
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
        for records in read_batches(self._kept[view], [0, *(1 + place for place in places)]):
            weights, *columns = (column.to_numpy() for column in records)
            codes = {all_names[place]: column for place, column in zip(places, columns, strict=True)}
            yield Batch(records.num_rows, codes, int(weights[0]))

    def close(self) -> None:
        """See `Source`."""
        self._open.close()
        for table in self._tables.values():
            table.close()

    @cached_property
    def _kept(self) -> Mapping[str, IO[bytes]]:
        """A file for each view."""
        with ExitStack() as binned:
            bins = self._binned(binned)
            files = {view: _Records(self._open, len(held.columns)) for view, held in self.layout.views.items()}
            for number in range(BINS):
                rows = {name: held.read(number) for name, held in bins.items()}
                for view, records in assemble(self.layout, self._tickets, rows).items():
                    files[view].add(records)
        return {view: records.end() for view, records in files.items()}

    def _binned(self, binned: ExitStack) -> dict[str, BinnedFile]:
        """The tickets of all tables, by bins of persons."""
        found: dict[str, BinnedFile] = {}
        for name in self.layout.tables:
            bins = BinnedFile(binned, self._tickets.schema(name))
            known = self._tickets.names_person(name)
            for tickets in self._read_tickets(name) if known else self._joined(name, found):
                bins.add(tickets, bin_of(self._tickets.hash_persons(tickets.column("person"))))
            found[name] = bins
        return found

    def _read_tickets(self, name: str) -> Iterator[pa.RecordBatch]:
        for records in self._tables[name].records(self.layout.tables[name].reads):
            yield self._tickets.write(name, records)

    def _joined(self, name: str, bins: Mapping[str, BinnedFile]) -> Iterator[pa.RecordBatch]:
        """The tickets of a table whose rows do not say whose they are: those of everybody who has the row they name."""
        parent = self.layout.family.tables[name].parent or ""
        schema = pa.schema([("key", pa.large_binary()), ("person", pa.large_binary())])
        with ExitStack() as binned:
            owners, rows = BinnedFile(binned, schema), BinnedFile(binned, self._tickets.schema(name))
            for tickets in (batch for held in bins[parent] for batch in held.to_batches()):
                named = tickets.select(["key", "person"]).filter(tickets.column("key").is_valid())
                owners.add(named, bin_of(self._tickets.hash_keys(parent, named.column("key"))))
            for tickets in self._read_tickets(name):
                rows.add(tickets, bin_of(self._tickets.hash_keys(parent, tickets.column("parent"))))
            for owned, named in zip(owners, rows, strict=True):
                yield join_owners(keep_named(self._tickets, name, named), owned)


def join_owners(rows: pa.Table, owners: pa.Table) -> pa.RecordBatch:
    """Each row once for every distinct person who has the row that it names."""
    known = owners.group_by(["key", "person"]).aggregate([]).combine_chunks()
    keys, named = one_array(known, "key"), one_array(rows, "parent")
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
    joined = rows.take(pa.array(row)).set_column(0, "person", one_array(known, "person").take(pa.array(whose)))
    batches = joined.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)


class _Records:
    """The records of one view, in a file of batches of one weight each; the first column holds that weight."""

    def __init__(self, open_: ExitStack, columns: int) -> None:
        self._file = temporary_file(open_)
        self._schema = pa.schema([(str(place), pa.int32()) for place in range(1 + columns)])
        self._writer = pyarrow.ipc.new_stream(self._file, self._schema)
        self._waiting: dict[int, list[pa.RecordBatch]] = {}
        self._rows = 0

    def add(self, records: Records) -> None:
        """Put records beside those of their weights."""
        for weight in np.unique(records.weights).tolist():
            at = np.flatnonzero(records.weights == weight)
            columns: list[NDArray[Any]] = [records.weights, *records.codes.values()]
            batch = pa.record_batch([pa.array(one[at], pa.int32()) for one in columns], schema=self._schema)
            self._waiting.setdefault(weight, []).append(batch)
        self._rows += len(records.weights)
        if self._rows >= ROWS_AT_ONCE:
            self._write()

    def _write(self) -> None:
        for waiting in self._waiting.values():
            together = pa.Table.from_batches(waiting).combine_chunks()
            self._writer.write_table(together, max_chunksize=ROWS_AT_ONCE)
        self._waiting, self._rows = {}, 0

    def end(self) -> IO[bytes]:
        """The file, with what was left."""
        self._write()
        self._writer.close()
        return self._file
