"""Parquet and CSV files and folders of them, and Arrow datasets, as streams."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from sfumato.encoding.header import check_columns, check_storage, header_of_arrow
from sfumato.encoding.reading import family
from sfumato.errors import DataError
from sfumato.schema import Schema
from sfumato.sources import csv_files
from sfumato.sources.batches import ROWS_AT_ONCE, StreamSource
from sfumato.sources.places import Place

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def of_path(path: str | Path, schema: Schema) -> StreamSource:
    """The source of a file, or of all files in a folder in the order of their names, here or in the cloud."""
    files = _listed(Place.of(path))
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise DataError(f"{path} mixes {' and '.join(sorted(kinds))} files; put one kind into a folder")
    return _of_parquet(files, schema) if kinds == {"Parquet"} else _of_csv(files, schema)


def header_types(path: str | Path) -> dict[str, pa.DataType]:
    """The columns of a file, or of the first file of a folder, with their declared types; CSV declares none."""
    file = _listed(Place.of(path))[0]
    if _kind(file) == "CSV":
        return dict.fromkeys(csv_files.names_in(file, _DELIMITERS[file.suffix]), pa.null())
    return {field.name: field.type for field in _parquet_storage(file)}


def of_dataset(dataset: pyarrow.dataset.Dataset, schema: Schema) -> StreamSource:
    """The source of an Arrow dataset of files that declare their types."""
    kind = getattr(getattr(dataset, "format", None), "default_extname", "")
    if kind in ("csv", "json"):
        raise DataError(f"a dataset of {kind} files guesses types from the rows; give the path of CSV files instead")
    check_columns(dataset.schema.names, schema, "the dataset")
    check_storage({name: dataset.schema.field(name).type for name in schema.read}, schema, "the dataset")

    def read(names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        yield from dataset.to_batches(
            columns=list(names), batch_size=ROWS_AT_ONCE, batch_readahead=2, fragment_readahead=1
        )

    return StreamSource(header_of_arrow(dataset.schema, schema), schema, read)


def _listed(place: Place) -> list[Place]:
    """The file itself, or the readable files below a folder."""
    found = place.files
    files = [file for file in found if file == place or file.suffix in (".parquet", *_DELIMITERS)]
    if not files:
        raise DataError(f"{place} holds no .parquet, .csv or .tsv file; check the path")
    return files


def _kind(file: Place) -> str:
    if file.suffix in _DELIMITERS:
        return "CSV"
    if file.suffix == ".parquet":
        return "Parquet"
    raise DataError(
        f"{file} is neither .parquet nor .csv nor .tsv, nor one .npz or .npy file; convert it, or correct its name"
    )


def _of_parquet(files: list[Place], schema: Schema) -> StreamSource:
    storages = [(file, _parquet_storage(file)) for file in files]
    for file, storage in storages:
        check_columns(storage.names, schema, str(file))
        check_storage({name: storage.field(name).type for name in schema.read}, schema, str(file))
    return StreamSource(header_of_arrow(storages[0][1], schema), schema, partial(_read_parquet, storages))


def _parquet_storage(file: Place) -> pa.Schema:
    try:
        return pyarrow.parquet.read_schema(file.path, filesystem=file.system)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file} cannot be read as Parquet ({type(error).__name__}); check the file") from None


def _read_parquet(storages: list[tuple[Place, pa.Schema]], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Only the named columns; text stays a dictionary where the file has one, so that each word is looked up once."""
    for file, storage in storages:
        texts = [name for name in names if family(storage.field(name).type) == "text"]
        with pyarrow.parquet.ParquetFile(
            file.path, filesystem=file.system, read_dictionary=texts, pre_buffer=False, buffer_size=1 << 20
        ) as opened:
            yield from opened.iter_batches(batch_size=ROWS_AT_ONCE, columns=list(names))


def _of_csv(files: list[Place], schema: Schema) -> StreamSource:
    """Every field is read as bytes and understood by the schema: no type is guessed from the rows."""
    headers = [csv_files.names_in(file, _DELIMITERS[file.suffix]) for file in files]
    for file, names in zip(files, headers, strict=True):
        check_columns(names, schema, str(file))
    untyped = pa.schema([(name, pa.null()) for name in headers[0]])
    return StreamSource(header_of_arrow(untyped, schema), schema, partial(_read_csv, files))


def _read_csv(files: list[Place], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    for file in files:
        yield from csv_files.batches_in(file, _DELIMITERS[file.suffix], names)
