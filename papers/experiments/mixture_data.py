"""Labelled records in a public box, and their release by the `mixture` mechanism."""

import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import wishart
from sfumato_papers.liu import Mixture

import sfumato
from sfumato.artefact.release import Release
from sfumato.trusted.arrays import FloatArray, IntArray

DELTA = 1e-5
REACH = 10.0  # of the means of synthetic classes


class Records(NamedTuple):
    """Numbers (rows x columns) within their bounds, and the class of each row."""

    numbers: FloatArray
    label: IntArray
    classes: int
    low: FloatArray
    high: FloatArray

    @classmethod
    def clamped(
        cls, numbers: FloatArray, label: IntArray, classes: int, low: FloatArray, high: FloatArray
    ) -> "Records":
        """As a release sees them."""
        return cls(np.clip(numbers, low, high), label.astype(np.int64), classes, low, high)

    @property
    def columns(self) -> int:
        return int(self.numbers.shape[1])

    def chosen(self, rows: NDArray[Any]) -> "Records":
        return self._replace(numbers=self.numbers[rows], label=self.label[rows])

    def table(self) -> pa.Table:
        columns = {f"x_{j}": self.numbers[:, j] for j in range(self.columns)}
        return pa.table({**columns, "y": self.label})

    def schema(self, adjacency: str = "add-remove") -> sfumato.Schema:
        """Bounds and classes; under label adjacency also that the numbers are public, where a schema can say so."""
        bounds = zip(self.low.tolist(), self.high.tolist(), strict=True)
        content: dict[str, Any] = {
            "sfumato": 1,
            "name": "records",
            "columns": [
                *({"name": f"x_{j}", "type": "number", "bounds": list(ends)} for j, ends in enumerate(bounds)),
                {"name": "y", "type": "category", "values": list(range(self.classes))},
            ],
            "target": "y",
        }
        if adjacency == "label" and "public_features" in sfumato.Schema.model_fields:
            content["public_features"] = True
        return sfumato.Schema.from_dict(content)


def synthetic(seed: int, rows: int = 1000, columns: int = 3, classes: int = 5, wider: float = 1.0) -> Records:
    """The test case of the paper: Dirichlet(1) weights, uniform means, Wishart(d + 1, I) covariances.

    Every class has 2 (d + 1) records at least. The box holds the means and four standard deviations more, or is some
    times wider.
    """
    rng = np.random.default_rng([99, seed, rows, columns])
    return gaussian_classes(rng, rows, columns, classes, least=2 * (columns + 1), wider=wider)


def gaussian_classes(
    rng: np.random.Generator, rows: int, columns: int, classes: int, *, least: int, wider: float = 1.0
) -> Records:
    """Drawn again until every class has `least` records."""
    while True:
        weights = rng.dirichlet(np.ones(classes))
        label = rng.choice(classes, size=rows, p=weights)
        if np.bincount(label, minlength=classes).min() >= least:
            break
    means = rng.uniform(-REACH, REACH, size=(classes, columns))
    covs = [np.atleast_2d(wishart.rvs(columns + 1, np.eye(columns), random_state=rng)) for _ in range(classes)]
    numbers = np.empty((rows, columns))
    for k in range(classes):
        mine = label == k
        normal = rng.standard_normal((int(mine.sum()), columns))
        numbers[mine] = means[k] + normal @ np.linalg.cholesky(covs[k]).T
    end = np.full(columns, (REACH + 4 * np.sqrt(columns + 1)) * wider)
    return Records.clamped(numbers, label, classes, -end, end)


def iris() -> Records:
    """Iris with rounded bounds."""
    from sklearn.datasets import load_iris

    found = load_iris()
    return Records.clamped(found.data, found.target, 3, np.array([4.0, 2.0, 1.0, 0.0]), np.array([8.0, 4.5, 7.0, 2.6]))


def released(records: Records, epsilon: float, adjacency: str = "add-remove") -> tuple[Release, float]:
    """A release and its CPU seconds."""
    private, schema = records.table(), records.schema(adjacency)
    begin = time.process_time()
    release = sfumato.release(
        private,
        schema,
        epsilon=epsilon,
        delta=DELTA,
        mechanism="mixture",
        adjacency=adjacency,
        ledger=None,
        types="declared",
    )
    return release, time.process_time() - begin


def mixture_of(release: Release, records: Records) -> Mixture:
    """The released weights, means and covariances, in the units of the columns."""
    rows = parameters(release.parameters(output="arrow"), "estimate", records)
    d = records.columns
    i, j = np.triu_indices(d)
    covs = np.empty((records.classes, d, d))
    covs[:, i, j] = covs[:, j, i] = rows[:, 1 + d :]
    return Mixture(rows[:, 0], rows[:, 1 : 1 + d], covs)


def parameters(table: pa.Table, column: str, records: Records) -> FloatArray:
    """A row for each class: its weight, its means, the upper triangle of its covariance."""
    d = records.columns
    values: FloatArray = table.column(column).to_numpy().reshape(records.classes, 1 + d + d * (d + 1) // 2)
    return values
