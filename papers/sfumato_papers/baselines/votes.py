"""What noisy votes of teachers cost, by the data-dependent moments accountant that PATE-GAN takes over from PATE.

Each of two counts of votes gets Laplace noise of scale 1 / lambda. One replaced record can change one teacher's mind,
and so take 1 from a count and add it to the other.
"""

import numpy as np

from sfumato.trusted.arrays import FloatArray

ORDERS: FloatArray = np.arange(1.0, 101.0)
"""The moments that are kept."""


def moments(gaps: FloatArray, lam: float) -> FloatArray:
    """By how much votes with these gaps between the counts raise each moment.

    A vote never costs more than  2 lambda^2 l (l + 1). Where the teachers agree the noisy vote goes against them with
    probability q or less, and it costs less than that: theorem 3 of Papernot et al. (2017), for a q below
    (exp(2 lambda) - 1) / (exp(4 lambda) - 1).
    """
    log_q = log_against(gaps, lam)[:, None]
    always: FloatArray = 2 * lam**2 * ORDERS * (ORDERS + 1)
    valid = log_q + np.log1p(np.exp(2 * lam)) < 0
    q = np.where(valid, np.exp(log_q), 0)  # 0 where it is not used
    kept = np.log1p(-q) + ORDERS * (np.log1p(-q) - np.log1p(-np.exp(2 * lam) * q))
    agreed = np.logaddexp(kept, log_q + 2 * lam * ORDERS)
    costs: FloatArray = np.where(valid, np.minimum(always, agreed), always).sum(axis=0)
    return costs


def log_against(gaps: FloatArray, lam: float) -> FloatArray:
    """ln q, with  q = (2 + lambda g) / (4 exp(lambda g)) for a gap g: at most how likely the noise turns a vote."""
    away = lam * np.asarray(gaps, dtype=np.float64)
    log_q: FloatArray = np.log(2 + away) - np.log(4) - away
    return log_q


def spent(moment: FloatArray, delta: float) -> float:
    """Epsilon after votes that raised the moments so far."""
    return float(((moment - np.log(delta)) / ORDERS).min())


def affordable(votes: int, epsilon: float, delta: float) -> float:
    """The largest lambda at which so many votes stay within epsilon whatever they are; 0 if there is none."""
    squares = (epsilon * ORDERS + np.log(delta)) / (2 * votes * ORDERS * (ORDERS + 1))
    return float(np.sqrt(max(squares.max(), 0) * (1 - 1e-9)))
