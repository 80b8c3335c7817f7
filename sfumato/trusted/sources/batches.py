"""Summing over batches of records: the same for every source of this machine."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache

import numpy as np
import pyarrow as pa
from threadpoolctl import ThreadpoolController

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch, Header
from sfumato.trusted.encoding.keys import keys
from sfumato.trusted.redaction import redact_errors
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources.key_counts import count_all
from sfumato.trusted.statistics import Statistic, size_of

ROWS_AT_ONCE = 1 << 16
_MOST_ROWS_AT_ONCE, _NUMBERS_AT_ONCE = 1 << 19, 1 << 23
_MOST_NUMBERS = 1 << 27  # in the batches and sums of all threads

Parts = Iterable[Iterable[pa.RecordBatch]]


def rows_at_once(columns: int) -> int:
    """How many rows of so many columns make a batch: enough to be worth the while, not more than memory bears."""
    return max(1, min(_MOST_ROWS_AT_ONCE, _NUMBERS_AT_ONCE // max(1, columns)))


def alone(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch]]:
    """Batches of a storage that must be read in order, by one thread: each is a part."""
    for batch in batches:
        yield (batch,)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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

    @redact_errors
    def sum(self, statistic: Statistic) -> IntArray:
        """See `Source`."""
        return sum_of(statistic, self._encoded(statistic.columns))

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


def sum_of(statistic: Statistic, parts: Iterable[Iterable[Batch]], threads: int | None = None) -> IntArray:
    """The statistic's sum over all batches of all parts, counted on all cores or by so many threads.

    Whole numbers add up to the same in any order. A few batches are in memory at a time. The last part is counted here,
    so that a small table starts no thread.
    """
    threads = threads or _threads_for(statistic)
    total = np.zeros(size_of(statistic), dtype=np.int64)
    waiting: deque[Iterable[Batch]] = deque(maxlen=1)
    counting: deque[Future[IntArray]] = deque()
    stopped = threading.Event()
    with ExitStack() as stack:
        pool = ThreadPoolExecutor(threads)
        stack.callback(pool.shutdown, cancel_futures=True)
        stack.callback(stopped.set)
        for part in parts:
            if len(counting) >= threads:
                total += counting.popleft().result()
            if waiting and not counting and threads > 1:
                # else every product would have threads of its own, and all of them wait for each other
                stack.enter_context(_libraries().limit(limits=1, user_api="blas"))
            counting.extend(pool.submit(_counted, statistic, before, stopped) for before in waiting)
            waiting.append(part)
        for last in waiting:
            total += _counted(statistic, last, stopped)
        for counted in counting:
            total += counted.result()
    return total


def _threads_for(statistic: Statistic) -> int:
    """All cores, or fewer where batches and sums are so large that they would fill the memory."""
    return min(cores(), max(1, _MOST_NUMBERS // (size_of(statistic) + _NUMBERS_AT_ONCE)))


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _counted(statistic: Statistic, part: Iterable[Batch], stopped: threading.Event) -> IntArray:
    """The sum over one part, or some of it once all is given up."""
    total = np.zeros(size_of(statistic), dtype=np.int64)
    with np.errstate(all="ignore"):  # each thread has its own
        for batch in part:
            if stopped.is_set():
                break
            total += statistic(batch)
    return total
