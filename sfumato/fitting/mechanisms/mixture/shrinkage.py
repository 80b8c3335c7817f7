"""Estimates pulled towards nothing as far as their noise says."""

from collections.abc import Callable

import numpy as np

from sfumato.trusted.arrays import FloatArray

Shrink = Callable[[FloatArray, float], FloatArray]


def shrink_vector(values: FloatArray, variance: float) -> FloatArray:
    """James and Stein's estimate, positive part; `variance` is the noise of each coordinate."""
    factor = max(0.0, 1 - len(values) * variance / max(float(values @ values), 1e-300))
    return factor * values


def shrink_matrix(matrix: FloatArray, variance: float) -> FloatArray:
    """A symmetric matrix whose `svec` has noise `variance` in each coordinate.

    Heavy tails show on the diagonal, which are the columns, or in few directions. So the diagonal is shrunk by itself,
    and the rest by the better of James and Stein's factor and the spectral rule, the optimum for few directions in
    symmetric noise: lambda -> sqrt(lambda^2 - 2 d variance).
    """
    d, diagonal = len(matrix), np.diag(matrix)
    off = matrix - np.diag(diagonal)
    if d > 1:
        size = max(float((off * off).sum()), 1e-300)
        plain = max(0.0, 1 - d * (d - 1) / 2 * variance / size) * off
        values, vectors = np.linalg.eigh(off)
        kept = np.sign(values) * np.sqrt(np.maximum(values**2 - 2 * d * variance, 0))
        spectral = (vectors * kept) @ vectors.T
        off = spectral if (spectral * off).sum() > (plain * off).sum() else plain
    shrunk: FloatArray = off + np.diag(shrink_vector(diagonal, variance))
    return shrunk


def towards(move: FloatArray, before: float, now: float, shrink: Shrink) -> tuple[FloatArray, float, float]:
    """How far to follow a new estimate that lies `move` from the old one.

    With equal targets the weights are the precisions; what the move shows beyond both noises counts as an error of the
    old one. Also the variance of the result and its gain.
    """
    base = before / (before + now)
    followed = base * move + (1 - base) * shrink(move, before + now)
    gain = float((move * followed).sum() / max(float((move * move).sum()), 1e-300))
    return followed, (1 - gain) ** 2 * before + gain**2 * now, gain


def filter_noise(
    observed: FloatArray, variances: FloatArray, weights: FloatArray, shrink: Shrink
) -> tuple[FloatArray, float]:
    """Shells from the inside out, each followed from the one before as far as noise allows.

    Also the noise of their weighted sum, for each coordinate.
    """
    value, variance = observed[0].copy(), float(variances[0])
    values, gains = [value], [1.0]
    for seen, noise in zip(observed[1:], variances[1:], strict=True):
        move, variance, gain = towards(seen - value, variance, float(noise), shrink)
        value = value + move
        values.append(value)
        gains.append(gain)
    # observation i enters value j > i by its gain times what every step between leaves of it
    reach = np.zeros(len(gains))
    for i, gain in enumerate(gains):
        left = gain * np.cumprod([1.0, *(1 - later for later in gains[i + 1 :])])
        reach[i] = left @ weights[i:]
    return np.array(values), float((reach**2) @ variances)
