"""A release from a Parquet file larger than its memory: `python -m benchmarks.streaming [gigabytes]`.

Writes a file of random columns (the default is 2 GB on disk), then releases it and compares time and resident memory
with a plain pass over the same columns by pyarrow, each in a process of its own.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

import sfumato

COLUMNS = 20
GROUP = 1_000_000
SCHEMA = """
sfumato: 1
name: streaming
columns:
  - {name: "x_{0..18}", type: number, bounds: [-8, 8]}
  - {name: y, type: boolean}
target: y
"""


def write(path: Path, size: int) -> int:
    """Random doubles in row groups of a million rows until the file is as large as asked for."""
    rng, rows = np.random.default_rng(0), 0
    names = [f"x_{i}" for i in range(COLUMNS - 1)]
    schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.bool_())])
    with pyarrow.parquet.ParquetWriter(path, schema, compression="NONE", use_dictionary=False) as writer:
        while path.stat().st_size < size:
            columns = {name: rng.standard_normal(GROUP) for name in names}
            writer.write_table(pa.table({**columns, "y": columns["x_0"] > 0}, schema=schema))
            rows += GROUP
    return rows


def measure(kind: str, path: str) -> None:
    """One pass in this process; prints seconds and the peak of resident memory."""
    begin = time.perf_counter()
    if kind == "read":
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
            for _ in file.iter_batches(batch_size=1 << 16):
                pass
    else:
        sfumato.release(path, sfumato.Schema.from_yaml(SCHEMA), epsilon=1.0, ledger=None)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024  # the peak of this process alone
    print(f"{time.perf_counter() - begin:.1f} {peak:.0f}")


def main() -> None:
    if len(sys.argv) > 2:
        measure(sys.argv[1], sys.argv[2])
        return
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else 2) * 2**30)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.parquet"
        rows = write(path, size)
        print(f"{path.stat().st_size / 2**30:.2f} GiB, {rows:,} rows, {COLUMNS} columns")
        seconds = {}
        for kind in ("read", "release"):
            run = subprocess.run(
                [sys.executable, "-m", "benchmarks.streaming", kind, str(path)],
                capture_output=True,
                text=True,
                check=True,
            )
            elapsed, peak = run.stdout.split()
            seconds[kind] = float(elapsed)
            print(f"{kind:8s} {elapsed:>6s} s, peak resident memory {peak} MiB")
        print(f"the release runs at {seconds['read'] / seconds['release']:.0%} of plain reading speed")


if __name__ == "__main__":
    main()
