"""What somebody waits for who samples and predicts, and for a small release: `python -m benchmarks.waiting [--spark]`.

Rows a second of a sample of 30 columns written to Parquet, and records a second of `predict_proba`, of a release of a
table of `benchmarks.scale`; seconds of a release of the demo's table, in a process that has released before. With
--spark: seconds in which Spark hands ten million rows of ten columns over to a function that counts rows alone, and in
which the workers read these rows from the files themselves.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import sfumato
from benchmarks import scale_data
from sfumato.demo import SCHEMA, TABLE

RECORDS, COLUMNS, SAMPLED, HANDED = 10**5, 30, 10**6, 10**7


def seconds_of(work: Callable[[], Any]) -> float:
    """The better of two."""
    found = []
    for _ in range(2):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found)


def release(path: Path, columns: int) -> sfumato.Release:
    schema = scale_data.schema_of(columns)
    return sfumato.release(path, schema, epsilon=1.0, mechanism="tables", ledger=None, types="declared")


def write(drawn: Iterator[pa.Table], path: Path) -> None:
    first = next(drawn)
    with pyarrow.parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in drawn:
            writer.write_table(table)


def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([[sum(batch.num_rows for batch in batches)]], names=["n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", sfumato.errors.ReleaseWarning)
    with tempfile.TemporaryDirectory() as folder:
        path, drawn = Path(folder) / "table.parquet", Path(folder) / "sample.parquet"
        scale_data.write(path, RECORDS, COLUMNS)
        made = release(path, COLUMNS)
        sampling = seconds_of(lambda: write(made.sample_tables(SAMPLED), drawn))
        print(f"sample to Parquet: {SAMPLED / sampling:,.0f} rows a second")
        rows = pyarrow.parquet.read_table(drawn).drop_columns([scale_data.TARGET])
        print(f"predict_proba: {SAMPLED / seconds_of(lambda: made.predict_proba(rows)):,.0f} records a second")
        demo = seconds_of(lambda: sfumato.release(TABLE, SCHEMA, epsilon=1.0, ledger=None, types="declared"))
        print(f"release of the demo's table: {demo:.2f} s")
        if asked.spark:
            from sfumato.trusted.sources.spark import storage_of
            from sfumato.trusted.sources.spark_files import open_frame
            from sfumato.trusted.sources.spark_parquet import files_of

            scale_data.write(path, HANDED, 10)
            schema = scale_data.schema_of(10)
            frame = open_frame(str(path), schema)
            handing = seconds_of(lambda: frame.mapInArrow(count, "n long").toArrow())
            print(f"Spark hands {HANDED:,} rows over: {handing:.1f} s")
            files, one = files_of(frame, storage_of(frame, schema)), pa.schema([("n", pa.int64())])
            if files is not None:
                reading = seconds_of(lambda: files.map(tuple(schema.by_name), count, one).toArrow())
                print(f"workers read them: {reading:.1f} s")


if __name__ == "__main__":
    main()
