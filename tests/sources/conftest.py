"""Databases and one local Spark for all tests that need them; skipped where they cannot run."""

import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sfumato.errors import DataError
from sfumato.trusted.sources.spark_session import check_java, session
from tests.sources.filled import cells, kind, opened, people, reference
from tests.sources.servers import running_server, server

__all__ = ["cells", "kind", "opened", "people", "reference", "running_server", "server", "spark"]


SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # what Java compiles and collects best pays after minutes


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two cores, started as the library starts it."""
    pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'sfumato[spark]'")
    try:
        check_java()
    except DataError as error:
        pytest.skip(str(error))
    interrupt = signal.getsignal(signal.SIGINT)
    with pytest.MonkeyPatch.context() as patch:
        own = f"--driver-java-options '{SHORT_LIVED}' --conf spark.sql.warehouse.dir={tmp_path_factory.mktemp('spark')}"
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"--master local[2] {own} pyspark-shell")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        spark = session()
    yield spark
    spark.stop()
    signal.signal(signal.SIGINT, interrupt)  # pyspark has its own
