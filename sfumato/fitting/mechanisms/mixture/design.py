"""Which bounded scores to ask for: the public design, a function of the dimension and of n mu^2 alone.

The weights of a map minimise the expected KL divergence, to second order, of one round whose whitening is perfect:
noise / x plus what the damping makes a class differ from a Gaussian by chance, x = n mu^2. The best weights for a grid
of x and every dimension are in `designs_1.json`, written by `python -m experiments.designs`. Better ones go into a file
with the next number, and the old file stays: bundles say which one they were made with.
"""

import json
import math
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaincinv, roots_genlaguerre

from sfumato.errors import BundleError
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps import Hampel, Lift, RadialWeight, Whitening

Kind = Literal["hampel", "lift"]


class Tuning(TuningConstants, group="mixture.design"):
    """See `sfumato.fitting.tuning`."""

    designs = 1  # the number of the file
    terms = 24  # of the sum of exponentials


MOST_COLUMNS = 32
LEVELS = 21  # of log x, in steps of 0.75
_STEP, _FIRST_LEVEL = 0.75, -2  # x from 0.2 to 7e5
_PLACES = 100  # of the quadrature


def level_of(x: float) -> int:
    """The place of x = n mu^2 on the grid of designs."""
    return int(np.clip(round(math.log(max(x, 1e-9)) / _STEP) - _FIRST_LEVEL, 0, LEVELS - 1))


def x_of(level: int) -> float:
    """The x that a level stands for."""
    return math.exp((level + _FIRST_LEVEL) * _STEP)


@cache
def _tables(number: int) -> dict[str, list[list[list[float]]]]:
    file = files("sfumato.fitting.mechanisms.mixture").joinpath(f"designs_{number}.json")
    if not file.is_file():
        raise BundleError(f"the release was made with designs number {number}, which this version does not have")
    text = file.read_text(encoding="utf-8")
    tables: dict[str, list[list[list[float]]]] = json.loads(text)
    return tables


def build_design(kind: Kind, whitening: Whitening, count: float, mu: float) -> Hampel | Lift:
    """The map for a class of about `count` records that is measured with mu."""
    d = len(whitening.centre)
    level = level_of(count * mu * mu)
    weights = tuple(_tables(Tuning.designs)[kind][d - 1][level])
    damping = fit_radial_weight(kind, d, weights, Tuning.terms)
    return Hampel(whitening, damping, *weights) if kind == "hampel" else Lift(whitening, damping, weights[0])


@cache
def fit_radial_weight(kind: Kind, d: int, weights: tuple[float, ...], terms: int) -> RadialWeight:
    """The sum of exponentials nearest to the hard clip, scaled so that it stays below the clip.

    Up to t = 3000 d: what lies beyond is clipped by the map itself.
    """
    far = 3000.0 * d
    t = np.concatenate([np.linspace(0, 8 * d, 500), np.geomspace(8 * d, far, 200)])
    rates = np.geomspace(0.5 / far, 18.0 / d, terms)
    clip, cap = _hard_clip(kind, d, weights, t)
    scale = np.maximum(1 / _bound(kind, d, weights, t), 0.3 / cap)  # errors count as they use up the norm
    rows = np.vstack([np.exp(-np.outer(t, rates)) * scale[:, None], 1e-4 * np.eye(terms)])
    coefficients = np.linalg.lstsq(rows, np.concatenate([clip * scale, np.zeros(terms)]), rcond=None)[0]
    fine = np.concatenate([np.linspace(0, 12 * d, 1500), np.geomspace(12 * d, far, 500)])
    strict = _bound(kind, d, weights, fine)
    top = (np.exp(-np.outer(fine, rates)) @ coefficients / strict).max()
    return RadialWeight.of(rates.tolist(), (coefficients / (top * (1 + 1e-4))).tolist(), d)


def _bound(kind: Kind, d: int, weights: tuple[float, ...], t: FloatArray) -> FloatArray:
    """The largest kappa(t) that keeps the norm at 1."""
    if kind == "lift":
        return 1 / (weights[0] ** 2 + t)
    w, a, b, e, c = weights
    nu = np.sqrt(a * a * t + b * b * t * t * (1 - 1 / d) + e * e * (t - c * d) ** 2 / d)
    bound: FloatArray = math.sqrt(1 - w * w) / np.maximum(nu, 1e-300)
    return bound


def _hard_clip(kind: Kind, d: int, weights: tuple[float, ...], t: FloatArray) -> tuple[FloatArray, float]:
    """min(cap, bound), the shape that the exponentials follow, and the cap."""
    cap = 1 / weights[1] if kind == "lift" else 1.0
    return np.minimum(cap, _bound(kind, d, weights, t)), cap


@cache
def chi2_nodes(d: int, count: int = 400) -> FloatArray:
    """Equally likely values of |z|^2 of a standard normal vector."""
    nodes: FloatArray = 2 * gammaincinv(d / 2, (np.arange(count) + 0.5) / count)
    return nodes


def lift_risk(h: float, reach: float, d: int, x: float) -> float:
    """n times the expected KL of one round of `Lift` with kappa = min(1/reach, 1/(h^2 + t))."""
    t, pairs = chi2_nodes(d), d * (d + 1) / 2
    k = np.minimum(1 / reach, 1 / (h * h + t))
    mean, off = math.sqrt(2) * h * np.mean(k * t) / d, np.mean(k * t * t) / (d * (d + 2))
    level = np.array([h * h * k, k * t / math.sqrt(d)])
    response = np.stack([level.mean(1), np.mean((level - level.mean(1, keepdims=True)) * t, 1) / 2], 1)
    inverse = np.linalg.pinv(response)
    spread = inverse @ inverse.T
    noise = 0.5 * d / mean**2 + 0.25 * (pairs - 1) / off**2 + 0.5 * spread[0, 0] + 0.25 * d * spread[1, 1]
    told = inverse @ level
    chance = 0.5 * d * np.mean((math.sqrt(2) * h * k / mean - 1) ** 2 * t) / d
    chance += 0.5 * (pairs - 1) * np.mean((k / off - 1) ** 2 * t * t) / (d * (d + 2))
    chance += 0.5 * np.mean((told[0] - 1) ** 2) + 0.25 * d * np.var(told[1] - (t / d - 1))
    return float(noise / x + chance)


def hampel_risk(weights: tuple[float, ...], d: int, x: float) -> float:
    """n times the expected KL of one round of `Hampel` with the hard clip."""
    w, a, b, e, c = weights
    t, pairs = chi2_nodes(d), d * (d + 1) / 2
    u = (t - c * d) / math.sqrt(d)
    k, _ = _hard_clip("hampel", d, weights, t)
    mean, off, ku = np.mean(k * t) / d, np.mean(k * t * t) / (d * (d + 2)), k * u
    level = np.mean((ku - ku.mean()) * t) / (2 * math.sqrt(d))
    noise = 0.5 * d / (a * mean) ** 2 + 0.25 * (pairs - 1) / (b * off) ** 2
    noise += 0.25 * (1 / e**2 + ku.mean() ** 2 / w**2) / level**2 + 0.5 / w**2
    chance = 0.5 * np.mean((k / mean - 1) ** 2 * t)
    chance += 0.5 * (pairs - 1) * np.mean((k / off - 1) ** 2 * t * t) / (d * (d + 2)) + 0.25 * np.var(ku / level - u)
    return float(noise / x + chance)


def design_risk(kind: Kind, d: int, x: float) -> float:
    """n times the expected KL of one round with the design that `build_design` takes for x = n mu^2."""
    weights = tuple(_tables(Tuning.designs)[kind][d - 1][level_of(x)])
    return hampel_risk(weights, d, x) if kind == "hampel" else lift_risk(weights[0], weights[1], d, x)


def best_weights(kind: Kind, d: int, level: int) -> list[float]:
    """The weights of least risk, by Nelder and Mead from a few starts."""
    x = x_of(level)
    if kind == "lift":
        starts = [np.log([1.1, d * share]) for share in (0.5, 1.0, 3.0)]
        found = _least(lambda p: lift_risk(math.exp(p[0]), math.exp(p[1]), d, x), starts)
        h, reach = np.exp(found)
        return [float(h), float(max(reach, h * h))]
    starts = [np.array([-1, *np.log([0.5 / math.sqrt(d) * s, 0.8 / d * s, 0.8 / d * s]), 1.0]) for s in (0.7, 2.0)]
    w, a, b, e, c = _hampel_weights(_least(lambda p: hampel_risk(_hampel_weights(p), d, x), starts))
    return [w, a, min(b, 10.0), e, c]


def _hampel_weights(p: FloatArray) -> tuple[float, ...]:
    return (1 / (1 + math.exp(-p[0])), *map(float, np.exp(p[1:4])), float(p[4]))


def _least(risk, starts) -> FloatArray:  # type: ignore[no-untyped-def]
    options = {"maxiter": 3000, "adaptive": True, "xatol": 1e-3, "fatol": 1e-6}
    found = [minimize(lambda p: math.log(risk(p)), start, method="Nelder-Mead", options=options) for start in starts]
    best: FloatArray = min(found, key=lambda one: one.fun).x
    return best


def residual(one: Hampel | Lift) -> tuple[float, float, float]:
    """The variance, for one record, by which an estimate without noise differs from the class's own moments.

    Because kappa is not constant. For a mean coordinate, a traceless covariance coordinate, and the trace direction, in
    units of the class's covariance.
    """
    d = one.dimension
    t, weights = _chi2_quadrature(d)
    k = np.exp(-np.outer(t, one.damping.rates)) @ np.array(one.damping.coefficients)

    def expected(values: FloatArray) -> FloatArray:
        return np.asarray(values @ weights)

    mean = expected((k * d / expected(k * t) - 1) ** 2 * t) / d
    off = 2 * expected((k * d * (d + 2) / expected(k * t * t) - 1) ** 2 * t * t) / (d * (d + 2))
    if isinstance(one, Hampel):
        u = (t - one.c * d) / math.sqrt(d)
        ku = k * u
        left = ku * (2 * math.sqrt(d)) / expected((ku - expected(ku)) * t) - u
        trace = expected((left - expected(left)) ** 2)
    else:
        level = np.array([one.h**2 * k, k * t / math.sqrt(d)])
        away = level - expected(level)[:, None]
        response = np.stack([expected(level), expected(away * t) / 2], 1)
        left = (np.linalg.pinv(response) @ level)[1] - (t / d - 1)
        trace = d * expected((left - expected(left)) ** 2)
    return float(mean), float(off), float(trace)


@cache
def _chi2_quadrature(d: int) -> tuple[FloatArray, FloatArray]:
    """Places and weights for expectations over |z|^2, tails included."""
    half, weights = roots_genlaguerre(_PLACES, d / 2 - 1)
    return 2 * half, weights / weights.sum()
