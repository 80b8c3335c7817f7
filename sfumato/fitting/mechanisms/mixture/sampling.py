"""Draws from a posterior that is known up to a constant, beginning from its normal approximation.

With few parameters by importance sampling, whose proposal is fitted anew to the weighted draws until enough of them
count (Cappé et al. 2004); with many, or where that fails, by chains.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sfumato.fitting.public_rng import PublicRng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray

Surprise = Callable[[FloatArray], FloatArray]  # minus the log density of each row, up to a constant


class Tuning(TuningConstants, group="mixture.sampling"):
    """See `sfumato.fitting.tuning`."""

    few_parameters = 40  # up to here importance sampling serves
    rounds = 4
    enough = 0.3  # share of the draws that counts, from which on no better proposal is looked for
    least = 0.05  # share below which chains take over
    tempered = 0.1  # share that must count when a proposal is fitted, else the weights are evened out
    freedom = 8.0  # degrees of the t distribution that draws come from
    wider = 1.2  # than what they are fitted to
    chains = 16
    kept = 3  # every third state, after a third of the steps
    boldness = 0.35  # of a chain's first steps
    accepted = 0.3  # share of the steps that the boldness is tuned to


class Weighted(NamedTuple):
    """Draws, one in each row, and their weights, which add up to 1."""

    weights: FloatArray
    theta: FloatArray


def draw(surprise: Surprise, covariance: FloatArray, rng: PublicRng, size: int) -> Weighted:
    """About `size` draws. The density's normal approximation has mean 0 and this covariance."""
    middle, factor = np.zeros(len(covariance)), _root(covariance)
    if len(covariance) <= Tuning.few_parameters:
        for _ in range(Tuning.rounds):
            theta, proposal = _student(middle, Tuning.wider * factor, rng, size)
            log_weights = proposal - surprise(theta)
            weights = _normalised(log_weights)
            if _effective(weights) > Tuning.enough * size:
                break
            even = _tempered(log_weights, max(Tuning.tempered * size, 2.5 * len(middle)))
            middle = even @ theta
            factor = _root((even[:, None] * (theta - middle)).T @ (theta - middle))
        if _effective(weights) > Tuning.least * size:
            return Weighted(weights, theta)
    return _chains(surprise, middle, factor, rng, size)


def _root(covariance: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.cholesky(covariance + 1e-12 * np.eye(len(covariance))), dtype=np.float64)


def _student(middle: FloatArray, factor: FloatArray, rng: PublicRng, size: int) -> tuple[FloatArray, FloatArray]:
    """Draws of a multivariate t, and minus its log density at each up to a constant."""
    parameters = len(middle)
    normal = rng.standard_normal((size, parameters))
    stretch = rng.chisquare(Tuning.freedom, size) / Tuning.freedom
    distance = (normal**2).sum(1) / stretch
    theta = middle + (normal / np.sqrt(stretch)[:, None]) @ factor.T
    return theta, 0.5 * (Tuning.freedom + parameters) * np.log1p(distance / Tuning.freedom)


def _normalised(log_weights: FloatArray) -> FloatArray:
    weights = np.exp(log_weights - log_weights.max())
    normalised: FloatArray = weights / weights.sum()
    return normalised


def _effective(weights: FloatArray) -> float:
    """How many equal weights have the same variance."""
    return float(1 / (weights**2).sum())


def _tempered(log_weights: FloatArray, least: float) -> FloatArray:
    """The weights raised to the largest power up to 1 that leaves `least` effective draws."""
    power, step = 1.0, 0.5
    for _ in range(30):
        enough = _effective(_normalised(power * log_weights)) >= least
        if enough and power == 1.0:
            break
        power += step if enough else -step
        step /= 2
    return _normalised(power * log_weights)


def _chains(surprise: Surprise, middle: FloatArray, factor: FloatArray, rng: PublicRng, size: int) -> Weighted:
    """Preconditioned Crank and Nicolson's chains; their boldness is tuned while they forget where they began."""
    shape = (Tuning.chains, len(middle))
    steps = -(-3 * Tuning.kept * size // (2 * Tuning.chains))

    def excess(normal: FloatArray) -> FloatArray:
        """Surprise beyond that of the normal approximation, which the steps leave as it is."""
        beyond: FloatArray = surprise(middle + normal @ factor.T) - 0.5 * (normal**2).sum(1)
        return beyond

    state, beta, kept = rng.standard_normal(shape), Tuning.boldness, []
    level = excess(state)
    for step in range(steps):
        proposed = np.sqrt(1 - beta**2) * state + beta * rng.standard_normal(shape)
        proposed_level = excess(proposed)
        accepted = np.log(rng.random(Tuning.chains)) < level - proposed_level
        state[accepted], level[accepted] = proposed[accepted], proposed_level[accepted]
        if step < steps // 3:
            beta = float(np.clip(beta * np.exp(0.15 * (accepted.mean() - Tuning.accepted)), 0.02, 0.7))
        elif step % Tuning.kept == 0:
            kept.append(middle + state @ factor.T)
    theta = np.concatenate(kept)
    return Weighted(np.full(len(theta), 1 / len(theta)), theta)
