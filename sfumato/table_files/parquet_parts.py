"""Tables as one Parquet file, written part by part."""

import base64
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet


class ParquetParts:
    """Writes tables to an open file, one after the other; the file stays open.

    shown   the types that a reader finds; a column of it that holds text may be written from a dictionary

    Fractions are stored as they are: a dictionary of them would be given up after a while, and takes as long as all the
    rest of the file. There are no statistics of row groups: rows in random order can be left out by none.
    """

    def __init__(self, file: BinaryIO, shown: pa.Schema) -> None:
        self._file, self._shown = file, shown
        self._listed = [field.name for field in shown if not pa.types.is_floating(field.type)]
        self._writer: pyarrow.parquet.ParquetWriter | None = None

    def write_table(self, table: pa.Table) -> None:
        """Write some more rows."""
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(
                self._file, table.schema, use_dictionary=self._listed, write_statistics=False, store_schema=False
            )
        self._writer.write_table(table)

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            types = base64.b64encode(self._shown.serialize().to_pybytes()).decode("ascii")
            self._writer.add_key_value_metadata({"ARROW:schema": types})  # where Arrow looks for them
            self._writer.close()
