"""Records that are read batch by batch: the same for every storage of this machine."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch, Header
from sfumato.trusted.encoding.keys import keys
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources.key_counts import count_all
from sfumato.trusted.sources.samples import Samples
from sfumato.trusted.sources.sums import NUMBERS_AT_ONCE
from sfumato.trusted.statistics import Statistic

ROWS_AT_ONCE = 1 << 16
_MOST_ROWS_AT_ONCE = 1 << 19

Parts = Iterable[Iterable[pa.RecordBatch]]


def rows_at_once(columns: int) -> int:
    """How many rows of so many columns make a batch: enough to be worth the while, not more than memory bears."""
    return max(1, min(_MOST_ROWS_AT_ONCE, NUMBERS_AT_ONCE // max(1, columns)))


class StreamSource:
    """Records that are read anew for every sum, batch by batch, never whole in memory.

    `read` opens the storage and gives some columns in parts, each of them some batches; it is called once for each sum.
    The parts come in order, but several may be read at a time. `close` lets go of what the source holds on to, such as
    a connection.
    """

    unit = None

    def __init__(
        self,
        header: Header,
        schema: Schema,
        read: Callable[[tuple[str, ...]], Parts],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.header = header
        self.close = close
        self._layout = layout_of(schema)
        self._read = read
        self._samples = Samples()

    @redact_errors
    def sum(self, statistic: Statistic) -> IntArray:
        """See `Source`."""
        return self._samples.sum(statistic, self._encoded)

    def batches(self, names: tuple[str, ...]) -> Iterator[Batch]:
        """See `Source`."""
        for part in self._encoded(names):
            yield from part

    def _encoded(self, names: tuple[str, ...]) -> Iterator[Iterator[Batch]]:
        read = self._layout.reads(names)
        return ((self._layout.encode(records, names) for records in part) for part in self._read(read))

    def count_keys(self, name: str) -> Mapping[bytes, int]:
        """See `Source`."""
        return count_all(keys(records.column(name)) for records in self.records((name,)))

    def recode(self, schema: Schema) -> "StreamSource":
        """See `Source`."""
        return StreamSource(self.header, schema, self._read, self.close)

    def records(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Every record as it is stored. Private: only what counts keys or bounds persons' records may call it."""
        for part in self._read(names):
            yield from part
