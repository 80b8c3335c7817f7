"""Public tables as Parquet or CSV files, written part by part."""

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.archive.whole_files import whole_file
from sfumato.artefact.frames import is_category, to_frame
from sfumato.artefact.release import Release
from sfumato.errors import RequestError
from sfumato.table_files.parquet_parts import ParquetParts
from sfumato.table_files.text import TextWriter
from sfumato.trusted.encoding import Header
from sfumato.trusted.schema import Schema, TextFormat
from sfumato.trusted.sources.array_files import RUN_JOINTS

SUFFIXES = (".parquet", ".csv")


def read(path: Path, schema: Schema) -> pa.Table:
    """A public table from a Parquet file, from a CSV file in the format of the schema, or from arrays in .npz."""
    readers = {".parquet": lambda: pyarrow.parquet.read_table(path), ".npz": lambda: _read_arrays(path, schema)}
    try:
        return readers.get(path.suffix, lambda: _read_csv(path, schema))()
    except (OSError, UnicodeError, ValueError, zipfile.BadZipFile, pa.ArrowException) as error:
        raise RequestError(
            f"{path} cannot be read ({type(error).__name__}); give a Parquet, CSV or .npz file"
        ) from None


def _read_arrays(path: Path, schema: Schema) -> pa.Table:
    """The array of a run by the name that a release finds it by; all others that are columns by their own."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    columns: dict[str, Any] = {}
    for column in schema.columns:
        stem, brace, _ = column.name.partition("{")
        called = [name for name in (stem, stem.rstrip("".join(RUN_JOINTS))) if brace and name in arrays]
        if called:
            run = arrays.pop(called[0])
            columns |= dict(zip(column.names, run.reshape(len(run), -1).T, strict=True))
    return pa.table(columns | {name: array for name, array in arrays.items() if array.ndim == 1})


def _read_csv(path: Path, schema: Schema) -> pa.Table:
    """Where the schema says how text is written, columns stay text, which it then reads."""
    text = schema.text
    as_text = {} if text == TextFormat() else dict.fromkeys(schema.by_name, pa.string())
    return pyarrow.csv.read_csv(
        path,
        pyarrow.csv.ReadOptions(encoding=text.encoding),
        pyarrow.csv.ParseOptions(delimiter=text.separator or ","),
        pyarrow.csv.ConvertOptions(column_types=as_text, strings_can_be_null=bool(as_text)),
    )


def write(tables: Iterable[pa.Table], release: Release, path: Path, progress: Callable[[int], None]) -> None:
    """Write the tables to one file, in the column order and, in Parquet, the types of the private table.

    CSV is written in the format that the schema's `text:` gives; Parquet takes listed texts as Arrow dictionaries, too.

    Edge cases
        A name that ends neither in .parquet nor in .csv: `RequestError`, nothing is drawn.
    """
    if path.suffix not in SUFFIXES:
        raise RequestError(f"{path} must end in .parquet or .csv")
    header = (
        release.header if release.header.frame == "arrow" else Header("arrow", dict.fromkeys(release.header.types, ""))
    )
    with whole_file(path) as file:
        writer = None
        for table in tables:
            dressed = to_frame(table, header, release.schema, "arrow")
            writer = writer or open_writer(file, _shown(dressed, release.schema, header), release.schema, path.suffix)
            writer.write_table(dressed)
            progress(table.num_rows)
        if writer:
            writer.close()


def _shown(table: pa.Table, schema: Schema, header: Header) -> pa.Schema:
    """The types that a reader is to find: text, where it is referred to only because that is written sooner."""
    shown = table.schema
    for place, field in enumerate(shown):
        known = schema.by_name.get(field.name)
        if pa.types.is_dictionary(field.type) and known and not is_category(known, header.types.get(field.name, "")):
            shown = shown.set(place, field.with_type(field.type.value_type))
    return shown


def write_table(table: pa.Table, schema: Schema, path: Path) -> None:
    """Write one table as it is."""
    with whole_file(path) as file:
        writer = open_writer(file, table.schema, schema, path.suffix)
        writer.write_table(table)
        writer.close()


def open_writer(file: BinaryIO, storage: pa.Schema, schema: Schema, suffix: str) -> Any:
    """Writes tables of one kind; the usual CSV is pyarrow's, which is many times as fast."""
    if suffix == ".parquet":
        return ParquetParts(file, storage)
    plain = schema.text == TextFormat()
    return pyarrow.csv.CSVWriter(file, storage) if plain else TextWriter(file, storage.names, schema)
