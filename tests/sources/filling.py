"""The same table in databases of every kind, under the name `people`."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from tests.sources.postgresql_server import Server


def fill_sqlite(path: Path, table: pa.Table, columns: str = "") -> str:
    rows = [
        [value.isoformat() if hasattr(value, "isoformat") else value for value in row.values()]
        for row in table.to_pylist()
    ]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"create table people ({columns or ', '.join(table.column_names)})")
        connection.executemany(f"insert into people values ({', '.join('?' * table.num_columns)})", rows)
    return str(path)


def fill_duckdb(path: Path, table: pa.Table) -> str:
    import duckdb

    with duckdb.connect(path) as connection:
        connection.register("rows", table)
        connection.execute("create table people as select * from rows")
    return str(path)


def fill_server(server: Server, table: pa.Table) -> str:
    with server.admin() as cursor:
        cursor.execute("drop table if exists people")
        cursor.adbc_ingest("people", table, mode="create")
    return server.address()
