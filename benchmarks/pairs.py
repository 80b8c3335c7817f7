"""Counting all pairs of 41 columns by a target, 300,000 rows, beside polars: `python -m benchmarks.pairs`.

The statistic is that of the `tables` mechanism; polars counts the same coarse cells, one group-by for each pair, on one
thread as well.
"""

import itertools
import os
import time

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.feature_maps.features import Features, Lookup, Softmax
from sfumato.trusted.statistics import Cells, Gradient

ROWS, COLUMNS, CODES, LEVELS = 300_000, 41, 100, 16


def main() -> None:
    rng = np.random.default_rng(0)
    names = [f"c{n}" for n in range(COLUMNS)]
    coarse = np.arange(CODES) * LEVELS // CODES
    grids = {name: Grid.of_cells(coarse) for name in names} | {"y": Grid.of_cells(np.arange(2))}
    codes = {name: rng.integers(0, CODES, ROWS).astype(np.int32) for name in names}
    codes["y"] = rng.integers(0, 2, ROWS).astype(np.int32)
    batch = Batch(ROWS, codes)
    pairs = list(itertools.combinations(names, 2))
    cells = Cells(tuple(("y", *pair) for pair in pairs), grids, "y")

    begin = time.process_time()
    counted = cells(batch)
    ours = time.process_time() - begin

    frame = pl.DataFrame({name: coarse[codes[name]] for name in names} | {"y": codes["y"]})
    begin = time.process_time()
    totals = [frame.group_by("y", *pair).len()["len"].sum() for pair in pairs]
    theirs = time.process_time() - begin
    if counted.sum() != sum(totals):
        raise SystemExit("the counts differ")
    print(f"{len(pairs)} pair tables: sfumato {ours:.2f} CPU s, polars {theirs:.2f} CPU s: {theirs / ours:.1f} times")

    lookups = tuple(
        Lookup(pair, (grids[pair[0]], grids[pair[1]]), rng.integers(-3000, 3000, (1, LEVELS, LEVELS)).astype(np.int32))
        for pair in pairs
    )
    directions = rng.integers(-(2**14), 2**14, (len(pairs), 120)).astype(np.int32)
    model = Softmax(Features(lookups, directions), rng.integers(-(2**12), 2**12, (121, 2)).astype(np.int32))
    gradient = Gradient(model, "y", grids["y"])
    begin = time.process_time()
    gradient(batch)
    print(f"one gradient of {len(pairs)} looked-up values in 120 directions: {time.process_time() - begin:.2f} CPU s")


if __name__ == "__main__":
    main()
