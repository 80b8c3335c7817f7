"""Long lists of categories: `python -m benchmarks.many_categories [--quick] [--rows ROWS ...]`.

Tables of 30 columns, of which one lists 1,000, 10,000 or 100,000 codes that follow Zipf's law, are released by `tables`
at epsilon 1, each in a process of its own, beside the same table with 10 codes: times and memory are ratios to that
one, taken in the same run. What the release says of the codes is compared with the true shares and with two peers that
see noisy counts of that column alone, keep those that stand out of the noise, and spread the rest of the records evenly
over the others: one has the noise of the release's own counts, the other spends the whole budget on this one column.
Seconds are of CPU, but for those of the whole release.
--quick releases 20,000 rows with 10 and 1,000 codes.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from scipy.stats import norm

import sfumato
from benchmarks import many_categories_data as data
from sfumato.evaluation.checking import check_table
from sfumato.evaluation.distances import total_variation
from sfumato.reports.public import public_report
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.statistics import Cells

SIZES = (10, 1_000, 10_000, 100_000)
ROWS = (50_000, 200_000)
EPSILON = 1.0
_FALSE = 10.0  # codes that noise alone lets stand out, in all: about what is best for all of these tables
Found = dict[str, float]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and its CPU seconds."""
    begin = time.process_time()
    return work(), time.process_time() - begin


def measure(folder: Path) -> Found:
    """One release, and what a receiver does with it."""
    schema, reading = timed(lambda: sfumato.Schema.load(folder / "schema.yaml"))
    table, bundle = folder / "table.parquet", folder / "codes.sfumato"
    begin = time.perf_counter()
    made, seconds = timed(lambda: sfumato.release(table, schema, epsilon=EPSILON, ledger=None))
    wall, peak = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    _, saving = timed(lambda: made.save(bundle))
    opened, opening = timed(lambda: sfumato.open(bundle))
    rows = pyarrow.parquet.read_metadata(table).num_rows
    drawn, sampling = timed(lambda: opened.sample(rows, seed=1))
    return {
        "schema s": reading,
        "release wall s": wall,
        "release s": seconds,
        "release MiB": peak,
        "save s": saving,
        "bundle MB": bundle.stat().st_size / 1e6,
        "open s": opening,
        "sample s": sampling,
        "report s": timed(lambda: public_report(opened))[1],
        "check s": timed(lambda: check_table(table, schema))[1],
        **fidelity(opened, pyarrow.parquet.read_table(table), drawn),
    }


def fidelity(release: sfumato.Release, real: Any, drawn: Any) -> Found:
    """How far the codes, and pairs of a code and a region, are from the truth."""
    values = release.schema["code"].values  # type: ignore[union-attr]
    place = {value: number for number, value in enumerate(values)}
    codes, others = (np.array([place[code] for code in rows["code"].to_pylist()]) for rows in (real, drawn))
    regions = [np.array([int(one[1:]) for one in rows["region"].to_pylist()]) for rows in (real, drawn)]
    counts = np.bincount(codes, minlength=len(values)).astype(np.float64)
    truth, said = counts / counts.sum(), np.array(release.marginal("code").column("probability"))
    groups = release.fitted.columns["code"].groups  # type: ignore[attr-defined]
    grouped = groups == np.bincount(groups).argmax()
    again = np.random.default_rng(2).permutation(len(codes))
    half, rest = np.split(again, [len(codes) // 2])
    crossed = codes * data.REGIONS + regions[0]
    return {
        "TV": _apart(truth, said),
        "TV, same noise": _apart(truth, kept_counts(counts, noise_of_codes(release))),
        "TV, whole budget": _apart(truth, kept_counts(counts, 1 / release.statement.mu)),
        "codes told apart": float((~grouped).sum()),
        "others hold": float(truth[grouped].sum()),
        "others released": float(said[grouped].sum()),
        "pair TV": total_variation(crossed, others * data.REGIONS + regions[1]),
        "pair TV of halves": total_variation(crossed[half], crossed[rest]),
    }


def noise_of_codes(release: sfumato.Release) -> float:
    """The standard deviation of the noise of the count of one code, all classes together."""
    for measured in release.measurements:
        asked = measured.statistic
        if isinstance(asked, Cells) and ("code", "ill") in asked.tables:
            return measured.sigma * math.sqrt(2)
    raise LookupError("the release has no counts of codes by class")


def kept_counts(counts: FloatArray, sigma: float) -> FloatArray:
    """Shares from noisy counts: those that stand out, and what is left of the records spread over the others."""
    noisy = counts + np.random.default_rng(1).normal(0, sigma, len(counts))
    alone = noisy >= sigma * max(3.0, float(norm.isf(_FALSE / len(counts))))
    left = max(float(counts.sum() - noisy[alone].sum()), 0.0)
    held = np.where(alone, noisy, left / max(int((~alone).sum()), 1))
    shares: FloatArray = held / held.sum()
    return shares


def _apart(one: FloatArray, two: FloatArray) -> float:
    return float(np.abs(one - two).sum() / 2)


def run(rows: int, values: int) -> Found:
    """One table, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        data.write(Path(folder), rows, values)
        command = [sys.executable, "-m", "benchmarks.many_categories", "--folder", folder]
        done = subprocess.run(command, capture_output=True, check=True)
    found: Found = json.loads(done.stdout)
    return found


COSTS = (
    "release wall s",
    "release s",
    "release MiB",
    "bundle MB",
    "save s",
    "open s",
    "sample s",
    "report s",
    "check s",
    "schema s",
)
FIDELITIES = (
    *(
        "TV",
        "TV, same noise",
        "TV, whole budget",
        "codes told apart",
        "others hold",
        "others released",
        "pair TV",
        "pair TV of halves",
    ),
)


def print_tables(found: dict[tuple[int, int], Found]) -> None:
    """Costs with their ratios to the shortest list, then fidelity."""
    print(f"\n| rows, codes | {' | '.join(COSTS)} |\n|{'---|' * (1 + len(COSTS))}")
    for (rows, values), one in found.items():
        least = found[rows, SIZES[0]]
        cells = [f"{one[name]:.3g} ({one[name] / max(least[name], 1e-3):.1f} x)" for name in COSTS]
        print(f"| {rows:,}, {values:,} | {' | '.join(cells)} |")
    print(f"\n| rows, codes | {' | '.join(FIDELITIES)} |\n|{'---|' * (1 + len(FIDELITIES))}")
    for (rows, values), one in found.items():
        print(f"| {rows:,}, {values:,} | {' | '.join(f'{one[name]:.3g}' for name in FIDELITIES)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 rows, 10 and 1,000 codes")
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.folder:
        print(json.dumps(measure(asked.folder)))
        return
    tables = (
        [(20_000, size) for size in SIZES[:2]] if asked.quick else [(n, size) for n in asked.rows for size in SIZES]
    )
    found = {}
    for rows, values in tables:
        found[rows, values] = run(rows, values)
        print(f"{rows:,} rows, {values:,} codes: {found[rows, values]['release s']:.1f} s", flush=True)
    print_tables(found)


if __name__ == "__main__":
    main()
