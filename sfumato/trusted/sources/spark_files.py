"""Files and tables that Spark can reach, as frames: Parquet and CSV here, in HDFS and in the cloud, and its catalog."""

import re
from collections import defaultdict
from collections.abc import Callable
from functools import reduce
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from sfumato.errors import DataError, RequestError
from sfumato.trusted.encoding.header import check_columns
from sfumato.trusted.schema import MOST_COLUMNS, Schema, TextFormat
from sfumato.trusted.sources import files
from sfumato.trusted.sources.locations import redact_address, refuse_credentials
from sfumato.trusted.sources.spark_session import session, silent
from sfumato.trusted.sources.spark_workers import plain_name

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_LOCAL = (".zip", ".xlsx")
_WILD = re.compile(r"([\\*?{}\[\]])")


def open_frame(where: str, schema: Schema) -> Any:
    """The frame of a path or, where it does not look like one, of a table in Spark's catalog.

    All Parquet files below a folder are read, or all CSV files; a leading dot or underscore hides. What is refused on
    this machine without Spark is refused with it.

    Edge cases
        Parquet: a column must have one type in all files; in files elsewhere that lack it, it is null.
        CSV: read as by the local reader but for this: bytes that are no UTF-8 become the replacement character, a field
        that goes on after its closing quote keeps its quotes, lines must not end in carriage returns alone, and an
        empty line is never a record, not even where there is one column. Other encodings: `RequestError`, Spark has its
        own ways with bytes that they do not define.
        Archives and workbooks, of which Spark knows nothing: `RequestError`.
    """
    if not _is_path(where):
        return _opened(where, lambda spark: spark.table(where))
    if _suffix(where.partition("#")[0]) in _LOCAL:
        raise RequestError(f"Spark does not read {' or '.join(_LOCAL)} files; release it without --engine spark")
    refuse_credentials(where)
    if Path(where).exists():
        files.of_path(Path(where), schema)
    return _opened(where, lambda spark: _of_path(spark, where, schema))


def _is_path(where: str) -> bool:
    return "/" in where or Path(where).exists() or _suffix(where) in (".parquet", *_DELIMITERS)


def _opened(where: str, opening: Callable[[Any], Any]) -> Any:
    spark = session()
    try:
        with silent():
            return opening(spark)
    except (DataError, RequestError):
        raise
    except Exception as error:  # noqa: BLE001 - Java's errors are of many kinds, and may quote the first line of a file
        condition = getattr(error, "getCondition", lambda: None)() or type(error).__name__
    raise DataError(
        f"Spark cannot open {redact_address(where)} ({condition}); check the name, the files and their types"
    )


def _of_path(spark: Any, where: str, schema: Schema) -> Any:
    found = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    listed = found.load(_literal(where) if Path(where).exists() else where).inputFiles()  # wild cards are Spark's
    paths = sorted(path for path in map(unquote, listed) if _suffix(path) in (".parquet", *_DELIMITERS))
    kinds = {_suffix(path) == ".parquet" for path in paths}
    if len(kinds) != 1:
        what = "mixes CSV and Parquet files; put one kind into a folder"
        raise DataError(
            f"{redact_address(where)} {what if kinds else 'holds no .parquet, .csv or .tsv file; check the path'}"
        )
    return _of_parquet(spark, paths) if kinds == {True} else _of_csv(spark, paths, schema)


def _of_parquet(spark: Any, paths: list[str]) -> Any:
    reader = spark.read.option("recursiveFileLookup", "true").option("mergeSchema", "true")
    return reader.parquet(*map(_literal, paths))


def _of_csv(spark: Any, paths: list[str], schema: Schema) -> Any:
    """Every field as text: no type is guessed from the rows. Files whose header lines agree are read together."""
    if schema.text.encoding != "utf-8":
        raise RequestError(
            f"text: encoding: Spark reads CSV files in UTF-8 alone, not in {schema.text.encoding}; convert the files, "
            "or release them without --engine spark"
        )
    approx_equal = defaultdict(list)
    for path in paths:
        first = _csv_reader(spark, path, schema.text).csv(_literal(path)).first()
        names = tuple((name or "").removesuffix("\r") for name in first or ())
        check_columns(names, schema, path)
        approx_equal[names, _suffix(path)].append(path)
    read = set(schema.read)
    order = [name for name in next(iter(approx_equal))[0] if name in read]
    frames = (_of_header(spark, paths, names, order, schema.text) for (names, _), paths in approx_equal.items())
    return reduce(lambda one, other: one.union(other), frames)


def _of_header(spark: Any, paths: list[str], names: tuple[str, ...], wanted: list[str], text: TextFormat) -> Any:
    """The wanted columns of files with one header line, of the lines that have as many fields as it has."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import StringType, StructField, StructType

    columns = [*map(plain_name, range(len(names)))]
    layout = StructType([StructField(name, StringType()) for name in (*columns, "ragged")])
    reader = _csv_reader(spark, paths[0], text).option("header", "true").option("columnNameOfCorruptRecord", "ragged")
    lines = reader.schema(layout).csv([*map(_literal, paths)]).where("ragged is null")
    fields = [sql.replace(columns[names.index(name)], sql.lit("\r\n"), sql.lit("\n")) for name in wanted]
    return lines.select([sql.rtrim(field, sql.lit("\r")) for field in fields]).toDF(*wanted)


def _csv_reader(spark: Any, path: str, text: TextFormat) -> Any:
    """Lines end in line feeds, whatever stands in the file: else Spark looks at some of it and decides for all."""
    settings = {
        "sep": text.separator or _DELIMITERS[_suffix(path)],
        "escape": '"',
        "multiLine": "true",
        "lineSep": "\n",
    }
    return spark.read.options(**settings, maxColumns=2 * MOST_COLUMNS)


def _suffix(path: str) -> str:
    return PurePosixPath(PurePosixPath(path).name.lower().removesuffix(".gz")).suffix


def _literal(path: str) -> str:
    """The path without wild cards."""
    return _WILD.sub(r"\\\1", path)
