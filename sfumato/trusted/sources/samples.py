"""The records of a share, kept from one question to the next."""

import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial

import numpy as np

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.cores import cores
from sfumato.trusted.encoding import Batch
from sfumato.trusted.sources.sums import alone, each_part, sum_of
from sfumato.trusted.statistics import Sampled, Statistic

MOST_KEPT = 1 << 26  # codes in memory
_ROWS_AT_ONCE = 1 << 15

Read = Callable[[tuple[str, ...]], Iterable[Iterable[Batch]]]


class Samples:
    """Sums over records, those of a share from memory where it was read before.

    Formal guarantees
        A sum over a share is the same to the last bit whether its records were kept or are read again: how many there
        are decides about time and memory, and about nothing that is told.
    """

    def __init__(self) -> None:
        self._asked: Sampled | None = None
        self._kept: list[Batch] | None = None

    def sum(self, statistic: Statistic, read: Read) -> IntArray:
        """The sum over all records; `read` gives named columns of them."""
        if not isinstance(statistic, Sampled):
            return sum_of(statistic, read(statistic.columns))
        kept = self.find(statistic, lambda: records_of(statistic, read(statistic.columns)))
        if kept is None:
            return sum_of(statistic, read(statistic.columns))
        return sum_of(statistic.statistic, alone(kept))

    def find(self, statistic: Sampled, read: Callable[[], list[Batch] | None]) -> list[Batch] | None:
        """The records of its share, or None where they are too many; read once, if the columns are the same."""
        asked = self._asked
        if asked is None or asked.of is not statistic.of or not set(statistic.columns) <= set(asked.columns):
            self._kept = None  # before others are read
            self._kept, self._asked = read(), statistic
        return self._kept


def records_of(statistic: Sampled, parts: Iterable[Iterable[Batch]]) -> list[Batch] | None:
    """The records of its share among these, or None where they are too many to be kept."""
    most = MOST_KEPT // len(statistic.columns)
    found: list[Batch] = []
    with closing(each_part(partial(_chosen, statistic, most), parts, cores())) as chosen:
        for some in chosen:
            found += some
            if sum(batch.rows for batch in found) > most:
                return None
    return joined(statistic.columns, found)


def _chosen(statistic: Sampled, most: int, part: Iterable[Batch], stopped: threading.Event) -> list[Batch]:
    """The records of one part, or some of them where they are too many or all is given up."""
    found: list[Batch] = []
    for batch in part:
        if stopped.is_set() or sum(one.rows for one in found) > most:
            break
        found.append(statistic.of.choose(batch, statistic.columns))
    return found


def joined(names: tuple[str, ...], batches: list[Batch], rows: int = _ROWS_AT_ONCE) -> list[Batch]:
    """The same records in batches of so many rows, by default of a good size."""
    nothing = np.zeros(0, dtype=np.int32)
    codes = {name: np.concatenate([nothing, *(batch.codes[name] for batch in batches)]) for name in names}
    return list(Batch(sum(batch.rows for batch in batches), codes).parts(rows, names))
