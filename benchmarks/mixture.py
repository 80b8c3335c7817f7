"""A Gaussian mixture of many rows, beside plain fits and plain reading: `python -m benchmarks.mixture [rows ...]`.

First one release of 1,000 rows in 5 classes and 3 columns, in CPU seconds on one core, beside scikit-learn's fits
without privacy: GaussianMixture (5 components by expectation maximisation, without the labels) and
QuadraticDiscriminantAnalysis (the moments of each class). Then Parquet files of 10^5, 10^6 and 10^7 such rows in a
temporary folder: time and resident memory of a release, beside one plain pass over the same file by pyarrow, each in a
process of its own.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import pyarrow.parquet
from experiments.mixture_data import Records, released, synthetic
from sfumato_papers.liu import fit

import sfumato
from sfumato.artefact.release import Release

SIZES = (10**5, 10**6, 10**7)
GROUP = 2**20  # rows that are made and written at once
REPEATS = 9
LONGEST = 1800  # seconds that one pass may take


def small() -> None:
    """One release beside fits without privacy."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.mixture import GaussianMixture

    records = synthetic(0)
    fits: dict[str, Callable[[], object]] = {
        "sfumato, epsilon 1": lambda: released(records, 1.0),
        "sfumato, epsilon 8": lambda: released(records, 8.0),
        "scikit-learn GaussianMixture": lambda: GaussianMixture(records.classes, random_state=0).fit(records.numbers),
        "scikit-learn QuadraticDiscriminantAnalysis": lambda: QuadraticDiscriminantAnalysis().fit(
            records.numbers, records.label
        ),
    }
    seconds = {name: _middle(run) for name, run in fits.items()}
    peer = seconds["scikit-learn GaussianMixture"]
    print(f"{len(records.label):,} rows, {records.classes} classes, {records.columns} columns; median of {REPEATS}")
    for name, taken in seconds.items():
        print(f"  {name:44s} {taken:8.4f} CPU s   {taken / peer:6.2f} x GaussianMixture")


def _middle(run: Callable[[], object]) -> float:
    run()
    taken = []
    for _ in range(REPEATS):
        begin = time.process_time()
        run()
        taken.append(time.process_time() - begin)
    return statistics.median(taken)


def write(path: Path, rows: int, pattern: Records) -> None:
    """Gaussian classes with the moments of a pattern's, in row groups."""
    rng, left, fitted = np.random.default_rng(0), rows, fit(pattern.numbers, pattern.label, pattern.classes)
    roots = np.linalg.cholesky(fitted.covariances)
    with pyarrow.parquet.ParquetWriter(path, pattern.table().schema) as writer:
        while left:
            count = min(left, GROUP)
            label = rng.choice(pattern.classes, count, p=fitted.weights)
            numbers = rng.standard_normal((count, pattern.columns))
            for k, (mean, root) in enumerate(zip(fitted.means, roots, strict=True)):
                numbers[label == k] = mean + numbers[label == k] @ root.T
            writer.write_table(pattern._replace(numbers=numbers, label=label).table())
            left -= count


def measure(kind: str, path: str) -> None:
    """One pass in this process; prints seconds, CPU seconds, the peak of resident memory and the number of passes."""
    begin, cpu, passes = time.perf_counter(), time.process_time(), 1
    if kind == "read":
        with pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
            for _ in file.iter_batches(batch_size=1 << 16):
                pass
    else:
        passes = len(_release(path).measurements)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024  # of this process alone, unlike what getrusage says after a fork
    print(f"{seconds} {cpu} {peak} {passes}")


def _release(path: str) -> Release:
    schema = synthetic(0).schema()
    return sfumato.release(path, schema, epsilon=1.0, delta=1e-9, mechanism="mixture", ledger=None, types="declared")


def streamed(sizes: tuple[int, ...]) -> None:
    """Files of growing size."""
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            write(path, rows, synthetic(0))
            print(f"{rows:,} rows, {path.stat().st_size / 2**20:,.0f} MiB of Parquet")
            taken = {}
            for kind in ("read", "release"):
                seconds, cpu, peak, passes = _apart(kind, path)
                taken[kind] = cpu
                each = f"{1e6 * cpu / rows:.2f} CPU s a million rows"
                print(f"  {kind:8s} {seconds:7.2f} s, {cpu:7.2f} CPU s, peak {peak:5.0f} MiB, {each}", flush=True)
            share = taken["read"] / taken["release"]
            print(f"  {share:.1%} of plain reading speed (CPU); {share * passes:.0%} for each of {passes:.0f} passes")


def _apart(kind: str, path: Path) -> tuple[float, ...]:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.mixture", kind, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST,
    )
    return tuple(map(float, run.stdout.split()))


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] in ("read", "release"):
        measure(sys.argv[1], sys.argv[2])
        return
    small()
    streamed(tuple(int(float(rows)) for rows in sys.argv[1:]) or SIZES)


if __name__ == "__main__":
    main()
