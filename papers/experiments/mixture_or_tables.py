"""Numbers alone, and nothing to predict: which mechanism should `auto` take, `tables` or `mixture`?

By columns and rows, at epsilon 1. The rule was chosen on the first tables; the others are for reporting. Both measures
compare a sample with held-out rows: single columns, and a hundred random directions of all of them, each by the
Kolmogorov-Smirnov distance.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.stats import ks_2samp

import sfumato
from experiments.cells import Cell, Figures, Results, shown, table
from experiments.mixture_data import DELTA, gaussian_classes
from experiments.tasks import data_folder
from sfumato.trusted.arrays import FloatArray

PART = "auto"
MECHANISMS = ("tables", "mixture")
COLUMNS = (2, 4, 8, 16)
ROWS = (1_000, 5_000, 25_000)
SEEDS = 3
DRAWS, DIRECTIONS, HELD = 10_000, 100, 5_000


@cache
def _read(file: str) -> pd.DataFrame:
    return pd.read_parquet(data_folder() / file)


def _numbers(file: str, names: list[str]) -> FloatArray:
    return np.asarray(_read(file)[names], dtype=np.float64)


def _cards(columns: int) -> FloatArray:
    return _numbers("creditcard.parquet", [f"V{j}" for j in range(1, columns + 1)])


def _scottish(columns: int) -> FloatArray:
    """Hours of the day from four in the morning on."""
    names = [f"h{4 + hour:02d}" for hour in range(columns)]
    return np.asarray(np.log(_numbers("smartmeter_edrp_scotland.parquet", names) + 0.05))


def _swiss(columns: int) -> FloatArray:
    names = [f"h{4 + hour:02d}" for hour in range(columns)]
    return np.asarray(np.log(_numbers("smartmeter_swiss.parquet", names).clip(0) + 0.05))


def _letters(columns: int) -> FloatArray:
    return _numbers("isolet.parquet", [f"f{j}" for j in range(1, columns + 1)])


def _clusters(columns: int) -> FloatArray:
    rng = np.random.default_rng([8, columns])
    return gaussian_classes(rng, 40_000, columns, 4, least=2 * (columns + 1)).numbers


TABLES: dict[str, tuple[str, Callable[[int], FloatArray]]] = {
    "credit cards": ("choosing", _cards),
    "Swiss meters, log": ("choosing", _swiss),
    "four clusters": ("choosing", _clusters),
    "Scottish meters, log": ("reporting", _scottish),
    "letters": ("reporting", _letters),
}


def measure(name: str, columns: int, rows: int, seed: int) -> Figures:
    numbers = TABLES[name][1](columns)
    low, high = np.floor(numbers.min(axis=0)), np.ceil(numbers.max(axis=0))
    order = np.random.default_rng([9, seed, columns]).permutation(len(numbers))
    private, held = numbers[order[:rows]], numbers[order[rows : rows + HELD]]
    bounds = zip(low.tolist(), high.tolist(), strict=True)
    schema = sfumato.Schema.from_dict(
        {
            "sfumato": 1,
            "name": "numbers",
            "columns": [{"name": f"x{j}", "type": "number", "bounds": list(ends)} for j, ends in enumerate(bounds)],
        }
    )
    found: Figures = {}
    for mechanism in MECHANISMS:
        release = sfumato.release(
            pa.table({f"x{j}": private[:, j] for j in range(columns)}),
            schema,
            epsilon=1.0,
            delta=DELTA,
            mechanism=mechanism,
            ledger=None,
            types="declared",
        )
        drawn = np.column_stack([column.to_numpy() for column in release.sample(DRAWS, output="arrow").columns])
        found[f"{mechanism}: columns"], found[f"{mechanism}: directions"] = distances(drawn, held, seed)
    return found


def distances(drawn: FloatArray, held: FloatArray, seed: int) -> tuple[float, float]:
    """Of single columns, and of random directions in units of their standard deviations."""
    apart = [ks_2samp(drawn[:, j], held[:, j]).statistic for j in range(held.shape[1])]
    rng = np.random.default_rng([10, seed])
    along = rng.standard_normal((held.shape[1], DIRECTIONS)) / held.std(axis=0)[:, None]
    turned = [ks_2samp(*pair).statistic for pair in zip((drawn @ along).T, (held @ along).T, strict=True)]
    return float(np.mean(apart)), float(np.mean(turned))


def cells(quick: bool) -> Iterator[Cell]:
    for name, (half, read) in TABLES.items():
        for columns in (8,) if quick else COLUMNS:
            for rows in ROWS[:1] if quick else ROWS:
                if quick or rows + HELD // 4 <= len(read(columns)):
                    yield Cell(
                        PART,
                        f"{half}: {name}, {columns} columns, {rows} rows",
                        range(1 if quick else SEEDS),
                        partial(measure, name, columns, rows),
                    )


def show(results: Results) -> str:
    names = [f"{mechanism}: {what}" for what in ("columns", "directions") for mechanism in MECHANISMS]
    rows = []
    for name, (half, _) in TABLES.items():
        for columns in COLUMNS:
            for count in ROWS:
                case = f"{half}: {name}, {columns} columns, {count} rows"
                if results.find(PART, case):
                    rows.append([case, *(shown(results.figure(PART, case, one)) for one in names)])
    return "distance of a sample from held-out rows at epsilon 1\n" + table(["", *names], rows)
