"""What the noise costs by theorem 1 of the paper. The theorem is wrong, see `faults`."""

import math

import numpy as np

from sfumato.trusted.arrays import AnyIntArray, FloatArray


def covariance_epsilons(gammas: FloatArray, counts: AnyIntArray) -> FloatArray:
    """3 gamma_k / 2 N_k, what lemma 2 charges for the covariance of each class."""
    return 3 * gammas / (2 * counts)


def largest_gammas(epsilons: FloatArray, counts: AnyIntArray) -> FloatArray:
    """The gamma_k that cost these epsilons: the bound in (21)."""
    return 2 * counts * epsilons / 3


def mean_bounds(epsilons: FloatArray, delta: float) -> FloatArray:
    """The largest v' Gamma_k v that (10) allows for a shift v of mu_k. Its log is the natural one."""
    return epsilons**2 / (2 * math.log(2 / delta))


def claimed_epsilon(map_epsilon: float, mean_epsilons: FloatArray, gammas: FloatArray, counts: AnyIntArray) -> float:
    """Theorem 1's epsilon (9): the dearest class, and the map."""
    return float(np.max(mean_epsilons + covariance_epsilons(gammas, counts))) + map_epsilon
