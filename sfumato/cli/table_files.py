"""Public tables as Parquet or CSV files, written part by part."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from sfumato.archive.whole_files import whole_file
from sfumato.artefact.frames import to_frame
from sfumato.artefact.release import Release
from sfumato.errors import RequestError
from sfumato.trusted.encoding import Header


def read(path: Path) -> pa.Table:
    """A public table from a Parquet or CSV file."""
    try:
        return pyarrow.parquet.read_table(path) if path.suffix == ".parquet" else pyarrow.csv.read_csv(path)
    except (OSError, pa.ArrowException) as error:
        raise RequestError(f"{path} cannot be read ({type(error).__name__}); give a Parquet or CSV file") from None


def write(tables: Iterable[pa.Table], release: Release, path: Path, progress: Callable[[int], None]) -> None:
    """Write the tables to one file, in the column order and, in Parquet, the types of the private table.

    Edge cases
        A name that ends neither in .parquet nor in .csv: `RequestError`, nothing is drawn.
    """
    if path.suffix not in (".parquet", ".csv"):
        raise RequestError(f"{path} must end in .parquet or .csv")
    header = (
        release.header if release.header.frame == "arrow" else Header("arrow", dict.fromkeys(release.header.types, ""))
    )
    open_writer = pyarrow.parquet.ParquetWriter if path.suffix == ".parquet" else pyarrow.csv.CSVWriter
    with whole_file(path) as file:
        writer = None
        for table in tables:
            dressed = to_frame(table, header, release.schema, "arrow")
            writer = writer or open_writer(file, dressed.schema)
            writer.write_table(dressed)
            progress(table.num_rows)
        if writer:
            writer.close()
