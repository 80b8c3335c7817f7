"""SQLite files as streams of text.

SQLite declares no types that its values keep to. So none is guessed: every value comes as text, by the same rule as the
Python objects of a pandas frame, and the schema says how to read it.
"""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pyarrow as pa

from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.objects import id_of_object
from sfumato.trusted.sources.batches import ROWS_AT_ONCE
from sfumato.trusted.sources.sql import header, quote, select


class SQLite:
    """See `Connection`. Where the file has no write-ahead log, nobody else can write to it meanwhile."""

    def __init__(self, address: str, rows: str, ids: Collection[str] = ()) -> None:
        where = Path(address).absolute().as_uri()
        self._connection = sqlite3.connect(f"{where}?mode=ro", uri=True, isolation_level=None)
        self._connection.text_factory = bytes  # not all that it calls text is UTF-8
        self._rows, self._ids = rows, ids

    def begin(self) -> None:
        """See `Connection`."""
        self._connection.execute("begin")
        self._connection.execute("select count(*) from sqlite_master").fetchone()  # only a read pins the snapshot

    @property
    def columns(self) -> list[tuple[str, pa.DataType]]:
        """See `Connection`."""
        with closing(self._connection.execute(header(self._rows))) as cursor:
            return [(name, pa.null()) for name, *_ in cursor.description]

    def read(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """See `Connection`."""
        with closing(self._connection.execute(select([quote(name) for name in names], self._rows))) as cursor:
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                columns = map(self._column, names, zip(*rows, strict=True))
                yield pa.RecordBatch.from_arrays(list(columns), list(names))

    def _column(self, name: str, values: tuple[object, ...]) -> pa.Array:
        if name in self._ids:
            return pa.array(map(id_of_object, values), pa.large_binary())
        return cells_of(values)

    def beside(self, rows: str, ids: Collection[str]) -> "SQLite":
        """See `Connection`."""
        other = object.__new__(SQLite)
        other._connection = self._connection
        other._rows, other._ids = rows, ids
        return other

    def close(self) -> None:
        """See `Connection`."""
        with suppress(sqlite3.Error):
            self._connection.close()
