"""Public tables as CSV files in the format of a schema's `text:`, so that a sample looks as the private table did.

Separator, encoding, decimal sign and dates are the schema's. Thousands and units do not come back.
"""

import csv
import io
from collections.abc import Iterable
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import RequestError
from sfumato.trusted.encoding.codes import listed_values
from sfumato.trusted.schema import Schema


class TextWriter:
    """Writes tables to an open file, one after the other; the file stays open.

    Edge cases
        A name or a listed value that the encoding cannot write: `RequestError` at once. A null is an empty field.
    """

    def __init__(self, file: BinaryIO, names: list[str], schema: Schema) -> None:
        _refuse_lost_letters((*names, *_listed(schema)), schema.text.encoding)
        self._schema = schema
        self._file = io.TextIOWrapper(file, encoding=schema.text.encoding, newline="")
        self._writer = csv.writer(self._file, delimiter=schema.text.separator or ",", lineterminator="\r\n")
        self._writer.writerow(names)

    def write_table(self, table: pa.Table) -> None:
        """Write some more rows."""
        columns = [self._texts(name, column) for name, column in zip(table.column_names, table.columns, strict=True)]
        self._writer.writerows(zip(*(column.to_pylist() for column in columns), strict=True))

    def close(self) -> None:
        """Write what is left."""
        self._file.detach()

    def _texts(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        column = self._schema.by_name.get(name)
        written = self._schema.text.format_of(column.type) if column else None
        if written:
            days = pa.types.is_date(values.type)
            return pc.strftime(values if days else pc.cast(values, pa.timestamp("s"), safe=False), format=written)
        texts = pc.cast(values, pa.string())
        is_number = pa.types.is_floating(values.type) and (column is None or column.type != "category")
        return pc.replace_substring(texts, ".", self._schema.text.decimal) if is_number else texts


def _listed(schema: Schema) -> Iterable[str]:
    return (str(value) for column in schema.columns for value in listed_values(column))


def _refuse_lost_letters(words: Iterable[str], encoding: str) -> None:
    for word in words:
        try:
            word.encode(encoding)
        except UnicodeEncodeError:
            raise RequestError(
                f"{word!r} cannot be written in {encoding}, the encoding of the schema; write a .parquet file"
            ) from None
