"""Threat 11: whatever happens to tasks, workers and executors, a sum has the same bytes, and no log quotes a row.

Each program has a Spark of its own. The cluster is a real one on this machine, with two hosts: Spark does not speculate
within one.
"""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from sfumato.errors import DataError
from sfumato.trusted.sources.spark_session import check_java
from tests.sources.conftest import SHORT_LIVED

TOKEN = "zx81canary"
pytestmark = pytest.mark.slow
WAIT = 30  # seconds; both as in `spark_daemon`
ROOT = Path(__file__).parents[2]


class Outcome(NamedTuple):
    told: dict
    errors: str
    folder: Path

    def check(self, name: str) -> None:
        """The bytes are right. Where a task waited, something else has taken its place."""
        same, seconds = self.told[name]
        assert same
        assert seconds < WAIT


def run(kind: str, folder: Path, *words: str) -> Outcome:
    command = [sys.executable, "-m", "tests.sources.spark_troubles", kind, str(folder), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment(), timeout=300
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return Outcome(json.loads(done.stdout), done.stderr, folder)


def environment() -> dict[str, str]:
    small = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED}
    return {**os.environ, **small, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}


@pytest.fixture(scope="module")
def home() -> Path:
    """Where Spark lies."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'sfumato[spark]'")
    try:
        check_java()
    except DataError as error:
        pytest.skip(str(error))
    return Path(pyspark.__file__).parent


@pytest.fixture(scope="module")
def alone(home, tmp_path_factory) -> Outcome:
    return run("alone", tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def cluster(home, tmp_path_factory) -> Outcome:
    """A master and two workers of one core, each on a host of its own."""
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as running, (folder / "daemons").open("w") as log:

        def start(kind: str, *words: str) -> None:
            command = [
                str(home / "bin" / "spark-class"),
                f"org.apache.spark.deploy.{kind}",
                "--webui-port",
                "0",
                *words,
            ]
            process = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
            running.callback(process.wait)
            running.callback(process.terminate)

        start("master.Master", "--host", "127.0.0.1", "--port", str(port))
        while not answers(port):  # who comes too early waits for 20 seconds
            time.sleep(0.1)
        for host in ("127.0.0.2", "127.0.0.3"):
            own = ["--host", host, "--work-dir", str(folder / "work")]
            start("worker.Worker", *own, "--cores", "1", "--memory", "600m", master)
        return run("cluster", folder, master)


def free_port() -> int:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return line.getsockname()[1]


def answers(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    "name",
    [
        "once",
        "again",
        "a dead task",
        "a dead task of a long sum",
        "a killed worker",
        "a dead task that reads files",
        "after Ctrl-C",
    ],
)
def test_a_sum_has_the_same_bytes(alone, name):
    alone.check(name)
    assert (alone.folder / name).exists() == name.startswith("a ")


def test_ctrl_c_comes_through_and_leaves_no_job(alone):
    assert alone.told["Ctrl-C"]


def test_the_library_starts_spark_in_silence(alone):
    """Not a line on the terminal, though tasks died and Spark refused a row with its own words."""
    assert "could not be read to its end" in alone.told["error"]
    assert alone.told["error"].endswith("None")
    assert TOKEN not in json.dumps(alone.told)
    assert alone.errors == ""


def test_workers_that_cannot_run_are_told_apart(alone):
    assert "workers cannot run sfumato" in alone.told["workers"]
    assert f"set PYSPARK_PYTHON to {sys.executable}" in alone.told["workers"]


@pytest.mark.parametrize(
    "name",
    [
        "a dead task",
        "a dead task of a long sum",
        "a killed worker",
        "a slow task",
        "a killed executor",
        "persons, before and after",
    ],
)
def test_a_sum_of_a_cluster_has_the_same_bytes(cluster, name):
    cluster.check(name)
    assert (cluster.folder / name).exists() == name.startswith("a ")


def test_an_error_among_the_rows_is_quoted_in_no_log(cluster):
    """With the log that Spark writes unless it is told otherwise; an indiscreet function shows what would be in it."""
    assert "could not be read to its end (PythonException)" in cluster.told["error"]
    assert TOKEN not in json.dumps(cluster.told)
    before, after = cluster.errors.split("--- what an indiscreet function does")
    assert "DataError" in before
    assert TOKEN not in before
    assert TOKEN in after
    executors = "".join(file.read_text(errors="replace") for file in (cluster.folder / "work").rglob("stderr"))
    assert TOKEN in executors
    assert "could not convert" not in executors  # the error of the statistic, which quotes the token
