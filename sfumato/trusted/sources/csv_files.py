"""CSV files as batches of records whose fields are bytes in UTF-8: no type is guessed, no byte can stop the reading.

pyarrow parses fast but wants valid text, shows ill-formed lines to Python as text, takes carriage returns for line ends
and may lose a line end at the edge of its blocks. So it is given pieces of whole records in which none of that can
happen: every byte as the character of the same number, line ends as line feeds, and carriage returns that end no line
as a character of their own. Fields are mapped back afterwards.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.errors import DataError
from sfumato.trusted.sources.csv_records import RecordStream
from sfumato.trusted.sources.locations import BROKEN, Location
from sfumato.trusted.sources.transcoding import Transcoded

_RETURN = "\u0100"  # a character that no byte is


class Dialect(NamedTuple):
    """How a file is written."""

    separator: str = ","
    encoding: str = "utf-8"


def names_in(file: Location, dialect: Dialect) -> list[str]:
    """The names in the header line."""
    try:
        with _records(file, dialect) as records:
            return _names(records.header, dialect.separator)
    except (*BROKEN, csv.Error) as error:
        raise DataError(f"{file} cannot be read as CSV ({type(error).__name__}); check the file") from None


@contextmanager
def _records(file: Location, dialect: Dialect) -> Iterator[RecordStream]:
    """The records of a file, in UTF-8."""
    with file.stream() as stream:
        plain = stream if dialect.encoding == "utf-8" else Transcoded(stream, dialect.encoding)
        yield RecordStream(plain, dialect.separator)


def _names(header: bytes, delimiter: str) -> list[str]:
    text = io.StringIO(header.decode(errors="replace").removesuffix("\n").removesuffix("\r"), newline="")
    return next(csv.reader(text, delimiter=delimiter), [])


def parts_of(file: Location, dialect: Dialect, names: tuple[str, ...]) -> Iterator[Iterator[pa.RecordBatch]]:
    """The records, with the named columns as bytes, in parts that can be parsed side by side.

    An empty field is a null. A line with more or fewer fields than the header is no record.
    """
    delimiter = dialect.separator
    with _records(file, dialect) as records:
        known = _names(records.header, delimiter)
        columns = {name: f"{place}" for place, name in enumerate(known) if name in set(names)}
        for piece in records.pieces():
            yield _parsed(piece, delimiter, len(known), {name: columns[name] for name in names}, records.returns)


def _parsed(
    piece: bytes, delimiter: str, width: int, columns: Mapping[str, str], returns: str
) -> Iterator[pa.RecordBatch]:
    wanted = list(columns.values())
    text = _plain(piece)
    table = pyarrow.csv.read_csv(
        pa.BufferReader(text),
        read_options=pyarrow.csv.ReadOptions(
            block_size=len(text) + 1, column_names=[f"{place}" for place in range(width)], use_threads=False
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            ignore_empty_lines=width > 1,  # of one column an empty line is a null; elsewhere it is no record
            invalid_row_handler=_skip,
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.string()),
            include_columns=wanted,
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    for batch in table.to_batches():
        yield pa.RecordBatch.from_arrays([_bytes(column, returns) for column in batch.columns], list(columns))


def _plain(piece: bytes) -> bytes:
    """Text in which every byte but a carriage return is the character of its number, and lines end in line feeds."""
    if b"\r" in piece:
        return piece.replace(b"\r\n", b"\n").decode("latin-1").replace("\r", _RETURN).encode()
    return piece if piece.isascii() else piece.decode("latin-1").encode()


def _skip(_row: Any) -> str:
    return "skip"


def _bytes(array: pa.Array, returns: str = "\r") -> pa.Array:
    """Fields as the bytes of the file. Where all are plain ASCII they are that already."""
    if pc.all(pc.string_is_ascii(array)).as_py() is not False:
        return pc.cast(array, pa.binary())
    words = array.dictionary_encode()
    values = [word.replace(_RETURN, returns).encode("latin-1") for word in words.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(words.indices, pa.array(values, pa.binary()))
