"""Wide tables of numbers with a class: digits of three sets, and spoken letters."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import sfumato
from experiments.tasks import data_folder
from sfumato.trusted.arrays import IntArray


class Wide(NamedTuple):
    """Rows of numbers within public bounds, labels from 0 on, and a part of both that is kept for testing."""

    name: str
    numbers: NDArray[Any]
    label: IntArray
    test_numbers: NDArray[Any]
    test_label: IntArray
    bounds: tuple[float, float]
    delta: float
    image: tuple[int, int] | None = None

    @property
    def columns(self) -> list[str]:
        return [f"x_{j}" for j in range(self.numbers.shape[1])]

    @property
    def classes(self) -> int:
        return int(self.label.max()) + 1

    def schema(self) -> sfumato.Schema:
        kind = "integer" if isinstance(self.bounds[0], int) else "number"
        run = {"name": f"x_{{0..{len(self.columns) - 1}}}", "type": kind, "bounds": list(self.bounds)}
        run |= {"image": list(self.image)} if self.image else {}
        label = {"name": "y", "type": "category", "values": list(range(self.classes))}
        content = {"sfumato": 1, "name": self.name, "columns": [run, label], "target": "y"}
        return sfumato.Schema.from_dict(content)

    def table(self) -> pa.Table:
        return self.rows(self.numbers).append_column("y", pa.array(self.label))

    def rows(self, numbers: NDArray[Any]) -> pa.Table:
        return pa.table({name: numbers[:, j] for j, name in enumerate(self.columns)})


def mnist() -> Wide:
    """28 x 28 pixels. Its test rows were seen when the constants were chosen."""
    with np.load(data_folder() / "mnist.npz") as file:
        parts = [file[name].reshape(len(file[name]), -1) for name in ("x_train", "x_test")]
        labels = [file[name].astype(np.int64) for name in ("y_train", "y_test")]
    return Wide("mnist", parts[0], labels[0], parts[1], labels[1], (0, 255), 1e-5, (28, 28))


def usps() -> Wide:
    """16 x 16 pixels. No constant was chosen on it."""
    with np.load(data_folder() / "usps.npz") as file:
        parts = [file[name].reshape(len(file[name]), -1).astype(float) for name in ("x_train", "x_test")]
        labels = [file[name].astype(np.int64) for name in ("y_train", "y_test")]
    return Wide("usps", parts[0], labels[0], parts[1], labels[1], (-1.0, 1.0), 1e-5, (16, 16))


def digits() -> Wide:
    """8 x 8 pixels of few records, which come with scikit-learn. No constant was chosen on it."""
    images, label = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(label))
    kept, held = np.split(order, [1_300])
    numbers = images.astype(np.int64)
    return Wide("digits", numbers[kept], label[kept], numbers[held], label[held], (0, 16), 1e-5, (8, 8))


def isolet() -> Wide:
    """617 features of spoken letters, vowels against the rest; 70 % of four speakers' groups. Seen when choosing."""
    rows = pd.read_parquet(data_folder() / "isolet.parquet")
    rows = rows[rows["split"] == "train"] if "split" in rows else rows
    numbers = rows[[name for name in rows if name.startswith("f")]].to_numpy(dtype=np.float64)
    label = rows["letter"].isin(list("AEIOU")).to_numpy().astype(np.int64)
    order = np.random.default_rng(0).permutation(len(rows))
    kept, held = np.split(order, [round(0.7 * len(rows))])
    return Wide("isolet", numbers[kept], label[kept], numbers[held], label[held], (-1.0, 1.0), 1 / len(kept))
