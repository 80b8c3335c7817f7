"""(23) as a semidefinite program, solved by Clarabel.

    min tr(A P)  so that  [[P, v], [v', c]] is positive semidefinite for every shift v

Clarabel takes a symmetric matrix as its upper triangle, column by column, off-diagonal entries times sqrt(2). That of
the block is that of P, the unknown, and then sqrt(2) v and c.
"""

from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from sfumato.trusted.arrays import FloatArray


def as_printed(shifts: FloatArray, metric: FloatArray, bound: float = 1.0, **settings: Any) -> FloatArray:
    """P where Clarabel stops. It keeps the constraints up to a tolerance, which knows nothing of their units."""
    count, d = shifts.shape
    columns, rows = np.tril_indices(d)
    unknowns, stretch = len(rows), np.where(rows == columns, 1, np.sqrt(2))
    block = sparse.vstack((-sparse.identity(unknowns), sparse.csr_matrix((d + 1, unknowns))))
    right = np.hstack((np.zeros((count, unknowns)), np.sqrt(2) * shifts, np.full((count, 1), bound)))
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((unknowns, unknowns)),
        metric[rows, columns] * stretch,
        sparse.csc_matrix(sparse.kron(np.ones((count, 1)), block)),
        right.ravel(),
        [clarabel.PSDTriangleConeT(d + 1)] * count,
        _settings(settings),
    )
    covariance = np.empty((d, d))
    covariance[rows, columns] = covariance[columns, rows] = np.array(solver.solve().x) / stretch
    return covariance


def whitened(shifts: FloatArray, metric: FloatArray, **settings: Any) -> FloatArray:
    """P for the bound 1, in coordinates where the metric is 1."""
    return _in_basis(np.asarray(np.linalg.cholesky(metric), dtype=np.float64), shifts, metric, settings)


def rounded(shifts: FloatArray, metric: FloatArray, **settings: Any) -> FloatArray:
    """P for the bound 1, in coordinates where the shifts are alike in all directions.

    As fast as `whitened`, and exact where some shifts are thousands of times longer than others.
    """
    return _in_basis(np.linalg.cholesky(np.linalg.inv(shifts.T @ shifts)), shifts, metric, settings)


def farthest(shifts: FloatArray, covariance: FloatArray) -> float:
    """The largest v' P^-1 v. This times P is feasible for the bound 1."""
    return float(np.einsum("ni,in->n", shifts, np.linalg.solve(covariance, shifts.T)).max())


def _in_basis(basis: FloatArray, shifts: FloatArray, metric: FloatArray, settings: dict[str, Any]) -> FloatArray:
    """Points are basis' v, the longest of length 1, and the objective has coefficients up to 1."""
    points = shifts @ basis
    scale = np.linalg.norm(points, axis=1).max()
    back = scale * np.linalg.inv(basis)
    weight = back @ metric @ back.T
    covariance: FloatArray = back.T @ as_printed(points / scale, weight / np.abs(weight).max(), **settings) @ back
    return covariance


def _settings(changes: dict[str, Any]) -> Any:
    settings = clarabel.DefaultSettings()
    for name, value in {"verbose": False, **changes}.items():
        setattr(settings, name, value)
    return settings
