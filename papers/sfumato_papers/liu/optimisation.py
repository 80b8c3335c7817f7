"""Algorithm 1, steps 2 to 10: how much noise each part of the fit gets, by turns."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sfumato.trusted.arrays import AnyIntArray, FloatArray
from sfumato_papers.liu.budget import claimed_epsilon, covariance_epsilons, largest_gammas, mean_bounds
from sfumato_papers.liu.design import optimal_design
from sfumato_papers.liu.fitting import Fitted
from sfumato_papers.liu.frequencies import frequency_map
from sfumato_papers.liu.neighbours import neighbouring_counts
from sfumato_papers.liu.objective import objective

_ROUNDS = 20  # I of the paper, which gives no number
_SETTLED = 1e-3  # step 9


@dataclass(frozen=True, eq=False)
class NoisePlan:
    """What (P2) decides.

    map_epsilon        epsilon_0
    mean_epsilons      epsilon_k
    gammas             gamma_k
    mean_covariances   Gamma_k^-1
    outcomes           counts that the weights may be released as: the true ones, then those of every neighbour
    probabilities      of the outcomes
    objectives         (20a) after each round
    """

    map_epsilon: float
    mean_epsilons: FloatArray
    gammas: FloatArray
    mean_covariances: FloatArray
    outcomes: AnyIntArray
    probabilities: FloatArray
    objectives: tuple[float, ...]


def optimise(fitted: Fitted, shifts: Iterable[FloatArray], epsilon: float, delta: float) -> NoisePlan:
    """The noise for a fit whose mean k can move by the k-th of `shifts`.

    The budget never moves. After (23) every class uses up what epsilon_0 leaves, so that (25) gives back the epsilon_0
    that it was given: a third of epsilon, in two rounds.
    """
    counts, outcomes = fitted.counts, neighbouring_counts(fitted.counts)
    precisions = fitted.precisions
    unit = np.array([optimal_design(v, A).covariance for v, A in zip(shifts, precisions, strict=True)])
    map_epsilon = epsilon / 3  # step 2
    mean_epsilons: FloatArray = np.full(len(counts), epsilon / 3)
    objectives: list[float] = []
    for _ in range(_ROUNDS):
        left: FloatArray = epsilon - map_epsilon - mean_epsilons
        gammas = _gammas(precisions, largest_gammas(left, counts))
        mean_epsilons = epsilon - map_epsilon - covariance_epsilons(gammas, counts)  # (23): more is always better
        mean_covariances = unit / mean_bounds(mean_epsilons, delta)[:, None, None]
        map_epsilon = epsilon - claimed_epsilon(0.0, mean_epsilons, gammas, counts)  # (25)
        g = objective(fitted, gammas, mean_covariances, outcomes)
        F = frequency_map(g, map_epsilon)
        objectives.append(float(F.true @ g))
        if len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) <= _SETTLED:
            break
    return NoisePlan(
        map_epsilon,
        mean_epsilons,
        gammas,
        mean_covariances,
        outcomes,
        F.probabilities,
        tuple(objectives),
    )


def _gammas(precisions: FloatArray, largest: FloatArray) -> FloatArray:
    """(22): the least of  d ln gamma + (d + 1) tr(Sigma^-1) / gamma  up to the bound.

    (21) prints d gamma for d ln gamma. The KL itself only falls as gamma grows; this stops where the noise is as large
    as the covariance.
    """
    d = precisions.shape[1]
    gammas: FloatArray = np.minimum((d + 1) / d * np.trace(precisions, axis1=1, axis2=2), largest)
    return gammas
