"""A wide table released by `subspace`, beside numpy's plain second moment: `python -m benchmarks.subspace`.

Rows and columns as in images (60,000 x 784), half as many rows, and 4,096 columns; then the same as pictures with blank
paper, which are aligned besides. Each in a process of its own, on one thread. The peer is one product X'X of the
same numbers in float64, which is what one question of the release costs at least.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sfumato.trusted.arrays import IntArray

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sfumato

SIZES = (
    (30_000, 784, 0),
    (60_000, 784, 0),
    (10_000, 4_096, 0),
    (60_000, 784, 28),
    (10_000, 4_096, 64),
)  # 0: no picture
CLASSES, RANK = 10, 40
PAPER = 110  # what is darker is blank
LONGEST = 1_800  # seconds that one run may take


def records(rows: int, columns: int) -> tuple[NDArray[np.uint8], IntArray]:
    """Ten classes in forty directions, as whole numbers from 0 to 255."""
    rng = np.random.default_rng(0)
    basis, centres = rng.standard_normal((RANK, columns)), rng.standard_normal((CLASSES, columns))
    label = rng.integers(0, CLASSES, rows)
    numbers = 100 + 15 * centres[label] + 8 * rng.standard_normal((rows, RANK)) @ basis
    return np.clip(numbers, 0, 255).astype(np.uint8), label


def measure(rows: int, columns: int, side: int) -> None:
    """Prints CPU seconds of the product, of the release and of a sample, and peaks of memory before and after both."""
    numbers, label = records(rows, columns)
    run: dict[str, object] = {"name": f"x_{{0..{columns - 1}}}", "type": "integer", "bounds": [0, 255]}
    if side:
        numbers, run["image"] = np.maximum(numbers, PAPER) - np.uint8(PAPER), [side, side]
    classes = {"name": "y", "type": "category", "values": list(range(CLASSES))}
    content = {"sfumato": 1, "name": "wide", "columns": [run, classes], "target": "y"}
    schema = sfumato.Schema.from_dict(content)
    table = pa.table({**{f"x_{j}": numbers[:, j] for j in range(columns)}, "y": label})
    product = _seconds(lambda: numbers.astype(np.float64).T @ numbers.astype(np.float64))
    before = _peak()
    begin = time.process_time()
    release = sfumato.release(table, schema, epsilon=1, delta=1e-5, mechanism="subspace", ledger=None, types="declared")
    released = time.process_time() - begin
    sampled = _seconds(lambda: release.sample(10_000, seed=0, output="arrow"))
    after = _peak()
    print(f"{product} {released} {sampled} {before} {after}")


def _seconds(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def _peak() -> float:
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def main() -> None:
    if len(sys.argv) == 4:
        measure(*map(int, sys.argv[1:]))
        return
    print(
        "rows     columns   pictures   X'X CPU s   release CPU s   ratio   10,000 rows CPU s   peak before, after MiB"
    )
    for rows, columns, side in SIZES:
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.subspace", str(rows), str(columns), str(side)],
            capture_output=True,
            text=True,
            check=True,
            timeout=LONGEST,
        )
        product, released, sampled, before, after = map(float, run.stdout.split())
        print(
            f"{rows:7,d}{columns:11,d}{'yes' if side else 'no':>11}{product:12.2f}{released:16.1f}"
            f"{released / product:8.1f}{sampled:20.1f}"
            f"{before:16,.0f}{after:8,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
