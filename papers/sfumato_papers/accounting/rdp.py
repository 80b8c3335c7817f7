"""Rényi differential privacy of a release of slices.

Given U the divergence of order alpha between two Gaussians is alpha mu^2 / 2, mu^2 = Delta^2 T / sigma^2. U itself is
shown, so the order stays outside of the logarithm and the mean over U inside of it:

    D_alpha = log E[exp(c T)] / (alpha - 1),    c = alpha (alpha - 1) Delta^2 / (2 sigma^2),
    E[exp(c T)] = 1F1(k/2; d/2; c)^b            for b blocks of k directions (Kummer's function: the Beta's moments).

The mean over U of the divergences would be smaller, alpha E[T] Delta^2 / (2 sigma^2), and is no bound at all.
"""

import math

import numpy as np
from scipy import optimize
from scipy.special import gammaln, logsumexp

from sfumato.errors import BudgetError, RequestError
from sfumato.trusted.random_directions import Directions, OrthonormalFrame, check_clip, require_fresh

_ORDERS_LESS_ONE = np.geomspace(1e-2, 1e3, 24)  # where the best order is first looked for
_MOST = 2e5  # of c: beyond it the series is long and the bound is useless


def log_kummer(a: float, b: float, c: float) -> float:
    """log 1F1(a; b; c) for 0 < a <= b and c >= 0.

    All terms are positive, and each is at most c / j times the one before: after c + 20 sqrt(c) + 200 of them less than
    e^-150 of the sum is left.
    """
    if c == 0:
        return 0.0
    j = np.arange(int(c + 20 * math.sqrt(c) + 200) + 1, dtype=float)
    terms = gammaln(a + j) - gammaln(a) - gammaln(b + j) + gammaln(b) + j * math.log(c) - gammaln(j + 1)
    return float(logsumexp(terms))


def log_moment(frame: OrthonormalFrame, c: float, clip: float | None = None) -> float:
    """log E[exp(c T)]; with a clip an upper bound, the smaller one of that and of c clip."""
    if not 0 <= c < math.inf:
        raise RequestError(f"c is {c!r}; it must be a number, 0 or more")
    free = c if frame.is_whole else frame.blocks * log_kummer(frame.block / 2, frame.dimension / 2, c)
    return free if clip is None else min(free, c * check_clip(clip))


def renyi(
    frame: OrthonormalFrame,
    order: float,
    sigma: float,
    clip: float | None = None,
    directions: Directions = Directions.FRESH,
) -> float:
    """D_alpha, exact without a clip, at noise `sigma` in units of the sensitivity."""
    require_fresh(directions, frame, clip)
    if not 1 < order < math.inf:
        raise RequestError(f"order is {order!r}; it must be a number above 1")
    if not 0 < sigma < math.inf:
        raise RequestError(f"sigma is {sigma!r}; it must be a number above 0")
    return log_moment(frame, order * (order - 1) / (2 * sigma**2), clip) / (order - 1)


def epsilon_by_renyi(frame: OrthonormalFrame, sigma: float, delta: float, clip: float | None = None) -> float:
    """The epsilon that the curve gives at this delta (Canonne, Kamath and Steinke, arXiv 2004.00010, proposition 12).

    epsilon = D_alpha + log(1 - 1/alpha) - log(delta alpha) / (alpha - 1). It holds for every order; the best one is
    looked for on a grid, and then between its neighbours.
    """
    if not 0 < delta < 1:
        raise BudgetError(f"delta is {delta}; it must lie between 0 and 1")

    def by_order(log_less_one: float) -> float:
        order = 1 + math.exp(log_less_one)
        gain = math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
        return renyi(frame, order, sigma, clip) + gain

    moments = _ORDERS_LESS_ONE * (1 + _ORDERS_LESS_ONE) / (2 * sigma**2)
    logs = np.log(_ORDERS_LESS_ONE[moments <= _MOST])
    if logs.size < 3:
        return math.inf
    best = int(np.clip(np.argmin([by_order(log) for log in logs]), 1, logs.size - 2))
    between = (logs[best - 1], logs[best + 1])
    found = optimize.minimize_scalar(by_order, bounds=between, method="bounded", options={"xatol": 1e-4})
    return max(0.0, float(found.fun))


def sigma_by_renyi(frame: OrthonormalFrame, epsilon: float, delta: float, clip: float | None = None) -> float:
    """The least noise, in units of the sensitivity, for which the curve gives (epsilon, delta)."""
    if not 0 < epsilon < math.inf:
        raise BudgetError(f"epsilon is {epsilon}; it must be a number above 0, say 1")

    def excess(log_sigma: float) -> float:
        return min(epsilon_by_renyi(frame, math.exp(log_sigma), delta, clip), 1e6) - epsilon

    high = 0.0
    while excess(high) > 0:
        high += 1.0
    low = high - 1.0
    while excess(low) <= 0:
        low -= 1.0
    sigma = math.exp(optimize.brentq(excess, low, high, xtol=1e-9))
    while epsilon_by_renyi(frame, sigma, delta, clip) > epsilon:
        sigma *= 1 + 1e-8
    return sigma
