"""Summing over batches of records: the same for every source of this machine."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from sfumato.encoding import Batch, Encoder, Header
from sfumato.schema import Schema
from sfumato.sources.discretion import discreet
from sfumato.sources.source import IntArray
from sfumato.statistics import Statistic, size_of

ROWS_AT_ONCE = 1 << 16


class StreamSource:
    """Records that are read anew for every sum, batch by batch, never whole in memory.

    `read` opens the storage and gives the batches of some columns; it is called once for each sum. `close` lets go of
    what the source holds on to, such as a connection.
    """

    unit = None

    def __init__(
        self,
        header: Header,
        schema: Schema,
        read: Callable[[tuple[str, ...]], Iterable[pa.RecordBatch]],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.header = header
        self.close = close
        self._encoder = Encoder(schema)
        self._read = read

    @discreet
    def sum(self, statistic: Statistic) -> IntArray:
        """See `Source`."""
        return sum_of(statistic, self.batches(statistic.columns))

    def batches(self, names: tuple[str, ...]) -> Iterator[Batch]:
        """See `Source`."""
        return (self._encoder.encode(records, names) for records in self._read(names))

    def records(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """Every record as it is stored. Private: only what bounds the records of a person may call it."""
        return iter(self._read(names))


def sum_of(statistic: Statistic, batches: Iterable[Batch]) -> IntArray:
    """The statistic's sum over all batches."""
    total = np.zeros(size_of(statistic), dtype=np.int64)
    for batch in batches:
        total += statistic(batch)
    return total
