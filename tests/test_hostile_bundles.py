"""Bundles that somebody made up: opening one gives a `BundleError` or a sound release, in bounded time and memory."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.archive.members import from_arrow_file
from sfumato.cli.app import app
from sfumato.errors import BundleError, RequestError
from tests.fuzzing.bundles import MEMORY
from tests.mechanisms.every import every_case

QUICK = ["tables", "3a"]


def fuzz(mechanism: str, seconds: int, seed: int, most: int) -> str:
    """In a process of its own, whose memory the system limits."""
    words = [mechanism, str(seconds), str(seed), str(most)]
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzzing.bundles", *words], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize("mechanism", QUICK)
def test_lies_are_found_or_do_no_harm(mechanism):
    fuzz(mechanism, 60, 0, 40)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", every_case())
def test_many_lies_are_found_or_do_no_harm(mechanism):
    print(fuzz(mechanism, 120, np.random.default_rng().integers(2**31), 10**9))


def written(table: pa.Table, **options) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


ZEROS = pa.table({"value": np.zeros(10**6, dtype=np.int64)})
ENDLESS = pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], pa.int64()), pa.array([1]))
SWOLLEN = {
    "compressed by lz4": written(ZEROS, compression="lz4"),
    "compressed by zstd": written(ZEROS, compression="zstd"),
    "runs": written(pa.table({"value": ENDLESS})),
    "lists without length": written(pa.table({"value": pa.array([[]] * 10, pa.list_(pa.float64(), 0))})),
    "nulls": written(pa.table({"value": pa.nulls(10**9)})),
    "a dictionary": written(pa.table({"value": pa.array(["x" * 10**5] * 5).dictionary_encode()})),
    "views": written(pa.table({"value": pa.array(["x" * 10**5] * 5, pa.string_view())})),
    "half of it": written(ZEROS)[:5_000],
    "another file": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("data", SWOLLEN.values(), ids=SWOLLEN)
def test_a_small_file_that_would_be_a_large_table_is_refused(data):
    with pytest.raises(BundleError, match="not a sound Arrow file"):
        from_arrow_file(data, "x.arrow")


@pytest.mark.parametrize("path", ["/dev/zero", "/"])
def test_what_is_no_file_is_not_read(path):
    with pytest.raises(BundleError, match="cannot be read"):
        sfumato.open(path)


def test_the_limit_of_memory_is_felt():
    """The check has teeth: with it, a table of eight gigabytes cannot be made."""
    code = f"import resource, numpy; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY})); numpy.ones(10**9)"
    assert (
        "MemoryError"
        in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    )


def test_a_claim_of_more_records_than_there_can_be_is_not_drawn(tmp_path):
    case = every_case()["tables"]
    release = case.release(case.table.slice(0, 100))
    release = replace(release, fitted=replace(release.fitted, size=2.0**50))
    release.save(tmp_path / "huge.sfumato")
    with pytest.raises(RequestError, match="do not fit into memory"):
        sfumato.open(tmp_path / "huge.sfumato").sample()
    out = tmp_path / "rows.parquet"
    done = CliRunner().invoke(app, ["sample", str(tmp_path / "huge.sfumato"), "--out", str(out)])
    assert done.exit_code == 2
    assert not out.exists()
