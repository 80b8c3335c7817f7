"""The tables that come with scikit-learn and have more than 300 rows: smaller than all that forecasts were fitted to.

Bounds are documented ranges, or twice the largest value, rounded.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from experiments.tasks import Task, task_of


def _read(load: Callable[..., Any]) -> pd.DataFrame:
    frame: pd.DataFrame = load(as_frame=True).frame
    return frame.rename(columns=str)


def _features(rows: pd.DataFrame) -> list[str]:
    return [name for name in map(str, rows.columns) if name != "target"]


def small_digits() -> Task:
    """64 pixels of 0 to 16, each the sum of a block."""
    rows = _read(datasets.load_digits)
    return task_of("small digits", rows, "target", dict.fromkeys(_features(rows), (0, 16)))


def breast_cancer() -> Task:
    rows = _read(datasets.load_breast_cancer)
    tops = {name: float(f"{2 * rows[name].max():.1g}") for name in _features(rows)}
    return task_of("breast cancer", rows, "target", {name: (0.0, top) for name, top in tops.items()})


def diabetes() -> Task:
    """Progression after a year; the columns have the mean 0 and the length 1."""
    rows = _read(datasets.load_diabetes)
    bounds = {name: (-0.25, 0.25) for name in _features(rows) if name != "sex"}
    rows = rows.assign(sex=np.where(rows["sex"] > 0, "a", "b"))
    return task_of("diabetes of scikit-learn", rows, "target", bounds | {"target": (0.0, 400.0)})


SMALL: dict[str, Callable[[], Task]] = {
    "small digits": small_digits,
    "breast cancer": breast_cancer,
    "diabetes of scikit-learn": diabetes,
}
