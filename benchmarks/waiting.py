"""What somebody waits for who samples and predicts, and for a small release: `python -m benchmarks.waiting [--spark]`.

Rows a second of a sample of 30 columns written to Parquet as `sfumato sample` writes it, a million and ten million of
them, each in a process of its own with its peak memory; records a second of `predict_proba`, the first call and the
better of two more; both of a release of a table of `benchmarks.scale`. CPU time is that of all threads together, and
tells more than seconds do where others use the machine. Then seconds of a release of the demo's table, in a process
that has released before. With --spark: seconds in which Spark hands ten million rows of ten columns over to a function
that counts rows alone, and in which its workers read these rows from the files themselves.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

import sfumato
from benchmarks import scale_data
from sfumato.demo import SCHEMA, TABLE
from sfumato.table_files import single

RECORDS, COLUMNS, PREDICTED, HANDED = 10**5, 30, 10**6, 10**7
SAMPLED = (10**6, 10**7)


class Spent(NamedTuple):
    """What some work takes, and the most memory of its process."""

    seconds: float
    cpu: float
    mib: float


def spent_by(work: Callable[[], Any]) -> Spent:
    begin, cpu = time.perf_counter(), time.process_time()
    work()
    taken = time.perf_counter() - begin, time.process_time() - cpu
    return Spent(*taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


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


def sample(bundle: Path, rows: int, out: Path) -> Spent:
    """Write a sample, as `sfumato sample` does."""
    opened = sfumato.open(bundle)
    if not isinstance(opened, sfumato.Release):
        raise TypeError("the release is of one table")
    tables = opened.sample_tables(rows, seed=1, dictionaries=True)
    return spent_by(lambda: single.write(tables, opened, out, lambda _: None))


def alone(work: Callable[..., Spent], *given: Any) -> Spent:
    """What work takes in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([[sum(batch.num_rows for batch in batches)]], names=["n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", sfumato.errors.ReleaseWarning)
    with tempfile.TemporaryDirectory() as folder:
        path, bundle = Path(folder) / "table.parquet", Path(folder) / "release.sfumato"
        scale_data.write(path, RECORDS, COLUMNS)
        made = release(path, COLUMNS)
        made.save(bundle)
        for rows in SAMPLED:
            drawn = alone(sample, bundle, rows, Path(folder) / f"{rows}.parquet")
            print(
                f"sample of {rows:,} to Parquet: {rows / drawn.seconds:,.0f} rows a second, "
                f"{1e6 * drawn.cpu / rows:.2f} CPU microseconds each, {drawn.mib:,.0f} MiB"
            )
        records = pyarrow.parquet.read_table(Path(folder) / f"{PREDICTED}.parquet").drop_columns([scale_data.TARGET])
        calls = [spent_by(lambda: made.predict_proba(records)) for _ in range(3)]
        for name, call in (("first", calls[0]), ("next", min(calls[1:]))):
            print(
                f"predict_proba of {PREDICTED:,}, {name} call: {PREDICTED / call.seconds:,.0f} records a second, "
                f"{1e6 * call.cpu / PREDICTED:.2f} CPU microseconds each"
            )
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
