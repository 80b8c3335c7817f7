"""What a GPU saves of a release: `python -m benchmarks.gpu [--quick]`, on a computer that has one.

Tables of `scale_data`, released by `tables` with the fit on the processor and on the GPU, one after the other in one
run. Prints a table: seconds of the whole release, and of the fit alone.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import sfumato
from benchmarks import scale_data
from sfumato.errors import RequestError
from sfumato.fitting.devices import CPU, GPU, check_device
from sfumato.fitting.mechanisms.tables import fit
from sfumato.fitting.mechanisms.tables.averaging import average_fits

SHAPES = ((10**5, 10), (10**5, 100), (10**5, 300), (10**5, 1_000))
HEAD = ("rows x columns", "release", "on a GPU", "ratio", "its fit", "on a GPU")
QUICK = ((20_000, 10), (20_000, 30))


class Watch:
    """How long `average_fits` takes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, *given: Any) -> Any:
        begin = time.perf_counter()
        found = average_fits(*given)
        self.seconds += time.perf_counter() - begin
        return found


def released(path: Path, columns: int, device: str) -> tuple[float, float]:
    """Seconds of the release, and of its fit."""
    watch, schema, begin = Watch(), scale_data.schema_of(columns), time.perf_counter()
    with mock.patch.object(fit, "average_fits", watch):
        sfumato.release(path, schema, epsilon=1.0, mechanism="tables", ledger=None, device=device, seed=1)
    return time.perf_counter() - begin, watch.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two small tables")
    shapes = QUICK if parser.parse_args().quick else SHAPES
    try:
        check_device(GPU)
    except RequestError as error:
        parser.exit(1, f"{error}\n")
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        scale_data.write(path, 5_000, 5)
        released(path, 5, GPU)  # torch starts
        for rows, columns in shapes:
            scale_data.write(path, rows, columns)
            (slow, by_cpu), (fast, by_gpu) = (released(path, columns, device) for device in (CPU, GPU))
            cells = (f"{slow:.1f} s", f"{fast:.1f} s", f"{slow / fast:.2f}", f"{by_cpu:.1f} s", f"{by_gpu:.1f} s")
            print(f"| {rows:,} x {columns:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
