"""The real and the test rows of a custodian, and the synthetic ones, read alike; errors say which table is meant."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfumato.errors import DataError, RequestError
from sfumato.evaluation.checking import ColumnCheck
from sfumato.evaluation.file_formats import format_of_header
from sfumato.evaluation.raw_values import RawColumn, RawReader, RawTable
from sfumato.trusted.schema import Schema

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class ComparedTables:
    """Three tables as they are stored, and what of the real one does not fit the schema."""

    real: RawTable
    synthetic: RawTable
    test: RawTable
    checks: tuple[ColumnCheck, ...]

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each has."""
        tables = {"real": self.real, "synthetic": self.synthetic, "test": self.test}
        return {name: _rows(table) for name, table in tables.items()}

    def column(self, name: str) -> list[RawColumn]:
        """One column of the real, the synthetic and the test rows."""
        return [table[name] for table in (self.real, self.synthetic, self.test)]


def read_tables(schema: Schema, real: Any, test: Any, synthetic: pa.Table) -> ComparedTables:
    """Read all three.

    Raises `DataError` where a table cannot be read or lacks a column, and `RequestError` where it has no rows; both
    say which of the tables it is.
    """
    reader = RawReader(schema)
    private, checks = _read(reader, real, "real", schema)
    held_out, _ = _read(reader, test, "test", schema)
    drawn, _ = reader.read_batches(synthetic.combine_chunks().to_batches(_ROWS_AT_ONCE))
    return ComparedTables(private, drawn, held_out, checks)


def _read(reader: RawReader, data: Any, which: str, schema: Schema) -> tuple[RawTable, tuple[ColumnCheck, ...]]:
    with _named(data, which, schema):
        table, checks = reader.read(data)
    if not _rows(table):
        raise RequestError(f"the {which} rows: a table without rows cannot be compared with; give one that has some")
    return table, checks


@contextmanager
def _named(data: Any, which: str, schema: Schema) -> Iterator[None]:
    """Say which table an error is about, and what the first line of a text file tells of it."""
    try:
        yield
    except DataError as error:
        raise DataError("; ".join([f"the {which} rows: {error}", *_hints(data, schema)])) from None


def _hints(data: Any, schema: Schema) -> Iterable[str]:
    try:
        found = format_of_header(data).separator
    except (DataError, OSError):  # what cannot be opened tells nothing
        return
    if found is not None and found != schema.text.separator:
        yield f"its header is separated by {found!r}: save it in the format of the table that was released"


def _rows(table: RawTable) -> int:
    return len(next(iter(table.values())).values)
