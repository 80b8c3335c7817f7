"""Spark on this machine or on a cluster: found or started, quiet, with workers that can run what is sent to them."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from sfumato._version import __version__
from sfumato.errors import DataError
from sfumato.trusted.sources.spark_workers import VERSIONS, python_version, versions

OLDEST_JAVA = 17
MOST_PARTS = 1 << 12  # what has more of them is read several to a task
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_AGREED: WeakSet[Any] = WeakSet()


def session() -> Any:
    """The active Spark session, or a new one.

    A new one follows Spark's own settings (`spark-defaults.conf`, `spark-submit`, the environment); where they name no
    cluster it runs on this machine. It is silent: Spark would print the start, and rows that make a task fail.
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise DataError("Spark is not installed; run: pip install 'sfumato[spark]'") from None
    with silent():
        elsewhere = os.environ.keys() & {"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"}
        if SparkContext._active_spark_context is None and not elsewhere:
            _start()
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _start() -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    gateway = SparkContext._gateway
    if gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:  # else Java runs already
        check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        gateway = gateway or launch_gateway(popen_kwargs={"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL})
    except PySparkException:
        raise DataError("Spark did not start; run `pyspark` to see why") from None
    settings = SparkConf(_jvm=gateway.jvm).setAppName("sfumato").setIfMissing("spark.log.level", "OFF")
    if settings.get("spark.master", "local").startswith("local"):
        settings.setIfMissing("spark.ui.enabled", "false")
    SparkContext(conf=settings, gateway=gateway)


def check_java() -> None:
    """Refuse to start Spark without the Java that it needs: that of JAVA_HOME, or else of PATH."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        raise DataError(f"Spark needs Java {OLDEST_JAVA} or newer, and none was found; install one, or set JAVA_HOME")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the user's own
    found = _VERSION.search(told.stderr + told.stdout)
    if found is None or int(found[1]) < OLDEST_JAVA:
        version = found[1] if found else "of an unknown version"
        raise DataError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is Java {version}; "
            "install a newer one, or set JAVA_HOME to it"
        )


def check_workers(spark: Any) -> None:
    """Refuse workers that cannot run this library, or run another version of it. Asked once for each session.

    As many are asked as there are cores, so that all of them load the library at the same time, before the first sum.
    """
    if spark in _AGREED:
        return
    mine = (python_version(), __version__)
    try:
        told = collect(map_batches(spark.range(MOST_PARTS), versions, VERSIONS)).to_pylist()  # a part for each core
        theirs = sorted({(one["python"], one["sfumato"]) for one in told})
        found = "run " + " and ".join("Python {} with sfumato {}".format(*one) for one in theirs)
    except Exception as error:  # noqa: BLE001 - whatever it is, the cure is the same
        theirs, found = [], f"cannot run sfumato ({type(error).__name__})"
    if theirs != [mine]:
        raise DataError(
            f"Spark's workers {found}, and this is Python {mine[0]} with sfumato {mine[1]}; set PYSPARK_PYTHON to "
            f"{sys.executable}, or to its like on the workers, before Spark starts, and install sfumato {mine[1]} there"
        )
    _AGREED.add(spark)


def map_batches(
    frame: Any, work: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], layout: pa.Schema
) -> Any:
    """The frame that `work` makes of the batches of each part of a frame."""
    from pyspark.sql.pandas.types import from_arrow_schema

    with silent():
        return frame.mapInArrow(work, from_arrow_schema(layout))


def collect(frame: Any) -> pa.Table:
    """All rows of a frame. Ctrl-C cancels the job, and comes through: pyspark hides it behind the job's own error."""
    try:
        with silent():
            return frame.toArrow()
    except Exception as error:
        behind: BaseException | None = error
        while behind is not None and not isinstance(behind, KeyboardInterrupt):
            behind = behind.__context__
        if behind is None:
            raise
    raise KeyboardInterrupt


@contextmanager
def adaptive_cache(spark: Any) -> Iterator[None]:
    """Let Spark cut what is persisted by its size; otherwise ten rows are shuffled into 200 parts."""
    setting = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "true")
    try:
        yield
    finally:
        spark.conf.set(setting, before)


@contextmanager
def silent() -> Iterator[None]:
    """Keep pyspark from warning of the version of pandas, and from logging the values that an expression refused."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("DataFrame", "SQL")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
