"""A program that sums under trouble, for `test_spark_faults`: it prints what came of it, as JSON.

Run as `python -m tests.sources.spark_troubles cluster FOLDER MASTER` or `... alone FOLDER`.
"""

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from sfumato.errors import DataError
from sfumato.trusted.schema import Schema
from sfumato.trusted.sources import open_source
from sfumato.trusted.sources.spark import SparkSource
from sfumato.trusted.sources.spark_session import session
from tests.conftest import MIXED, make_table
from tests.sources.conftest import SHORT_LIVED
from tests.sources.spark_daemon import TOKEN, Troubled

SCHEMA = Schema.from_yaml(MIXED)
PEOPLE = Schema.from_dict({**SCHEMA.to_dict(), "unit": {"column": "who", "records": 3}})
DAEMON = "spark.python.daemon.module"
KEY = bytes(32)
PLAIN = Troubled("none", "")


def make() -> pa.Table:
    """A table with the token in its rows."""
    table = make_table(400).append_column("who", pa.array(np.arange(400) % 60))
    return table.set_column(table.column_names.index("job"), "job", pa.array([TOKEN] * 400))


def in_memory(schema: Schema, statistic: Troubled) -> bytes:
    source = open_source(make(), schema, KEY, declared=True)
    total = source.sum(statistic).tobytes()
    source.close()
    return total


class Trials:
    """Sums of one source under troubles, and how they compare with those in memory."""

    def __init__(self, source: SparkSource, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.found: dict[str, Any] = {}

    def sum(self, name: str, trouble: str, length: int = 100, kill: int | None = None) -> None:
        """Say whether the bytes are the same, and after how many seconds.

        `kill` ends the worker (0) or the executor (1) that waits.
        """
        statistic, begin = Troubled(trouble, str(self.folder / name), length), time.time()
        if kill is not None:
            aside(lambda: os.kill(self.waiting(name)[kill], signal.SIGKILL))
        total = self.source.sum(statistic).tobytes()
        self.found[name] = [total == in_memory(SCHEMA, Troubled("none", "", length)), time.time() - begin]

    def waiting(self, name: str) -> list[int]:
        """The numbers of the worker and the executor that met the trouble, once there are some."""
        marker = self.folder / name
        while not (marker.exists() and marker.read_text()):
            time.sleep(0.05)
        return [int(number) for number in marker.read_text().split()]


def aside(work: Callable[[], object]) -> None:
    threading.Thread(target=work, daemon=True).start()


def cluster(folder: Path, master: str) -> dict[str, Any]:
    """Two executors that speculate, and a log as Spark writes it."""
    from pyspark.sql import SparkSession

    settings = {
        DAEMON: "tests.sources.spark_daemon", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": SHORT_LIVED, "spark.executor.extraJavaOptions": SHORT_LIVED,
        "spark.executor.memory": "512m", "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.speculation": "true", "spark.speculation.interval": "100ms", "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "100ms", "spark.ui.showConsoleProgress": "false",
    }  # fmt: skip
    spark = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    frame = spark.createDataFrame(make()).repartition(4).persist()
    people = SparkSource(frame, PEOPLE, KEY)
    trials = Trials(SparkSource(frame, SCHEMA, KEY), folder)
    first = people.sum(PLAIN).tobytes()
    trials.sum("a dead task", "death")
    trials.sum("a dead task of a long sum", "death", 20_000)
    trials.sum("a killed worker", "wait", kill=0)
    trials.sum("a slow task", "wait")
    trials.sum("a killed executor", "wait", kill=1)
    again = people.sum(PLAIN).tobytes()
    trials.found["persons, before and after"] = [first == again == in_memory(PEOPLE, PLAIN), 0]
    trials.found["error"] = refused(lambda: trials.source.sum(Troubled("error", "")))
    print("--- what an indiscreet function does", file=sys.stderr, flush=True)
    trials.found["indiscreet"] = refused(lambda: frame.mapInArrow(indiscreet, "age int").collect())
    spark.stop()
    return trials.found


def alone(folder: Path) -> dict[str, Any]:
    """The library's own session: silent, stopped by Ctrl-C, and clear about workers that cannot run it."""
    own = f"--driver-java-options '{SHORT_LIVED}' --conf {DAEMON}=tests.sources.spark_daemon"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--master local[2,4] {own} pyspark-shell"
    spark = session()
    frame = spark.createDataFrame(make())
    trials = Trials(SparkSource(frame, SCHEMA, KEY), folder)
    trials.sum("once", "none")
    trials.sum("again", "none")
    trials.sum("a dead task", "death")
    trials.sum("a dead task of a long sum", "death", 20_000)
    trials.sum("a killed worker", "wait", kill=0)
    pyarrow.parquet.write_table(make(), folder / "rows.parquet", row_group_size=100)
    files = Trials(SparkSource(spark.read.parquet(str(folder / "rows.parquet")), SCHEMA, KEY), folder)
    files.sum("a dead task that reads files", "death")
    trials.found |= files.found
    trials.found["Ctrl-C"] = interrupted(spark, trials)
    trials.sum("after Ctrl-C", "none")
    broken = frame.withColumn("age", frame["job"].cast("int"))  # Spark's own error quotes the row
    trials.found["error"] = refused(lambda: SparkSource(broken, SCHEMA, KEY).sum(PLAIN))
    spark.stop()
    os.environ["PYSPARK_PYTHON"] = "/nowhere/python"
    trials.found["workers"] = refused(lambda: SparkSource(session().createDataFrame(make()), SCHEMA, KEY))
    return trials.found


def interrupted(spark: Any, trials: Trials) -> bool:
    """Whether Ctrl-C comes through a sum, and leaves no job behind."""
    aside(lambda: trials.waiting("Ctrl-C") and os.kill(os.getpid(), signal.SIGINT))
    try:
        trials.source.sum(Troubled("wait", str(trials.folder / "Ctrl-C")))
    except KeyboardInterrupt:
        time.sleep(1)
        return not spark.sparkContext.statusTracker().getActiveJobsIds()
    return False


def indiscreet(records: Any) -> Any:
    raise RuntimeError(TOKEN)
    yield from records


def refused(work: Callable[[], object]) -> str:
    try:
        work()
    except DataError as error:
        return f"{error} {error.__context__}"
    except Exception as error:  # noqa: BLE001 - its kind is all that is told
        return type(error).__name__
    return "not refused"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    kind, folder, *master = sys.argv[1:]
    print(json.dumps(cluster(Path(folder), *master) if kind == "cluster" else alone(Path(folder))))
