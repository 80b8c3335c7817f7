"""Parquet and CSV files and folders of them, and Arrow datasets, as streams."""

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from sfumato.errors import DataError
from sfumato.trusted.cores import cores
from sfumato.trusted.encoding.header import check_columns, check_storage, header_of_arrow
from sfumato.trusted.encoding.reading import family
from sfumato.trusted.schema import Schema, TextFormat
from sfumato.trusted.sources import csv_files
from sfumato.trusted.sources.batches import Parts, StreamSource, rows_at_once
from sfumato.trusted.sources.locations import BROKEN, Location
from sfumato.trusted.sources.sums import alone

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_BUFFER, _BUFFERS, _LEAST_BUFFER = 1 << 20, 1 << 26, 1 << 16  # bytes read ahead of a column, and of all of them
_DECLARING = ("parquet", "arrow", "orc")  # formats whose files declare the types of their columns


def of_path(path: str | Path, schema: Schema) -> StreamSource:
    """The source of a file, or of all files in a folder in the order of their names, here or in the cloud."""
    files = _listed(Location.of(path))
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise DataError(f"{path} mixes {' and '.join(sorted(kinds))} files; put one kind into a folder")
    return _of_parquet(files, schema) if kinds == {"Parquet"} else _of_csv(files, schema)


def header_types(path: str | Path, text: TextFormat = TextFormat()) -> dict[str, pa.DataType]:  # noqa: B008 - it is frozen
    """The columns of a file, or of the first file of a folder, with their declared types; CSV declares none."""
    file = _listed(Location.of(path))[0]
    if _kind(file) == "CSV":
        return dict.fromkeys(csv_files.names_in(file, dialect_of(file, text)), pa.null())
    return {field.name: field.type for field in inspect_parquet(file).storage}


def csv_start(path: str | Path, size: int) -> tuple[bytes, str] | None:
    """The first bytes of one CSV file, unpacked, and the separator that its name tells; None for other tables.

    Rows are among the bytes: not for a release.
    """
    place = Location.of(path)
    if place.suffix not in (".zip", *_DELIMITERS) or place.files != [place]:
        return None
    (file,) = _listed(place)
    try:
        with file.stream() as stream:
            return stream.read(size), _DELIMITERS[file.suffix]
    except BROKEN as error:
        raise DataError(f"{file} cannot be read as CSV ({type(error).__name__}); check the file") from None


def dialect_of(file: Location, text: TextFormat) -> csv_files.Dialect:
    """How a CSV file is written: as the schema says, else as its name does."""
    return csv_files.Dialect(text.separator or _DELIMITERS[file.suffix], text.encoding)


def is_dataset(data: object) -> bool:
    """Whether it is an Arrow dataset; the module, which takes its time, need not be loaded for that."""
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(data, module.Dataset)


def of_dataset(dataset: "Dataset", schema: Schema) -> StreamSource:
    """The source of an Arrow dataset of files that declare their types."""
    if not _declares_types(dataset):
        raise DataError(
            "the dataset is not of Parquet, Arrow or ORC files, which declare their types; give the path of the files"
        )
    check_columns(dataset.schema.names, schema, "the dataset")
    check_storage({name: dataset.schema.field(name).type for name in schema.read}, schema, "the dataset")

    def read(names: tuple[str, ...]) -> Parts:
        rows = rows_at_once(len(names))
        return alone(dataset.to_batches(columns=list(names), batch_size=rows, batch_readahead=2, fragment_readahead=1))

    return StreamSource(header_of_arrow(dataset.schema, schema), schema, read)


def _declares_types(dataset: "Dataset") -> bool:
    """Whether all its files say what types they hold; a reader of others guesses from the rows."""
    if children := getattr(dataset, "children", None):
        return all(map(_declares_types, children))
    return getattr(getattr(dataset, "format", None), "default_extname", "") in _DECLARING


def _listed(place: Location) -> list[Location]:
    """The file itself, or the readable files below a folder; archives there are no tables of it."""
    found = place.files
    if found == [place] and place.suffix == ".zip":
        return [place.unzipped(_DELIMITERS)]
    files = [file for file in found if file == place or file.suffix in (".parquet", *_DELIMITERS)]
    if not files:
        raise DataError(f"{place} holds no .parquet, .csv or .tsv file; check the path")
    return files


def _kind(file: Location) -> str:
    if file.suffix in _DELIMITERS:
        return "CSV"
    if file.suffix == ".parquet":
        return "Parquet"
    raise DataError(
        f"{file} is neither .parquet nor .csv nor .tsv (also .gz or .zip), nor one .xlsx, .npz or .npy file; convert "
        "it, or correct its name"
    )


class Parquet(NamedTuple):
    """A file, the types that it declares, how many row groups and rows it has, and what its writer said of itself."""

    file: Location
    storage: pa.Schema
    groups: int
    rows: int
    writer: Mapping[bytes, bytes]


def _of_parquet(files: list[Location], schema: Schema) -> StreamSource:
    stored = [inspect_parquet(file) for file in files]
    for one in stored:
        check_columns(one.storage.names, schema, str(one.file))
        check_storage({name: one.storage.field(name).type for name in schema.read}, schema, str(one.file))
    return StreamSource(header_of_arrow(stored[0].storage, schema), schema, partial(_read_parquet, stored))


def inspect_parquet(file: Location) -> Parquet:
    """What the footer of a file tells."""
    try:
        with _open_parquet(file) as opened:
            about = opened.metadata
            return Parquet(file, opened.schema_arrow, about.num_row_groups, about.num_rows, about.metadata or {})
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file} cannot be read as Parquet ({type(error).__name__}); check the file") from None


def _open_parquet(file: Location, **how: Any) -> pyarrow.parquet.ParquetFile:
    """Moments of 96 bits, as Spark once wrote them, are read as microseconds: nanoseconds end in the year 2262."""
    return pyarrow.parquet.ParquetFile(file.path, filesystem=file.system, coerce_int96_timestamp_unit="us", **how)


def _read_parquet(stored: list[Parquet], names: tuple[str, ...]) -> Parts:
    """Only the named columns. Row groups are read side by side, or columns where there are too few groups."""
    if sum(one.groups for one in stored) < cores():
        return alone(chain.from_iterable(read_file(one.file, one.storage, names) for one in stored))
    return (read_file(one.file, one.storage, names, group) for one in stored for group in range(one.groups))


def read_file(
    file: Location, storage: pa.Schema, names: tuple[str, ...], group: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of a file, or of one of its row groups alone.

    Text stays a dictionary where the file has one, so that each word is looked up once.
    """
    texts = [name for name in names if family(storage.field(name).type) == "text"]
    buffer = max(_LEAST_BUFFER, min(_BUFFER, _BUFFERS // max(1, len(names))))
    with _open_parquet(file, read_dictionary=texts, pre_buffer=False, buffer_size=buffer) as opened:
        yield from opened.iter_batches(
            batch_size=rows_at_once(len(names)),
            columns=list(names),
            row_groups=None if group is None else [group],
            use_threads=group is None,
        )


def _of_csv(files: list[Location], schema: Schema) -> StreamSource:
    """Every field is read as bytes and understood by the schema: no type is guessed from the rows."""
    dialects = [dialect_of(file, schema.text) for file in files]
    headers = [csv_files.names_in(file, dialect) for file, dialect in zip(files, dialects, strict=True)]
    for file, names in zip(files, headers, strict=True):
        check_columns(names, schema, str(file))
    untyped = pa.schema([(name, pa.null()) for name in headers[0]])
    known = list(zip(files, dialects, strict=True))
    return StreamSource(header_of_arrow(untyped, schema), schema, partial(_read_csv, known))


def _read_csv(files: list[tuple[Location, csv_files.Dialect]], names: tuple[str, ...]) -> Parts:
    return chain.from_iterable(csv_files.parts_of(file, dialect, names) for file, dialect in files)
