"""The seven tasks of the paper's table 1, from the data at hand.

The paper's hospital data needs a licence. In its place: death in hospital of 12,000 stays in intensive care, and days
in hospital, in four classes, of 71,518 people with diabetes.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd

from experiments import subspace_data, tasks
from experiments.clustmix.rows import Rows
from sfumato.evaluation.records import read_all, values_of
from sfumato.trusted.encoding import CategoricalCodec, Encoder, NumericCodec


def icu_mortality() -> tasks.Task:
    """Death in hospital, from vital signs and laboratory values of the first two days in intensive care."""
    rows = pd.read_parquet(tasks.data_folder() / "physionet2012_icu.parquet")
    rows = rows.drop(columns=["RecordID", "set", "SAPS-I", "SOFA", "Length_of_stay", "Survival"])
    kept = [name for name in rows if not name.endswith(("_first", "_n"))]
    bounds = {name: _documented(rows[name]) for name in kept if name not in ("In-hospital_death", "ICUType", "Gender")}
    return tasks.task_of("icu mortality", rows[kept], "In-hospital_death", bounds)


def _documented(column: pd.Series) -> tuple[float, float]:
    """No ranges are documented: the least and largest value, rounded outward, stand for a clinician's bounds."""
    low, high = float(np.nanmin(column)), float(np.nanmax(column))
    step = 10.0 ** np.floor(np.log10(max(high - low, 1e-9)))
    return float(np.floor(low / step) * step), float(np.ceil(high / step) * step)


TASKS: dict[str, Callable[[], tasks.Task]] = {
    "adult": tasks.adult,
    "census": tasks.census,
    "credit": tasks.credit,
    "icu mortality": icu_mortality,
    "length of stay": tasks.length_of_stay,
}
WIDE: dict[str, Callable[[], subspace_data.Wide]] = {"isolet": subspace_data.isolet, "mnist": subspace_data.mnist}
NAMES = ("adult", "census", "credit", "isolet", "icu mortality", "length of stay", "mnist")


@cache
def task(name: str) -> tasks.Task:
    return TASKS[name]()


@cache
def wide(name: str) -> subspace_data.Wide:
    return WIDE[name]()


@cache
def rows_of(name: str) -> Rows:
    """A task as plain arrays."""
    return _of_wide(wide(name)) if name in WIDE else _of_task(task(name))


def _of_task(one: tasks.Task) -> Rows:
    schema, columns = one.schema, Encoder(one.schema).columns
    values = values_of(read_all(one.rows, schema), schema)
    numbers, kinds = [], []
    for name in schema.features:
        codes = columns[name]
        if isinstance(codes, NumericCodec):
            numbers.append((values[name] - codes.low) / (codes.high - codes.low))
            kinds.append(0)
        else:
            numbers.append(np.nan_to_num(values[name], nan=codes.size - 1))
            kinds.append(max(2, codes.size))  # a column of one value could have had another
    target = columns[str(schema.target)]
    assert isinstance(target, CategoricalCodec)
    label = values[str(schema.target)].astype(np.int64)
    return Rows(np.column_stack(numbers).astype(np.float32), label, tuple(kinds), target.size)


def _of_wide(one: subspace_data.Wide) -> Rows:
    low, high = one.bounds
    scaled, test = (((part - low) / (high - low)).astype(np.float32) for part in (one.numbers, one.test_numbers))
    kinds = (0,) * scaled.shape[1]
    if one.name == "mnist":
        return Rows(scaled, one.label, kinds, one.classes, (test, one.test_label))
    everyone, labels = np.concatenate((scaled, test)), np.concatenate((one.label, one.test_label))
    return Rows(everyone, labels, kinds, one.classes)
