"""How near the kernels of the curator are to what the machine can do: `python -m benchmarks.kernels`.

On one thread, in the same run: codes of a column of numbers, cells of one column and of pairs of columns, and the
features of a model. Bytes are those that a kernel must read and write at the least, compared with a plain copy;
operations are compared with one large product. Where numba is installed the pairs are counted by a compiled loop as
well, which must give the same counts. It is no dependency: docs/scale.md says why.
"""

import importlib.util
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pyarrow as pa

from benchmarks.scale_data import schema_of
from sfumato.trusted.constraints import layout_of
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.feature_maps.features import Features, Lookup
from sfumato.trusted.statistics import Cells

ROWS, COLUMNS, CODES, LEVELS, RANK = 1 << 18, 10, 100, 12, 120
REPEATED = 7


def main() -> None:
    rng = np.random.default_rng(0)
    copy, product = _copy_speed(rng), _product_speed(rng)
    print(f"a plain copy {copy / 1e9:.1f} GB/s; one large product of doubles {product / 1e9:.1f} GFLOP/s")

    records = pa.record_batch({"height_0": pa.array(170 + 10 * rng.standard_normal(ROWS))})
    layout = layout_of(schema_of(COLUMNS))
    _tell_bytes("codes of a column of numbers", _best(lambda: layout.encode(records, ("height_0",))), ROWS, 12, copy)

    batch, grids = _batch(rng)
    names = tuple(grids)
    singles = Cells(tuple((name,) for name in names), grids, None)
    _tell_bytes("cells of one column", _best(lambda: singles(batch)), ROWS * COLUMNS, 4, copy)
    pairs = Cells(tuple(itertools.combinations(names, 2)), grids, None)
    seconds, cells = _best(lambda: pairs(batch)), ROWS * len(pairs.tables)
    _tell_bytes("cells of a pair of columns", seconds, cells, 8, copy)
    compiled = _compiled_pairs(batch, grids, pairs)
    if compiled is not None:
        print(f"  a compiled loop takes {compiled / cells * 1e9:.2f} ns: {seconds / compiled:.1f} times as fast")

    features = _features(rng, grids)
    seconds = _best(lambda: features(batch))
    done = 2 * ROWS * RANK * len(features.lookups)
    print(
        f"features of {len(features.lookups)} look-ups in {RANK} directions: {seconds / ROWS * 1e6:.2f} microseconds a "
        f"record, {done / seconds / 1e9:.1f} GFLOP/s, {done / seconds / product:.0%} of the product's"
    )


def _best(work: Callable[[], Any]) -> float:
    """CPU seconds, the best of some runs."""
    runs = []
    for _ in range(REPEATED):
        begin = time.process_time()
        work()
        runs.append(time.process_time() - begin)
    return min(runs)


def _copy_speed(rng: np.random.Generator) -> float:
    """Bytes read and written a second."""
    numbers = rng.random(1 << 24)
    copied = np.empty_like(numbers)
    return 2 * numbers.nbytes / _best(lambda: np.copyto(copied, numbers))


def _product_speed(rng: np.random.Generator) -> float:
    """Operations a second."""
    left, right = rng.random((512, 512)), rng.random((512, 2048))
    return 2 * 512 * 512 * 2048 / _best(lambda: left @ right)


def _tell_bytes(what: str, seconds: float, values: int, bytes_each: int, copy: float) -> None:
    moved = values * bytes_each / seconds
    print(f"{what}: {seconds / values * 1e9:.2f} ns a value, {moved / 1e9:.1f} GB/s, {moved / copy:.0%} of the copy's")


def _batch(rng: np.random.Generator) -> tuple[Batch, dict[str, Grid]]:
    grid = Grid.of_cells(np.arange(CODES) * LEVELS // CODES)
    names = [f"c{place}" for place in range(COLUMNS)]
    codes = {name: rng.integers(0, CODES, ROWS).astype(np.int32) for name in names}
    return Batch(ROWS, codes), dict.fromkeys(names, grid)


def _features(rng: np.random.Generator, grids: dict[str, Grid]) -> Features:
    pairs = list(itertools.permutations(grids, 2)) * 4
    lookups = tuple(
        Lookup(pair, (grids[pair[0]], grids[pair[1]]), rng.integers(-3000, 3000, (1, LEVELS, LEVELS)).astype(np.int32))
        for pair in pairs
    )
    return Features(lookups, rng.integers(-(2**14), 2**14, (len(pairs), RANK)).astype(np.int32))


def _compiled_pairs(batch: Batch, grids: dict[str, Grid], pairs: Cells) -> float | None:
    """CPU seconds of a compiled loop over all pairs, None without numba."""
    if importlib.util.find_spec("numba") is None:
        return None
    numba = importlib.import_module("numba")

    def count(codes: Any, cells: Any) -> Any:
        columns, rows = codes.shape
        found, table = np.zeros((columns * (columns - 1) // 2, LEVELS * LEVELS), np.int64), 0
        for one in range(columns - 1):
            for other in range(one + 1, columns):
                for row in range(rows):
                    found[table, cells[codes[one, row]] * LEVELS + cells[codes[other, row]]] += 1
                table += 1
        return found

    compiled = numba.njit(count)
    codes, cells = (
        np.stack(list(batch.codes.values())),
        next(iter(grids.values())).cells_of(np.arange(CODES, dtype=np.int32)),
    )
    if not np.array_equal(compiled(codes, cells).ravel(), pairs(batch)):
        raise SystemExit("the compiled loop counts otherwise")
    return _best(lambda: compiled(codes, cells))


if __name__ == "__main__":
    main()
