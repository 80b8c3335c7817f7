"""The paper's data, and the noise that the paper adds to its fit."""

import numpy as np
from sfumato_papers.liu import Fitted, NoisePlan, fit, optimise
from sfumato_papers.liu.neighbours import mean_shifts

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


def synthetic(seed: int, records: int = 1_000, classes: int = 5, dimensions: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Section V-A, drawn again until every class has two records more than dimensions. The paper does not say."""
    rng = np.random.default_rng(seed)
    y = np.zeros(records, dtype=np.int64)
    while np.bincount(y, minlength=classes).min() < dimensions + 2:
        y = rng.choice(classes, size=records, p=rng.dirichlet(np.ones(classes)))
    centres = rng.uniform(-10, 10, (classes, dimensions))
    shapes = rng.standard_normal((classes, dimensions + 1, dimensions))
    X = centres[y] + np.einsum("ni,nij->nj", rng.standard_normal((records, dimensions + 1)), shapes[y])
    return X, y


def planned(
    X: np.ndarray, y: np.ndarray, epsilon: float, reading: str, delta: float = DELTA
) -> tuple[Fitted, NoisePlan]:
    classes = int(y.max()) + 1
    fitted = fit(X, y, classes)
    return fitted, optimise(fitted, [mean_shifts(X, y, fitted, k, reading) for k in range(classes)], epsilon, delta)
