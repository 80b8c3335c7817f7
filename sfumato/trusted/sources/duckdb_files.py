"""DuckDB files as streams of Arrow batches."""

from collections.abc import Collection, Iterator
from contextlib import suppress

import pyarrow as pa

from sfumato.trusted.sources.batches import ROWS_AT_ONCE
from sfumato.trusted.sources.sql import driver, header, quote, select

ALONE = {
    "enable_external_access": False,  # types of other files would be guessed from their rows, and COPY writes files
    "python_enable_replacements": False,  # a variable of this process is no table
}


class DuckDB:
    """See `Connection`. While the file is open here, DuckDB lets nobody write to it."""

    def __init__(self, address: str, rows: str, _ids: Collection[str] = ()) -> None:
        self._connection = driver("duckdb").connect(address, read_only=True, config=ALONE)
        self._rows = rows

    def begin(self) -> None:
        """See `Connection`."""
        self._connection.execute("set enable_progress_bar = false")
        self._connection.execute("begin transaction read only")

    @property
    def columns(self) -> list[tuple[str, pa.DataType]]:
        """See `Connection`."""
        with self._reader(header(self._rows)) as reader:
            return [(field.name, field.type) for field in reader.schema]

    def read(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """See `Connection`."""
        with self._reader(select([quote(name) for name in names], self._rows)) as reader:
            yield from reader

    def _reader(self, text: str) -> pa.RecordBatchReader:
        (statement,) = self._connection.extract_statements(text)  # the query of a user could hold more than one
        rows = self._connection.sql(statement)
        open_reader = getattr(rows, "to_arrow_reader", None) or rows.fetch_arrow_reader  # the name until DuckDB 1.4
        return open_reader(ROWS_AT_ONCE)

    def beside(self, rows: str, _ids: Collection[str]) -> "DuckDB":
        """See `Connection`."""
        other = object.__new__(DuckDB)
        other._connection = self._connection
        other._rows = rows
        return other

    def close(self) -> None:
        """See `Connection`."""
        with suppress(Exception):
            self._connection.close()
