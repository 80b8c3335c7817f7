"""From what a user has to a source."""

import secrets
from pathlib import Path

from sfumato.errors import DataError
from sfumato.trusted.encoding.frames import kind_of
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import array_files, excel_files, files, spark
from sfumato.trusted.sources.batches import StreamSource
from sfumato.trusted.sources.bounded_source import ContributionBoundedSource
from sfumato.trusted.sources.databases import Database, of_database
from sfumato.trusted.sources.memory import MemorySource
from sfumato.trusted.sources.source import Source


def open_source(data: object, schema: Schema, key: bytes | None = None, *, declared: bool = False) -> Source:
    """The source of a path, a database, an Arrow table or dataset, a pandas, polars or Spark frame.

    `declared` says that somebody chose the types of a frame or table in memory; else they are taken for inferred from
    the rows, see `inference`. Where the schema has a `unit`, no person counts more often than it allows; `key` decides
    which of their records count, by default a fresh one.

    Edge cases
        A column of the schema that the header lacks, an unreadable file, a column that inference may change, something
        else: `DataError`. Only headers are read.
    """
    key = key or secrets.token_bytes(32)
    if spark.is_frame(data):
        return spark.SparkSource(data, schema, key)
    source = open_local(data, schema, declared)
    return ContributionBoundedSource(source, schema, schema.unit, key) if schema.unit else source


def open_local(data: object, schema: Schema, declared: bool) -> StreamSource | MemorySource:
    """The source of a table on this machine, whoever's its records are: see `open_source`."""
    if isinstance(data, str | Path):
        if excel_files.is_workbook(data):
            return excel_files.of_workbook(data, schema)
        arrays = array_files.is_array_file(data)
        return array_files.of_arrays(Path(data), schema) if arrays else files.of_path(data, schema)
    if isinstance(data, Database):
        return of_database(data, schema)
    if files.is_dataset(data):
        return files.of_dataset(data, schema)
    if kind_of(data) is not None:
        return MemorySource(data, schema, declared)
    raise DataError(
        f"a {type(data).__name__} cannot be released; "
        "give a path to Parquet, CSV, Excel or numpy files, a database, an Arrow table or dataset, or a frame of "
        "pandas, polars or Spark"
    )
