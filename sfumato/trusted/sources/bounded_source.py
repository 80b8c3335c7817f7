"""A source in which no person counts more often than the schema's `unit` allows.

The records are read once. Those that are kept lie encoded in temporary files without a name, which vanish with the
process; small tables never leave memory. Sums are taken from there.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from typing import IO, Protocol

import pyarrow as pa
import pyarrow.ipc

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch, Header
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema, Unit
from sfumato.trusted.sources.batches import ROWS_AT_ONCE
from sfumato.trusted.sources.contribution_bounding import TICKET, ContributionBounding, key_name
from sfumato.trusted.sources.key_counts import count_all
from sfumato.trusted.sources.samples import Samples
from sfumato.trusted.sources.sums import alone
from sfumato.trusted.sources.temporary_files import BinnedFile, read_batches, temporary_file
from sfumato.trusted.statistics import Statistic


class Readable(Protocol):
    """A source whose records can be read as they are stored."""

    @property
    def header(self) -> Header:
        """See `Source`."""

    def records(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """The named columns of every record."""

    def recode(self, schema: Schema) -> "Readable":
        """See `Source`."""

    def close(self) -> None:
        """See `Source`."""


class ContributionBoundedSource:
    """At most `unit.records` records of each person, chosen by lot: see `contribution_bounding`."""

    def __init__(self, source: Readable, schema: Schema, unit: Unit, key: bytes) -> None:
        self.header = source.header
        self.unit = unit
        self._source = source
        self._names = tuple(layout_of(schema).measured.by_name)
        self._bounding = ContributionBounding(schema, unit, key)
        self._key = key
        self._open = ExitStack()
        self._samples = Samples()

    @redact_errors
    def sum(self, statistic: Statistic) -> IntArray:
        """See `Source`."""
        return self._samples.sum(statistic, lambda names: alone(self.batches(names)))

    def batches(self, names: tuple[str, ...]) -> Iterator[Batch]:
        """See `Source`."""
        places = sorted(self._names.index(name) for name in names)
        for records in read_batches(self._kept, places):
            codes = {self._names[place]: column.to_numpy() for place, column in zip(places, records, strict=True)}
            yield Batch(records.num_rows, codes)

    def records(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """See `Source`."""
        return self._source.records(names)

    def count_keys(self, name: str) -> Mapping[bytes, int]:
        """See `Source`."""
        return count_all(self._keys(name))

    def _keys(self, name: str) -> Iterator[pa.LargeBinaryArray]:
        place = self._bounding.layout.names.index(key_name(name)) - len(TICKET)
        for records in read_batches(self._kept, [place]):
            yield records.column(0)

    def recode(self, schema: Schema) -> "ContributionBoundedSource":
        """See `Source`. The records of a person are chosen anew, by what they are in the other schema."""
        self._open.close()
        return ContributionBoundedSource(self._source.recode(schema), schema, self.unit, self._key)

    def close(self) -> None:
        """See `Source`."""
        self._open.close()
        self._source.close()

    @cached_property
    def _kept(self) -> IO[bytes]:
        """The kept records, as codes alone."""
        file = temporary_file(self._open)
        layout = pa.schema(list(self._bounding.layout)[len(TICKET) :])
        with ExitStack() as binned, pyarrow.ipc.new_stream(file, layout) as writer:
            waiting = layout.empty_table()
            for tickets in self._binned(binned):
                waiting = pa.concat_tables([waiting, self._winners(tickets).select(layout.names)])
                if len(waiting) >= ROWS_AT_ONCE:
                    writer.write_table(waiting.combine_chunks(), max_chunksize=ROWS_AT_ONCE)
                    waiting = layout.empty_table()
            writer.write_table(waiting.combine_chunks(), max_chunksize=ROWS_AT_ONCE)
        return file

    def _binned(self, open_: ExitStack) -> BinnedFile:
        """The tickets of all records, by bins of persons."""
        bins = BinnedFile(open_, self._bounding.layout)
        for records in self._source.records(self._bounding.columns):
            tickets = self._bounding.draw(records)
            bins.add(tickets, tickets.column("bin").to_numpy())
        return bins

    def _winners(self, tickets: pa.Table) -> pa.Table:
        """Those of a bin."""
        return pa.Table.from_batches(map(self._bounding.keep_lowest, tickets.to_batches()), self._bounding.layout)
