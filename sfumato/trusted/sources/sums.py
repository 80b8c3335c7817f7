"""Summing over batches of records on all cores: the same for every source of this machine."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import cache, partial
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.cores import cores
from sfumato.trusted.encoding import Batch
from sfumato.trusted.statistics import Statistic, size_of

NUMBERS_AT_ONCE = 1 << 23
_MOST_NUMBERS = 1 << 27  # in the batches and sums of all threads

T = TypeVar("T")


def alone(batches: Iterable[T]) -> Iterator[tuple[T]]:
    """Batches that must be read in order, by one thread: each is a part."""
    for batch in batches:
        yield (batch,)


def sum_of(statistic: Statistic, parts: Iterable[Iterable[Batch]], threads: int | None = None) -> IntArray:
    """The statistic's sum over all batches of all parts, counted on all cores or by so many threads.

    Whole numbers add up to the same in any order.
    """
    total = np.zeros(size_of(statistic), dtype=np.int64)
    with closing(each_part(partial(_counted, statistic), parts, threads or _threads_for(statistic))) as sums:
        for one in sums:
            total += one
    return total


def each_part(
    work: Callable[[Iterable[Batch], threading.Event], T], parts: Iterable[Iterable[Batch]], threads: int
) -> Generator[T]:
    """What some work makes of each part, in order, by so many threads.

    A few batches are in memory at a time. The last part is worked on here, so that a small table starts no thread. Work
    is told by the event when all is given up.
    """
    waiting: deque[Iterable[Batch]] = deque(maxlen=1)
    working: deque[Future[T]] = deque()
    stopped = threading.Event()
    with ExitStack() as stack:
        pool = ThreadPoolExecutor(threads)
        stack.callback(pool.shutdown, cancel_futures=True)
        stack.callback(stopped.set)
        for part in parts:
            if len(working) >= threads:
                yield working.popleft().result()
            if waiting and not working and threads > 1:
                # else every product would have threads of its own, and all of them wait for each other
                stack.enter_context(_libraries().limit(limits=1, user_api="blas"))
            working.extend(pool.submit(work, before, stopped) for before in waiting)
            waiting.append(part)
        here = [work(last, stopped) for last in waiting]
        for one in working:
            yield one.result()
        yield from here


def _threads_for(statistic: Statistic) -> int:
    """All cores, or fewer where batches and sums are so large that they would fill the memory."""
    return min(cores(), max(1, _MOST_NUMBERS // (size_of(statistic) + NUMBERS_AT_ONCE)))


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
