"""Real tables with labels, in two halves: rules were chosen on the one, the other is for reporting.

The halves are different tables, but Adult and the credit cards occur in both with other columns or labels. Bounds are
ranges rounded outward: they stand for documented ones, which nobody wrote down for these columns.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from experiments.mixture_data import Records
from experiments.tasks import data_folder
from sfumato.trusted.arrays import FloatArray, IntArray

Labelled = tuple[FloatArray, IntArray]
Half = Literal["choosing", "reporting"]


class RealTable(NamedTuple):
    """A table in a file of the data folder, or of scikit-learn."""

    half: Half
    file: str | None
    build: Callable[[Path], Labelled]


# Random rows of the large tables: which were drawn, from how many and in this order, is that of the study.
_DRAWS = {
    "genuine": (284_315, 20_000),
    "cards": (284_807, 20_000),
    "meters": (57_224, 15_000),
    "stays": (101_766, 30_000),
}


def _drawn(name: str) -> IntArray:
    rng = np.random.default_rng(0)
    for draw, (size, count) in _DRAWS.items():
        rows = rng.choice(size, count, replace=False)
        if draw == name:
            return rows
    raise KeyError(name)


def _numbers(rows: pd.DataFrame, columns: Sequence[str], label: Any) -> Labelled:
    """The rows in which every column has a value."""
    numbers = rows[list(columns)].astype(float).to_numpy()
    whole = np.isfinite(numbers).all(axis=1)
    return numbers[whole], np.asarray(label)[whole].astype(np.int64)


def _frauds(path: Path) -> Labelled:
    """All frauds and some of the genuine payments."""
    rows = pd.read_parquet(path)
    label = rows["Class"].to_numpy()
    places = np.concatenate([np.flatnonzero(label == 0)[_drawn("genuine")], np.flatnonzero(label == 1)])
    return _numbers(rows.iloc[places], [f"V{j}" for j in range(1, 11)], label[places])


def _payments(path: Path) -> Labelled:
    rows = pd.read_parquet(path).iloc[_drawn("cards")]
    return _numbers(rows, [f"V{j}" for j in range(11, 21)], rows["Amount"] > 50)


def _support(path: Path) -> Labelled:
    rows = pd.read_parquet(path)
    return _numbers(rows, ["age", "meanbp", "wblc", "hrt", "resp", "temp", "crea", "sod"], rows["hospdead"])


def _hours(rows: pd.DataFrame, parts: int) -> FloatArray:
    """The day's consumption in equal parts."""
    hours = rows[[f"h{hour:02d}" for hour in range(24)]].astype(float).to_numpy()
    return np.asarray(hours.reshape(len(hours), parts, -1).sum(axis=2))


def _swiss(path: Path) -> Labelled:
    rows = pd.read_parquet(path)
    return np.log(np.maximum(_hours(rows, 6), 0) + 0.05), (rows["day_of_week"] >= 5).to_numpy().astype(np.int64)


def _scottish(path: Path) -> Labelled:
    rows = pd.read_parquet(path).iloc[_drawn("meters")]
    return _hours(rows, 8), (pd.to_datetime(rows["date"]).dt.day_of_week >= 5).to_numpy().astype(np.int64)


def _scottish_log(path: Path) -> Labelled:
    numbers, label = _scottish(path)
    return np.log(numbers + 0.05), label


def _isolet(path: Path) -> Labelled:
    rows = pd.read_parquet(path)
    return _numbers(rows, [f"f{j}" for j in range(1, 11)], rows["letter"].isin(list("BCDEGPTVZ")))


_ADULT = ("age", "education-num", "hours-per-week")


def _adult(path: Path, columns: Sequence[str] = _ADULT) -> Labelled:
    rows = pd.read_parquet(path)
    return _numbers(rows, columns, rows["income"].str.contains(">"))


def _diabetes(path: Path) -> Labelled:
    rows = pd.read_parquet(path).iloc[_drawn("stays")]
    counted = ("lab_procedures", "procedures", "medications")
    columns = ["time_in_hospital", *(f"num_{name}" for name in counted), "number_inpatient", "number_diagnoses"]
    return _numbers(rows, columns, rows["readmitted"] != "NO")


def _intensive_care(path: Path) -> Labelled:
    rows = pd.read_parquet(path)
    means = ("HR", "Temp", "GCS", "BUN", "Creatinine", "WBC", "Na", "Glucose", "Platelets")
    return _numbers(rows, ["Age", *(f"{name}_mean" for name in means)], rows["In-hospital_death"])


def _mnist(path: Path) -> Labelled:
    with np.load(path) as file:
        pixels, label = file["x_train"][:20_000].reshape(-1, 784) / 255.0, file["y_train"][:20_000]
    return pixels @ (np.random.default_rng(5).standard_normal((784, 6)) / 28), label.astype(np.int64)


def _usps(path: Path) -> Labelled:
    with np.load(path) as file:
        pixels = np.concatenate([file["x_train"], file["x_test"]]).reshape(-1, 256).astype(float)
        label = np.concatenate([file["y_train"], file["y_test"]])
    return pixels @ (np.random.default_rng(6).standard_normal((256, 4)) / 16), label.astype(np.int64)


def _flowers(_: Path) -> Labelled:
    from sklearn.datasets import load_iris

    found = load_iris()
    return found.data, found.target


TABLES: dict[str, RealTable] = {
    "credit card V1-10": RealTable("choosing", "creditcard.parquet", _frauds),
    "SUPPORT2 raw": RealTable("choosing", "support2.parquet", _support),
    "Swiss meters, log": RealTable("choosing", "smartmeter_swiss.parquet", _swiss),
    "ISOLET 10, e-set": RealTable("choosing", "isolet.parquet", _isolet),
    "Adult 3": RealTable("choosing", "adult.parquet", _adult),
    "MNIST 6 directions": RealTable("choosing", "mnist.npz", _mnist),
    "credit card V11-20": RealTable("reporting", "creditcard.parquet", _payments),
    "Scottish meters, raw": RealTable("reporting", "smartmeter_edrp_scotland.parquet", _scottish),
    "Scottish meters, log": RealTable("reporting", "smartmeter_edrp_scotland.parquet", _scottish_log),
    "Adult 4": RealTable("reporting", "adult.parquet", lambda path: _adult(path, (*_ADULT, "fnlwgt"))),
    "diabetes 6": RealTable("reporting", "diabetes130.parquet", _diabetes),
    "PhysioNet 10 raw": RealTable("reporting", "physionet2012_icu.parquet", _intensive_care),
    "USPS 4 directions": RealTable("reporting", "usps.npz", _usps),
    "Iris": RealTable("reporting", None, _flowers),
}


def available(names: Iterable[str]) -> list[str]:
    """The tables whose files are there; of the others it says so."""
    found = []
    for name in names:
        one = TABLES[name]
        try:
            path = data_folder() / (one.file or "")
        except SystemExit as why:
            if one.file is None:
                found.append(name)
            else:
                print(f"{name}: skipped, {why}")
            continue
        if one.file is None or path.exists():
            found.append(name)
        else:
            print(f"{name}: skipped, there is no {path}")
    return found


@cache
def real_records(name: str) -> Records:
    one = TABLES[name]
    numbers, label = one.build(data_folder() / one.file if one.file else Path())
    low = np.array([_rounded(value, np.floor) for value in numbers.min(axis=0)])
    high = np.array([_rounded(value, np.ceil) for value in numbers.max(axis=0)])
    return Records.clamped(numbers, label, int(label.max()) + 1, low, high)


def _rounded(value: float, way: Callable[[float], Any]) -> float:
    """To half a unit of the first digit."""
    if value == 0:
        return 0.0
    step = 10.0 ** np.floor(np.log10(abs(value))) / 2
    return float(way(value / step) * step)


def split(records: Records, seed: int) -> tuple[Records, Records]:
    """Three quarters to release, a quarter held out."""
    held = np.random.default_rng([3, seed]).random(len(records.label)) < 0.25
    return records.chosen(~held), records.chosen(held)
