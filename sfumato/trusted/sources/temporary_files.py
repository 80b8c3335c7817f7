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

IN_MEMORY = 1 << 22  # bytes of a bin; what is more goes to disk


def temporary_file(open_: ExitStack, bins: int = 1) -> IO[bytes]:
    """A file that is closed with the stack, for what some bins hold together."""
    return open_.enter_context(tempfile.SpooledTemporaryFile(bins * IN_MEMORY))


def read_batches(file: IO[bytes], places: list[int] | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of a file, all columns or those at some places."""
    file.seek(0)
    with pyarrow.ipc.open_stream(file, options=pyarrow.ipc.IpcReadOptions(included_fields=places)) as reader:
        yield from reader


def read_whole(file: IO[bytes], schema: pa.Schema) -> pa.Table:
    """All batches of a file, which must fit into memory."""
    return pa.Table.from_batches(read_batches(file), schema).combine_chunks()


class BinnedFiles:
    """A file for each bin of ids. They can be read once `writing` has ended."""

    def __init__(self, open_: ExitStack, writing: ExitStack, schema: pa.Schema) -> None:
        self.files = [temporary_file(open_) for _ in range(BINS)]
        self._writers = [writing.enter_context(pyarrow.ipc.new_stream(file, schema)) for file in self.files]

    def add(self, records: pa.RecordBatch, bins: NDArray[np.uint8]) -> None:
        """Put each record into its bin."""
        order = np.argsort(bins, kind="stable")
        ends = np.searchsorted(bins[order], np.arange(BINS), side="right")
        for writer, (start, end) in zip(self._writers, pairwise((0, *ends)), strict=True):
            if end > start:
                writer.write_batch(records.take(pa.array(order[start:end])))
