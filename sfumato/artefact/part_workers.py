"""Work on many parts at once, on all cores, the results in order and never many of them in memory."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from sfumato.trusted.cores import cores

_MOST = 6  # threads: what is done with a part afterwards, writing say, is done by one
_AHEAD = 2  # parts that are begun beyond one for each thread, so that none waits for what is done with the last

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def map_parts(work: Callable[[_In], _Out], parts: Iterable[_In]) -> Iterator[_Out]:
    """The result of each part, in order; some are begun ahead, by several threads where there are several parts."""
    left, threads = iter(parts), min(cores(), _MOST)
    begun = list(islice(left, threads + _AHEAD if threads > 1 else 1))
    if len(begun) == 1:
        yield from map(work, begun)
        yield from map(work, left)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_Out]] = deque(pool.submit(work, part) for part in begun)
        try:
            while waiting:
                done = waiting.popleft().result()
                waiting.extend(pool.submit(work, part) for part in islice(left, 1))
                yield done
        finally:  # also where nobody asks for the rest
            for one in waiting:
                one.cancel()
