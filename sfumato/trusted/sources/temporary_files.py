"""Temporary files of record batches, without a name: they vanish with the process, and small ones stay in memory."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.ipc
from numpy.typing import NDArray

from sfumato.trusted.keyed_numbers import BINS

IN_MEMORY = 1 << 28  # bytes of a file; what is more goes to disk


def temporary_file(open_: ExitStack) -> IO[bytes]:
    """A file that is closed with the stack."""
    return open_.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))


def read_batches(file: IO[bytes], places: list[int] | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of a file, all columns or those at some places."""
    file.seek(0)
    with pyarrow.ipc.open_stream(file, options=pyarrow.ipc.IpcReadOptions(included_fields=places)) as reader:
        yield from reader


class BinnedFile:
    """Records by bins of ids, in one file: how many files are open does not depend on the number of bins."""

    def __init__(self, open_: ExitStack, schema: pa.Schema) -> None:
        self.schema, self._file = schema, temporary_file(open_)
        self._parts: list[list[tuple[int, int]]] = [[] for _ in range(BINS)]  # where each begins, and its length

    def add(self, records: pa.RecordBatch, bins: NDArray[np.uint8]) -> None:
        """Put each record into its bin."""
        order = np.argsort(bins, kind="stable")
        ends = np.searchsorted(bins[order], np.arange(BINS), side="right")
        for parts, (start, end) in zip(self._parts, pairwise((0, *ends)), strict=True):
            if end > start:
                written = records.take(pa.array(order[start:end])).serialize()
                parts.append((self._file.tell(), self._file.write(written)))

    def read(self, number: int) -> pa.Table:
        """The records of a bin, which must fit into memory."""
        batches = []
        for start, size in self._parts[number]:
            self._file.seek(start)
            batches.append(pyarrow.ipc.read_record_batch(pa.py_buffer(self._file.read(size)), self.schema))
        self._file.seek(0, 2)
        return pa.Table.from_batches(batches, self.schema).combine_chunks()

    def __iter__(self) -> Iterator[pa.Table]:
        """The records of every bin, one bin after another."""
        return map(self.read, range(BINS))
