"""Tables of databases, and what queries find in them, as streams."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from sfumato.errors import DataError, RequestError
from sfumato.trusted.encoding.header import check_columns, check_storage, header_of_arrow
from sfumato.trusted.encoding.reading import family
from sfumato.trusted.redaction import public_name
from sfumato.trusted.schema import Schema
from sfumato.trusted.server_address import is_server, refuse_secrets
from sfumato.trusted.sources.batches import Parts, StreamSource
from sfumato.trusted.sources.duckdb_files import DuckDB
from sfumato.trusted.sources.postgresql import PostgreSQL
from sfumato.trusted.sources.sql import Connection, rows_of_query, rows_of_table
from sfumato.trusted.sources.sqlite_files import SQLite
from sfumato.trusted.sources.sums import alone

R = TypeVar("R")

_SUFFIXES: dict[str, Callable[[str, str, Collection[str]], Connection]] = {
    ".duckdb": DuckDB,
    ".ddb": DuckDB,
    ".sqlite": SQLite,
    ".sqlite3": SQLite,
    ".db": SQLite,
}


@dataclass(frozen=True, repr=False)
class Database:
    """A table of a database, or what one query finds.

    `address` is the path of a SQLite file (.sqlite, .sqlite3, .db) or of a DuckDB file (.duckdb, .ddb), or
    `postgresql://user@host:port/database`. It holds no password: PGPASSWORD, ~/.pgpass or a service file does.
    Give a `table` or a `query`; both or none, and an address with a password: `RequestError`.

    Example
        >>> sfumato.Database("clinic.sqlite", query="select age, sex from stays where year = 2023")
        Database('clinic.sqlite', query=...)
    """

    address: str | Path
    table: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise RequestError("a database needs a table or a query, and not both; give one of them")
        if is_server(self.address):
            refuse_secrets(str(self.address))
        elif "://" in str(self.address) or self._suffix not in _SUFFIXES:
            raise RequestError(
                f"the address is neither postgresql:// nor a file that ends in {', '.join(_SUFFIXES)}; correct it"
            )
        if self.table is not None:
            rows_of_table(self.table)

    def __repr__(self) -> str:
        address = "postgresql://..." if is_server(self.address) else str(self.address)
        return f"Database({address!r}, " + (f"table={self.table!r})" if self.query is None else "query=...)")

    @property
    def rows(self) -> str:
        """The rows as SQL."""
        return rows_of_table(self.table or "") if self.query is None else rows_of_query(self.query)

    @property
    def connect(self) -> Callable[[str, str, Collection[str]], Connection]:
        """What opens an address and rows of this kind, given the columns that are ids."""
        return PostgreSQL if is_server(self.address) else _SUFFIXES[self._suffix]

    @property
    def _suffix(self) -> str:
        return Path(self.address).suffix.lower()


def is_database(where: str) -> bool:
    """Whether an address leads to a database rather than to files."""
    return is_server(where) or Path(where).suffix.lower() in _SUFFIXES


def of_database(database: Database, schema: Schema) -> StreamSource:
    """The source of a table or query. All sums see the rows of one moment, the one at which it is opened.

    Edge cases
        No way in, no such table or column, a query that is not one select, a type that holds no plain values:
        `DataError` that quotes nothing of the address or of what the database says. Only the header is read.
    """
    where = "the table" if database.query is None else "the query"
    with ExitStack() as undo:
        connection, columns = _connected(database, undo, schema.ids)
        check_columns([name for name, _ in columns], schema, where)
        types = dict(columns)
        _check_plain(types, schema, where)
        check_storage(types, schema, where)
        undo.pop_all()
        header = header_of_arrow(pa.schema(columns), schema)
        return StreamSource(header, schema, partial(_read_alone, connection), connection.close)


def of_databases(databases: Mapping[str, Database], schemas: Mapping[str, Schema]) -> dict[str, StreamSource]:
    """The sources of several tables or queries of one database, which all see the rows of one moment.

    Edge cases
        More than one database: `DataError`; there is no moment that two of them share. Otherwise as `of_database`.
    """
    if len({str(one.address) for one in databases.values()}) > 1:
        raise DataError("the tables lie in several databases, which share no moment; copy them into one first")
    with ExitStack() as undo:
        first: Connection | None = None
        found = {}
        for name, database in databases.items():
            where = f"table {name!r}" if database.query is None else f"the query of table {name!r}"
            schema = schemas[name]
            if first is None:
                first, columns = _connected(database, undo, schema.ids)
                connection = first
            else:
                connection = first.beside(database.rows, schema.ids)
                columns = _header_of(connection, database)
            check_columns([column for column, _ in columns], schema, where)
            types = dict(columns)
            _check_plain(types, schema, where)
            check_storage(types, schema, where)
            header = header_of_arrow(pa.schema(columns), schema)
            found[name] = StreamSource(header, schema, partial(_read_alone, connection), connection.close)
        undo.pop_all()
        return found


def _read_alone(connection: Connection, names: tuple[str, ...]) -> Parts:
    return alone(connection.read(names))


def header_types(database: Database) -> dict[str, pa.DataType]:
    """The columns with their declared types; SQLite declares none."""
    with ExitStack() as undo:
        return dict(_connected(database, undo)[1])


def _connected(
    database: Database, undo: ExitStack, ids: Collection[str] = ()
) -> tuple[Connection, Sequence[tuple[str, pa.DataType]]]:
    """A connection whose snapshot is pinned, and its columns; `undo` closes it."""
    connection = _quietly(
        lambda: database.connect(str(database.address), database.rows, ids),
        "the database cannot be opened ({}); check the address, that the server is up or the file is not in use, and "
        "that you are let in",
    )
    undo.callback(connection.close)
    _quietly(connection.begin, "the database cannot be read ({}); check that it is what its address says")
    return connection, _header_of(connection, database)


def _header_of(connection: Connection, database: Database) -> Sequence[tuple[str, pa.DataType]]:
    return _quietly(
        lambda: connection.columns,
        "the table cannot be read ({}); check its name, upper and lower case too, and that you may read it"
        if database.query is None
        else "the query cannot be run ({}); write one select, and try it in a shell of the database",
    )


def _quietly(work: Callable[[], R], message: str) -> R:
    """Replace any error of a driver by our own.

    A driver quotes addresses and rows. As in `redact_errors`, ours is raised where it has no context.
    """
    try:
        return work()
    except DataError:
        raise
    except Exception as error:  # noqa: BLE001 - every driver has its own
        kind = public_name(type(error))
    raise DataError(message.format(kind))


def _check_plain(types: dict[str, pa.DataType], schema: Schema, where: str) -> None:
    for name in schema.by_name:
        if family(types[name]) is None:
            declared = getattr(types[name], "type_name", types[name])
            raise DataError(
                f"{where} stores column {name!r} as {declared}, which holds no plain values; cast it in a query, such "
                f"as `select cast({name} as text) as {name}`"
            )
