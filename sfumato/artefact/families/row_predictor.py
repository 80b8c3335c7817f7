"""A predictor of a row's target from what is known when the row is there.

A release tells the target of a row given all of its record, which holds how many rows are still to come. To sum that
out by the mixture's own belief about it is exact for the model and poor for real rows: the belief is a product over all
columns, and too sure of itself. So a softmax over the cells of single columns is fitted to drawn rows, with what the
release tells of the target of each, and without what will not be known. That is post-processing, and rows weigh in it
as they do in a sample.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import CodeArray, Float32Array, FloatArray, IntArray

MOST_ROWS = 40_000
_MOST_CELLS, _FEWEST, _MOST_OF_COLUMN = 1_000, 4, 48  # of all columns, and of one
_RIDGE = 8.0  # rows that speak against every coefficient
_STEPS = 60


@dataclass(frozen=True, eq=False)
class RowPredictor:
    """p(class | row) in proportion to exp(the sum of a coefficient for the cell of each column).

    cells          of every column that is looked at, the cell of each code
    coefficients   of every column (cells x classes)
    constant       of each class
    """

    cells: Mapping[str, IntArray]
    coefficients: Mapping[str, FloatArray]
    constant: FloatArray

    def probabilities(self, codes: Mapping[str, CodeArray], rows: int) -> FloatArray:
        """The probability of every class (rows x classes)."""
        logits = np.repeat(self.constant[None], rows, axis=0)
        for name, cells in self.cells.items():
            logits += self.coefficients[name][cells[codes[name]]]
        return _softmax(logits)


def fit_row_predictor(codes: Mapping[str, CodeArray], told: FloatArray, groups: Mapping[str, IntArray]) -> RowPredictor:
    """The predictor that agrees best with what is `told` of some rows (rows x classes).

    groups   of every column to look at, the cell of each code; where there are too many, neighbours are joined
    """
    most = int(np.clip(_MOST_CELLS / max(len(groups), 1), _FEWEST, _MOST_OF_COLUMN))
    cells = {name: _joined(group, most) for name, group in groups.items()}
    sizes = {name: int(cell.max()) + 1 for name, cell in cells.items()}
    starts = dict(zip(sizes, 1 + np.cumsum([0, *sizes.values()]), strict=False))
    features = np.zeros((len(told), 1 + sum(sizes.values())), dtype=np.float32)
    features[:, 0] = 1.0
    for name, cell in cells.items():
        features[np.arange(len(told)), starts[name] + cell[codes[name]]] = 1.0
    found = _fit(features, told)
    coefficients = {name: found[start : start + sizes[name]] for name, start in starts.items()}
    return RowPredictor(cells, coefficients, found[0])


def _joined(group: IntArray, most: int) -> IntArray:
    size = int(group.max()) + 1
    return group if size <= most else group * most // size


def _fit(features: Float32Array, told: FloatArray) -> FloatArray:
    """Ridge softmax regression, by steps against a bound of the curvature that holds everywhere (Boehning 1992)."""
    curvature = (features.T @ features).astype(np.float64) / 2
    curvature[np.diag_indices_from(curvature)] += _RIDGE
    step = np.linalg.inv(curvature)
    found = np.zeros((features.shape[1], told.shape[1]))
    for _ in range(_STEPS):
        away = told - _softmax(features @ found)
        found += step @ (features.T @ away - _RIDGE * found)
    return found


def _softmax(logits: FloatArray) -> FloatArray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return shares
