"""Twenty columns of files of spoken letters and of written digits, drawn by a seed.

They were fresh once, and showed how far a forecast is off where most of the records share one value, as in a pixel.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from experiments.tasks import Task, data_folder, task_of

_COLUMNS = 20
_STATE = 5


def _choose(frame: pd.DataFrame, label: str, bounds: tuple[float, float], name: str, number: bool) -> Task:
    """Twenty columns and the label; the target is the label or the first of the columns."""
    varied = [name for name in map(str, frame.columns) if name != label and frame[name].nunique() > 50]
    chosen = [str(name) for name in np.random.default_rng(_STATE).choice(varied, _COLUMNS, replace=False)]
    return task_of(name, frame[[*chosen, label]], chosen[0] if number else label, dict.fromkeys(chosen, bounds))


def _letters(name: str, number: bool) -> Task:
    rows = pd.read_parquet(data_folder() / "isolet.parquet").drop(columns=["group", "split"])
    return _choose(rows, "letter", (-1.0, 1.0), name, number)


def _digits(file: str, bounds: tuple[float, float]) -> Callable[[str, bool], Task]:
    def make(name: str, number: bool) -> Task:
        with np.load(data_folder() / f"{file}.npz") as parts:
            pixels, digits = parts["x_train"].reshape(len(parts["y_train"]), -1).astype(float), parts["y_train"]
        rows = pd.DataFrame(pixels, columns=[f"p{place}" for place in range(pixels.shape[1])])
        return _choose(rows.assign(digit=digits.astype(int)), "digit", bounds, name, number)

    return make


_FILES = {
    "isolet": _letters,
    "usps": _digits("usps", (-1.0, 1.0)),
    "mnist": _digits("mnist", (0.0, 255.0)),
}


def _task(file: str, number: bool) -> tuple[str, Callable[[], Task]]:
    name = f"{file}, {'a column' if number else 'the class'}"
    return name, lambda: _FILES[file](name, number)


TASKS_OF_COLUMNS: dict[str, Callable[[], Task]] = dict(
    _task(file, number) for file in _FILES for number in (False, True)
)
