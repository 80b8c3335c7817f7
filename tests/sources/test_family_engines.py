"""A family from every place where its tables can live: the same sums to the last bit."""

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sfumato
from sfumato.trusted.sources.family_opening import open_family
from tests.families.hospital import broken_tables, questions, schema
from tests.parameters import mostly_slow

KEY = b"the same for all, 32 bytes long."
PLACES = [
    "parquet",
    "parquet folders",
    "csv",
    "duckdb",
    "sqlite",
    "postgresql",
    "polars",
    "pandas",
    "spark 2",
    "spark 7",
]


@cache
def sums() -> list[bytes]:
    """What the tables in memory give."""
    with closing(open_family(broken_tables(), schema(), KEY, declared=True)) as source:
        return [source.sum(question).tobytes() for question in questions()]


@pytest.fixture
def stored(request, tmp_path):
    """Puts tables into a place."""

    def put(tables: dict[str, pa.Table], place: str) -> Any:
        kind, _, how = place.partition(" ")
        match kind:
            case "parquet" if how:
                return in_folders(tables, tmp_path)
            case "parquet":
                return in_files(tables, tmp_path, ".parquet")
            case "csv":
                return in_files({name: plain(table) for name, table in tables.items()}, tmp_path, ".csv")
            case "duckdb":
                return in_duckdb(tables, tmp_path / "t.duckdb")
            case "sqlite":
                return in_sqlite(tables, tmp_path / "t.sqlite")
            case "postgresql":
                return in_server(tables, request.getfixturevalue("server"))
            case "polars":
                polars = pytest.importorskip("polars")
                return {name: polars.from_arrow(table) for name, table in tables.items()}
            case "pandas":
                pytest.importorskip("pandas")
                return {
                    name: table.to_pandas(types_mapper=nullable, date_as_object=False) for name, table in tables.items()
                }
        spark = request.getfixturevalue("spark")
        return {name: spark.createDataFrame(plain(table)).repartition(int(how)) for name, table in tables.items()}

    return put


def nullable(storage: pa.DataType) -> Any:
    import pandas

    return pandas.Int32Dtype() if pa.types.is_int32(storage) else None


def plain(table: pa.Table) -> pa.Table:
    columns = {
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def in_files(tables: dict[str, pa.Table], folder: Path, suffix: str) -> Path:
    for name, table in tables.items():
        write = pyarrow.parquet.write_table if suffix == ".parquet" else pyarrow.csv.write_csv
        write(table, folder / f"{name}{suffix}")
    return folder


def in_folders(tables: dict[str, pa.Table], folder: Path) -> Path:
    for name, table in tables.items():
        (folder / name).mkdir()
        for part, start in enumerate(range(0, max(len(table), 1), 70)):
            pyarrow.parquet.write_table(table.slice(start, 70), folder / name / f"{part}.parquet")
    return folder


def in_duckdb(tables: dict[str, pa.Table], path: Path) -> Path:
    with closing(pytest.importorskip("duckdb").connect(str(path))) as connection:
        for name, table in tables.items():
            connection.register("rows", table)
            connection.execute(f'create table "{name}" as select * from rows')
    return path


def in_sqlite(tables: dict[str, pa.Table], path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, table in tables.items():
            columns = [text(column).to_pylist() for column in plain(table).columns]
            connection.execute(f'create table "{name}" ({", ".join(table.column_names)})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(f'insert into "{name}" values ({marks})', zip(*columns, strict=True))
    return path


def text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_date(column.type) else column


def in_server(tables: dict[str, pa.Table], server: Any) -> str:
    with server.admin() as cursor:
        for name, table in tables.items():
            cursor.execute(f'drop table if exists "{name}"')
            cursor.adbc_ingest(name, plain(table), mode="create")
    return server.address()


@pytest.mark.parametrize("place", mostly_slow(PLACES, "spark 2", "polars", "parquet folders"))
def test_every_place_gives_the_same_sums_of_a_family(place, stored):
    with closing(open_family(stored(broken_tables(), place), schema(), KEY, declared=True)) as source:
        for question, expected in zip(questions(), sums(), strict=True):
            assert source.sum(question).tobytes() == expected, question.title


def test_tables_of_one_database_may_be_queries(stored):
    path = stored(broken_tables(), "sqlite")
    named = {
        name: sfumato.Database(path, query=f'select * from "{name}"')
        if name == "stays"
        else sfumato.Database(path, table=name)
        for name in schema().tables
    }
    with closing(open_family(named, schema(), KEY)) as source:
        assert [source.sum(question).tobytes() for question in questions()] == sums()
