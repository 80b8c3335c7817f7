"""Summing over batches of records: the same for every source of this machine."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache

import numpy as np
import pyarrow as pa
from threadpoolctl import ThreadpoolController

from sfumato.encoding import Batch, Encoder, Header
from sfumato.schema import Schema
from sfumato.sources.discretion import discreet
from sfumato.sources.source import IntArray
from sfumato.statistics import Statistic, size_of

ROWS_AT_ONCE = 1 << 16
_MOST_NUMBERS = 1 << 27  # in the batches and sums of all threads


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


def sum_of(statistic: Statistic, batches: Iterable[Batch], threads: int | None = None) -> IntArray:
    """The statistic's sum over all batches, counted on all cores or by so many threads.

    Whole numbers add up to the same in any order. A few batches are in memory at a time. The last one is counted here,
    so that a small table starts no thread.
    """
    threads = threads or _threads_for(statistic)
    total = np.zeros(size_of(statistic), dtype=np.int64)
    waiting: deque[Batch] = deque(maxlen=1)
    counting: deque[Future[IntArray]] = deque()
    with ExitStack() as stack:
        pool = ThreadPoolExecutor(threads)
        stack.callback(pool.shutdown, cancel_futures=True)
        if threads > 1:  # else every product would have threads of its own, and all of them wait for each other
            stack.enter_context(_libraries().limit(limits=1, user_api="blas"))
        for batch in batches:
            if len(counting) >= threads:
                total += counting.popleft().result()
            counting.extend(pool.submit(_counted, statistic, before) for before in waiting)
            waiting.append(batch)
        for part in counting:
            total += part.result()
    for batch in waiting:
        total += statistic(batch)
    return total


def _threads_for(statistic: Statistic) -> int:
    """All cores, or fewer where batches and sums are so large that they would fill the memory."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, max(1, _MOST_NUMBERS // (size_of(statistic) + ROWS_AT_ONCE * len(statistic.columns))))


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _counted(statistic: Statistic, batch: Batch) -> IntArray:
    with np.errstate(all="ignore"):  # each thread has its own
        return statistic(batch)
