"""Many releases of one table at once."""

from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.fitting import Fitted
from sfumato_papers.liu.optimisation import NoisePlan


@dataclass(frozen=True, eq=False)
class Draws:
    """Releases, one in each row: counts that stand for the weights, means, covariances."""

    outcomes: AnyIntArray
    means: FloatArray
    covariances: FloatArray


def draws(rng: np.random.Generator, fitted: Fitted, plan: NoisePlan, count: int) -> Draws:
    """Steps 11 and 12 of algorithm 1, `count` times. For one it is `draw` to the same random numbers."""
    classes, d = fitted.means.shape
    outcomes = plan.outcomes[rng.choice(len(plan.outcomes), size=count, p=plan.probabilities)]
    normal = rng.standard_normal((classes, count, d))
    means = fitted.means + np.einsum("kij,krj->rki", np.linalg.cholesky(plan.mean_covariances), normal)
    rows = rng.standard_normal((classes, count, d + 1, d))
    noise = np.einsum("krai,kraj->rkij", rows, rows) / plan.gammas[:, None, None]
    return Draws(outcomes, means, fitted.covariances + noise)
