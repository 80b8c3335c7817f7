"""CSV files as batches of records whose fields are bytes: no type is guessed, and no byte can stop the reading.

pyarrow parses fast but wants valid text, shows ill-formed lines to Python as text, and loses a line feed that follows a
carriage return over the edge of its blocks. So it is given a stream in which none of that can happen: every byte as the
character of the same number, line ends as line feeds, and a line feed at the end. Fields are mapped back afterwards.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.errors import DataError
from sfumato.sources.places import Place

LONGEST_LINE = 1 << 23  # in bytes
_MARK = b"\xef\xbb\xbf"  # of UTF-8, at the beginning of some files


def names_in(file: Place, delimiter: str) -> list[str]:
    """The names in the header line."""
    try:
        with file.stream() as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
            return next(csv.reader(text, delimiter=delimiter), [])
    except (pa.ArrowException, OSError, csv.Error) as error:
        raise DataError(f"{file} cannot be read as CSV ({type(error).__name__}); check the file") from None


def batches_in(file: Place, delimiter: str, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The records, with the named columns as bytes.

    An empty field is a null. A line with more or fewer fields than the header is no record.
    """
    shown = {name: name.encode().decode("latin-1") for name in names}
    one_column = len(names_in(file, delimiter)) == 1  # where an empty line is a null; elsewhere it is no record
    reader = pyarrow.csv.open_csv(
        pa.PythonFile(_PlainStream(file), mode="r"),
        read_options=pyarrow.csv.ReadOptions(block_size=LONGEST_LINE),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=not one_column, invalid_row_handler=_skip
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(shown.values(), pa.string()),
            include_columns=list(shown.values()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    with reader:
        for batch in reader:
            yield pa.record_batch({name: _bytes(batch.column(shown[name])) for name in names})


def _skip(_row: Any) -> str:
    return "skip"


def _bytes(array: pa.Array) -> pa.Array:
    """Fields as the bytes of the file. Where all are plain ASCII they are that already."""
    if pc.all(pc.string_is_ascii(array)).as_py() is not False:
        return pc.cast(array, pa.binary())
    words = array.dictionary_encode()
    values = [word.encode("latin-1") for word in words.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(words.indices, pa.array(values, pa.binary()))


class _PlainStream(io.RawIOBase):
    """The bytes of a file as characters of the same number, in UTF-8, with line feeds for line ends, one at the end."""

    def __init__(self, file: Place) -> None:
        self._stream = file.stream()
        self._raw = self._stream.read(len(_MARK)).removeprefix(_MARK)
        self._plain = self._last = b""
        self._ended = False

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Just `size` bytes, fewer only at the end: pyarrow takes what it gets for a block."""
        while not self._ended and not 0 <= size <= len(self._plain):
            self._advance(max(size, 1 << 16))
        taken, self._plain = (self._plain, b"") if size < 0 else (self._plain[:size], self._plain[size:])
        return taken

    def _advance(self, size: int) -> None:
        fresh = self._stream.read(size)
        self._ended = not fresh
        raw = self._raw + fresh
        waits = raw.endswith(b"\r") and not self._ended  # for what follows it
        raw, self._raw = (raw[:-1], b"\r") if waits else (raw, b"")
        plain = raw.replace(b"\r\n", b"\n").decode("latin-1").encode()
        self._last = plain[-1:] or self._last
        self._plain += plain + (b"\n" if self._ended and self._last not in (b"", b"\n") else b"")

    def close(self) -> None:
        """See `io.RawIOBase`."""
        self._stream.close()
        super().close()
