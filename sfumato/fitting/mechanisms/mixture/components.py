"""Components of records that nobody labelled, found in noisy counts of boxes. Post-processing."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sfumato.fitting.public_rng import PublicRng
from sfumato.fitting.tuning import TuningConstants
from sfumato.trusted.arrays import FloatArray


class Tuning(TuningConstants, group="mixture.components"):
    """See `sfumato.fitting.tuning`."""

    most_components = 10  # that are tried where no number is given
    price = 3.0  # of a parameter, in units of the misfit, of which chance alone explains 1
    patience = 3  # numbers that may be worse than the best before the search ends
    starts = 12
    finalists = 3
    short = 15
    long = 100
    rough = 0.2  # relative error of a box that the Gaussians are not blamed for
    clear = 3.0  # noise deviations from which a box counts as filled, and more where there are many boxes


class Component(NamedTuple):
    """A Gaussian on the axes of the boxes."""

    weight: float
    mean: FloatArray
    cov: FloatArray


class Filled(NamedTuple):
    """The boxes that hold something: where they are, how much, and the variance of a place inside a box."""

    centres: FloatArray
    mass: FloatArray
    inside: float


def find_components(
    centres: FloatArray,
    counts: FloatArray,
    noise: float,
    side: float,
    most: int | None,
    risk: Callable[[float], float],
    rng: PublicRng,
) -> list[Component]:
    """Gaussians that explain noisy counts of boxes: as many as the counts bear out and the budget can measure.

    `risk` is what it costs, in nats over all its records, to measure a component of so many records. The fit that the
    counts support best, by misfit and number of parameters, is taken for the truth q; of the fits q_k with at most as
    many components the one is chosen that loses least in all, n KL(q || q_k) + the risk of its components.
    """
    total, axes = max(float(counts.sum()), 1.0), centres.shape[1]
    tried: list[tuple[FloatArray, list[Component]]] = []
    best, supported = np.inf, 0
    for k in range(1, (most or Tuning.most_components) + 1):
        filled = _filled(centres, counts, noise, side, k)
        found = fit_components(filled, k, rng)[1]
        shares = _share_of_boxes(centres, found, filled.inside)
        tried.append((shares, found))
        variance = noise**2 + total * shares + (Tuning.rough * total * shares) ** 2
        misfit = float(((counts - total * shares) ** 2 / variance).sum())
        price = k * (1 + axes + axes * (axes + 1) / 2) * Tuning.price
        if misfit + price < best:
            best, supported = misfit + price, k
        if k == supported + Tuning.patience:
            break
    truth = tried[supported - 1][0]

    def loss(candidate: tuple[FloatArray, list[Component]]) -> float:
        shares, found = candidate
        lost = float(truth @ np.log(np.maximum(truth, 1e-300) / np.maximum(shares, 1e-300)))
        return total * lost + sum(risk(max(total * one.weight, 1.0)) for one in found)

    return min(tried[:supported], key=loss)[1]


def _filled(centres: FloatArray, counts: FloatArray, noise: float, side: float, number: int) -> Filled:
    """The boxes above the noise, at least as many as components are wanted."""
    clear = (
        max(Tuning.clear, np.sqrt(2 * np.log(len(counts)))) * noise
    )  # about what the largest of all empty boxes shows
    largest = np.sort(counts)[-min(number, len(counts)) :]
    on = counts >= min(clear, float(largest[0]))
    return Filled(centres[on], np.maximum(counts[on], 1e-6), side**2 / 12)


def fit_components(filled: Filled, number: int, rng: PublicRng) -> tuple[float, list[Component]]:
    """Expectation and maximisation from several starts, the likeliest ones to the end; the mean log-likelihood too."""
    short = [_maximised(filled, _start(filled, number, rng), Tuning.short) for _ in range(Tuning.starts)]
    likeliest = sorted(short, key=lambda one: -one[0])[: Tuning.finalists]
    return max((_maximised(filled, one, Tuning.long) for _, one in likeliest), key=lambda one: one[0])


def _start(filled: Filled, number: int, rng: PublicRng) -> list[Component]:
    """Centres drawn far from each other, with equal spread."""
    share = filled.mass / filled.mass.sum()
    chosen = [filled.centres[rng.choice(len(share), p=share)]]
    for _ in range(number - 1):
        far = share * np.min([((filled.centres - one) ** 2).sum(1) for one in chosen], axis=0)
        chance = far / far.sum() if far.sum() > 0 else share
        chosen.append(filled.centres[rng.choice(len(share), p=chance)])
    mean = share @ filled.centres
    spread = float(share @ ((filled.centres - mean) ** 2).mean(1)) / number + filled.inside
    return [Component(1 / number, one, spread * np.eye(len(one))) for one in chosen]


def log_fit(centres: FloatArray, components: list[Component]) -> FloatArray:
    """log of weight times density of every component (places x components)."""
    fit = np.empty((len(centres), len(components)))
    for k, (weight, mean, cov) in enumerate(components):
        factor = np.linalg.cholesky(cov)
        away = np.linalg.solve(factor, (centres - mean).T)
        log_det = np.log(np.diag(factor)).sum()
        fit[:, k] = np.log(weight) - 0.5 * (away**2).sum(0) - log_det - 0.5 * len(mean) * np.log(2 * np.pi)
    return fit


def _maximised(filled: Filled, components: list[Component], steps: int) -> tuple[float, list[Component]]:
    """Components after some steps, and their likelihood."""
    share, likelihood = filled.mass / filled.mass.sum(), -np.inf
    for _ in range(steps):
        fit = log_fit(filled.centres, components)
        top = fit.max(1, keepdims=True)
        log_total = top[:, 0] + np.log(np.exp(fit - top).sum(1))
        owned = np.exp(fit - log_total[:, None]) * share[:, None]
        components = [_moments(filled, mine) for mine in owned.T]
        now = float(share @ log_total)
        if now - likelihood < 1e-6:
            break
        likelihood = now
    return likelihood, components


def _moments(filled: Filled, owned: FloatArray) -> Component:
    weight = max(float(owned.sum()), 1e-9)
    mean = owned @ filled.centres / weight
    away = filled.centres - mean
    cov = (owned[:, None] * away).T @ away / weight + filled.inside * np.eye(len(mean))
    return Component(weight, mean, cov)


def _share_of_boxes(centres: FloatArray, components: list[Component], inside: float) -> FloatArray:
    """The share of the records in every box."""
    wide = [Component(weight, mean, cov + inside * np.eye(len(mean))) for weight, mean, cov in components]
    density = np.exp(log_fit(centres, wide)).sum(1)
    shares: FloatArray = density / max(float(density.sum()), 1e-300)
    return shares
