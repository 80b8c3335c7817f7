"""One run of the benchmark of scale, in a process of its own: `python -m benchmarks.scale_engines ENGINE PATH COLUMNS`.

Prints JSON: seconds and CPU seconds of each sum behind the door in the order in which they were asked for, seconds of
the whole, and the peak of resident memory. What takes less than three seconds, from files or on Spark, is repeated for
so long, and the best counts; the repetitions are not part of the whole.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet

import sfumato
from benchmarks.scale_data import schema_of
from sfumato.trusted.sources import batches, spark
from sfumato.trusted.sources import bounded_source as people
from sfumato.trusted.statistics import Sampled, Statistic

LONG_ENOUGH = 3.0  # seconds; what takes less is repeated


class Watch:
    """Times of some work, each the best of some seconds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.cpu: list[float] = []
        self.repeated = 0.0

    def best_of(self, work: Callable[[], Any], seconds: float = LONG_ENOUGH) -> Any:
        """Do it, as often as there is time."""
        runs: list[tuple[float, float]] = []
        while not runs or sum(wall for wall, _ in runs) < seconds:
            wall, cpu = time.perf_counter(), time.process_time()
            found = work()
            runs.append((time.perf_counter() - wall, time.process_time() - cpu))
        self.seconds.append(min(wall for wall, _ in runs))
        self.cpu.append(min(cpu for _, cpu in runs))
        self.repeated += sum(wall for wall, _ in runs[1:])
        return found


WATCH = Watch()


def read(path: str, columns: int) -> None:
    """Plain reading by pyarrow, of the same columns in the same batches."""
    names = list(schema_of(columns).by_name)

    def once() -> None:
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
            for _ in file.iter_batches(batch_size=batches.rows_at_once(len(names)), columns=names):
                pass

    WATCH.best_of(once)


def release(path: str, columns: int) -> None:
    """A whole release of tables."""
    _release(path, schema_of(columns))


def persons(path: str, columns: int) -> None:
    """The same, by person."""
    _release(path, schema_of(columns, by_person=True))


def on_spark(path: str, columns: int) -> None:
    """The same from Spark on this machine, started and warm."""
    from sfumato.trusted.sources.spark_files import open_frame

    schema = schema_of(columns)
    frame = open_frame(path, schema)
    for _ in spark.SparkSource(frame.limit(1_000), schema, b"").batches(tuple(schema.by_name)):
        pass
    _release(frame, schema)


def _release(data: Any, schema: sfumato.Schema) -> None:
    sfumato.release(data, schema, epsilon=1.0, mechanism="tables", ledger=None, types="declared")


ENGINES: dict[str, Callable[[str, int], None]] = {
    "read": read,
    "release": release,
    "people": persons,
    "spark": on_spark,
}


def watched(owner: Any, seconds: float) -> None:
    """Write down how long each sum of a source takes."""
    real = owner.sum

    def sum_watched(self: Any, statistic: Statistic) -> Any:
        # the records of a share are kept, so that only the first time reads them
        return WATCH.best_of(lambda: real(self, statistic), 0.0 if isinstance(statistic, Sampled) else seconds)

    owner.sum = sum_watched


def main() -> None:
    engine, path, columns = sys.argv[1:]
    for owner in (batches.StreamSource, spark.SparkSource):
        watched(owner, LONG_ENOUGH)
    watched(people.ContributionBoundedSource, 0.0)  # the first sum of persons draws them, once for all
    begin = time.perf_counter()
    ENGINES[engine](path, int(columns))
    whole = time.perf_counter() - begin - WATCH.repeated
    told = {"seconds": whole, "sums": WATCH.seconds, "cpu of sums": WATCH.cpu, "MiB": _peak()}
    os.write(1, json.dumps(told).encode())


def _peak() -> float:
    """Of this process alone, in MiB."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


if __name__ == "__main__":
    main()
