"""Synthetic tables of a family, written part by part: a folder of Parquet or CSV files, or a DuckDB or SQLite file."""

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.archive.whole_files import refuse_existing
from sfumato.artefact.families.frames import to_family_frame
from sfumato.artefact.families.release import FamilyRelease
from sfumato.errors import OutputError, RequestError
from sfumato.table_files.single import open_writer
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.sources.sql import driver, quote

Parts = Iterable[Mapping[str, pa.Table]]
_SQLITE = (".sqlite", ".sqlite3", ".db")
_DUCKDB = (".duckdb", ".ddb")
_TYPES = {"integer": "INTEGER", "floating": "REAL", "boolean": "INTEGER"}


class Writer(Protocol):
    """Writes the tables of a family to a place that did not exist before."""

    def write(self, name: str, table: pa.Table) -> None:
        """Some more rows of a table."""

    def close(self) -> None:
        """Write what is left."""


def write_family(
    parts: Parts, release: FamilyRelease, path: Path, suffix: str, progress: Callable[[int], None]
) -> dict[str, int]:
    """Write all parts; it appears whole or not at all. Returns the number of rows of each table.

    suffix   of the files of a folder: .parquet or .csv

    Edge cases
        Something is there already, or its folder is not: `OutputError`, nothing is drawn.
    """
    refuse_existing(path)
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}; make it, or choose another")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    rows = dict.fromkeys(release.schema.tables, 0)
    try:
        with ExitStack() as stack:
            writer = _open(draft, path.suffix, suffix, release)
            stack.enter_context(closing(writer))
            for part in parts:
                for name, table in part.items():
                    writer.write(name, to_family_frame(table, release, name, "arrow"))
                    rows[name] += table.num_rows
                progress(part[release.schema.root].num_rows)
        draft.rename(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror}); choose another place") from None
    finally:
        _remove(draft)
    return rows


def _open(draft: Path, kind: str, suffix: str, release: FamilyRelease) -> Writer:
    if kind in _SQLITE:
        return _SQLiteWriter(draft, release.schema)
    if kind in _DUCKDB:
        return _DuckDBWriter(draft)
    if kind not in ("", ".d") and not kind[1:].isdigit():
        raise RequestError(
            f"{kind} is no place for several tables; name a folder, or a file that ends in .duckdb or .sqlite"
        )
    return _FolderWriter(draft, suffix, release.schema)


def _remove(draft: Path) -> None:
    if draft.is_dir():
        for file in draft.iterdir():
            file.unlink()
        draft.rmdir()
    else:
        draft.unlink(missing_ok=True)


class _FolderWriter:
    def __init__(self, folder: Path, suffix: str, schema: FamilySchema) -> None:
        folder.mkdir()
        self._folder, self._suffix, self._schema = folder, suffix, schema
        self._open: dict[str, Any] = {}
        self._files = ExitStack()

    def write(self, name: str, table: pa.Table) -> None:
        """See `Writer`."""
        if name not in self._open:
            file = self._files.enter_context((self._folder / f"{name}{self._suffix}").open("xb"))
            self._open[name] = open_writer(file, table.schema, self._schema.schema_of(name), self._suffix)
        self._open[name].write_table(table)

    def close(self) -> None:
        """See `Writer`."""
        for writer in self._open.values():
            writer.close()
        self._files.close()


class _SQLiteWriter:
    """Dates are ISO text and truth is 0 or 1, as SQLite has no types for them. Keys are declared."""

    def __init__(self, path: Path, schema: FamilySchema) -> None:
        self._connection = sqlite3.connect(path)
        self._schema = schema
        self._made: set[str] = set()

    def write(self, name: str, table: pa.Table) -> None:
        """See `Writer`."""
        if name not in self._made:
            self._make(name, table.schema)
        columns = [_plain(column).to_pylist() for column in table.columns]
        marks = ", ".join("?" * len(columns))
        statement = f"insert into {quote(name)} values ({marks})"  # noqa: S608 - the name is quoted
        self._connection.executemany(statement, zip(*columns, strict=True))

    def _make(self, name: str, storage: pa.Schema) -> None:
        own = self._schema.tables[name]
        lines = [f"{quote(field.name)} {_declared(field.type)}" for field in storage]
        if own.key is not None:
            lines.append(f"primary key ({quote(own.key)})")
        if own.parent is not None:
            parent = self._schema.tables[own.parent]
            foreign = quote(self._schema.foreign_key_of(name))
            lines.append(f"foreign key ({foreign}) references {quote(own.parent)} ({quote(parent.key or '')})")
        self._connection.execute(f"create table {quote(name)} ({', '.join(lines)})")
        self._made.add(name)

    def close(self) -> None:
        """See `Writer`."""
        self._connection.commit()
        self._connection.close()


def _declared(storage: pa.DataType) -> str:
    kinds = {"integer": pa.types.is_integer, "floating": pa.types.is_floating, "boolean": pa.types.is_boolean}
    return next((_TYPES[kind] for kind, is_kind in kinds.items() if is_kind(storage)), "TEXT")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values that SQLite can hold."""
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    return pc.cast(column, pa.string()) if pa.types.is_temporal(column.type) else column


class _DuckDBWriter:
    def __init__(self, path: Path) -> None:
        self._connection = driver("duckdb").connect(str(path))
        self._made: set[str] = set()

    def write(self, name: str, table: pa.Table) -> None:
        """See `Writer`."""
        self._connection.register("drawn_rows", table)
        verb = f"insert into {quote(name)}" if name in self._made else f"create table {quote(name)} as"
        self._connection.execute(f"{verb} select * from drawn_rows")  # noqa: S608 - the name is quoted
        self._connection.unregister("drawn_rows")
        self._made.add(name)

    def close(self) -> None:
        """See `Writer`."""
        self._connection.close()
