"""From what a user has to a source."""

from pathlib import Path

import pyarrow.dataset

from sfumato.encoding.frames import kind_of
from sfumato.errors import DataError
from sfumato.schema import Schema
from sfumato.sources import array_files, files
from sfumato.sources.memory import MemorySource
from sfumato.sources.source import Source


def open_source(data: object, schema: Schema) -> Source:
    """The source of a path, an Arrow table or dataset, a pandas or a polars frame.

    Edge cases
        A column of the schema that the header lacks, an unreadable file, something else: `DataError`. Only headers are
        read.
    """
    if isinstance(data, str | Path):
        path = Path(data)
        return (array_files.of_arrays if array_files.is_array_file(path) else files.of_path)(path, schema)
    if isinstance(data, pyarrow.dataset.Dataset):
        return files.of_dataset(data, schema)
    if kind_of(data) is not None:
        return MemorySource(data, schema)
    raise DataError(
        f"a {type(data).__name__} cannot be released; "
        "give a path to Parquet, CSV or numpy files, an Arrow table or dataset, or a pandas or polars frame"
    )
