"""From what a user has of a family to a source: a table for each name, all of one moment in a database."""

import secrets
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.trusted.families import family_layout_of
from sfumato.trusted.schema import FamilySchema
from sfumato.trusted.schema.messages import did_you_mean
from sfumato.trusted.sources import excel_files, spark
from sfumato.trusted.sources.bounded_source import Readable
from sfumato.trusted.sources.databases import Database, is_database, of_databases
from sfumato.trusted.sources.family_source import FamilySource
from sfumato.trusted.sources.spark_family import SparkFamilySource

ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".zip", ".xlsx")


def open_family(
    data: object, family: FamilySchema, key: bytes | None = None, *, declared: bool = False
) -> FamilySource | SparkFamilySource:
    """The source of a family: a dictionary by table, a folder, a workbook, or a database.

    In a folder the table `stays` is the file stays.parquet or stays.csv (also .tsv, .gz, .zip), or the folder stays; in
    a workbook it is the sheet, and in a database the table of that name. `declared` and `key` are those of
    `open_source`.

    Edge cases
        A table that is not there, a name that is no table, tables of several databases: `DataError`. Only headers are
        read.
    """
    key = key or secrets.token_bytes(32)
    _ = family_layout_of(family)  # what a family cannot have is refused before anything is opened
    tables = tables_of(data, family)
    if any(map(spark.is_frame, tables.values())):
        return SparkFamilySource(tables, family, key)
    with ExitStack() as undo:
        opened: dict[str, Readable] = {}
        databases = {name: one for name, one in tables.items() if isinstance(one, Database)}
        if databases:
            opened |= of_databases(databases, {name: family.schema_of(name) for name in databases})
            undo.callback(next(iter(opened.values())).close)
        for name, one in tables.items():
            if name not in opened:
                opened[name] = _open_table(one, family, name, declared)
                undo.callback(opened[name].close)
        undo.pop_all()
        return FamilySource(opened, family, key)


def _open_table(data: object, family: FamilySchema, name: str, declared: bool) -> Readable:
    from sfumato.trusted.sources.opening import open_local

    try:
        return open_local(data, family.schema_of(name), declared)
    except DataError as error:
        raise name_table(error, family, name) from None


def name_table(error: DataError, family: FamilySchema, name: str) -> DataError:
    """The same error with the name of the table, and with what to write where only the name of a link is wrong."""
    table, cure = family.tables[name], ""
    if table.parent is not None and table.foreign_key is None:
        unnamed = f"no column {family.foreign_key_of(name)!r}" in str(error)
        cure = f", or say by `foreign_key` which column names the row of {table.parent!r}" if unnamed else ""
    return DataError(f"table {name!r}: {error}{cure}")


def tables_of(data: object, family: FamilySchema) -> dict[str, Any]:
    """What holds each table: see `open_family`."""
    if isinstance(data, Mapping):
        for name in data:
            if name not in family.tables:
                hint = did_you_mean(str(name), family.tables)
                raise DataError(f"{name!r} is no table of the schema{hint}; it has {', '.join(family.tables)}")
        for name in family.tables:
            if name not in data:
                raise DataError(f"table {name!r} of the schema is not given; give all of {', '.join(family.tables)}")
        return {name: data[name] for name in family.tables}
    if not isinstance(data, str | Path):
        raise DataError(
            f"a {type(data).__name__} is no family of tables; give a dictionary of tables, a folder, a workbook or a "
            "database"
        )
    if is_database(str(data)):
        return {name: Database(data, table=name) for name in family.tables}
    if excel_files.is_workbook(data):
        return {name: f"{data}#{name}" for name in family.tables}
    return {name: file_of(str(data), name) for name in family.tables}


def file_of(folder: str, name: str) -> str:
    """The file or folder of a table; one in the cloud is taken to be Parquet."""
    if "://" in folder:
        return f"{folder.rstrip('/')}/{name}.parquet"
    if not Path(folder).is_dir():
        raise DataError(f"{folder} is no folder; give the folder that holds a file for each table, or a database")
    found = [Path(folder, f"{name}{ending}") for ending in ENDINGS if Path(folder, f"{name}{ending}").is_file()]
    found += [Path(folder, name)] if Path(folder, name).is_dir() else []
    if len(found) != 1:
        what = "no file" if not found else "more than one file"
        raise DataError(f"{folder} has {what} for table {name!r}; keep one, such as {name}.parquet or {name}.csv")
    return str(found[0])
