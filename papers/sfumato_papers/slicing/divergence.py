"""f-divergences of sliced and smoothed distributions, each by three formulas.

In each slice p is the density of the records and q that of the generator, both with the same Gaussian noise, and

    D_f(p, q) = E_q f(r),   r = p / q,   f convex with f(1) = 0.

To move q, one needs the first variation of D_f by q, which is the function f(r) - r f'(r) of the place: where it is
low, q should have more mass. All formulas take tensors of torch and are good for r above 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sfumato.errors import RequestError
from sfumato_papers.baselines.interface import Tensor
from sfumato_papers.slicing.ratio import Estimator

Formula = Callable[[Tensor], Tensor]
Gradient = Literal["first variation", "literal"]
LEAST_RATIO = 1e-3
"""Estimated ratios below this count as this: an estimate can be negative, a ratio cannot."""
CORNER = 0.1
"""How far around r = 1 the corner of the total variation is rounded."""


@dataclass(frozen=True)
class Divergence:
    """`f`, its `slope` f', and the first `variation` f - r f'."""

    name: str
    f: Formula
    slope: Formula
    variation: Formula


def kl(r: Tensor) -> Tensor:
    """Of the generator from the records: E_p log r."""
    return r * r.log() - r + 1


def kl_slope(r: Tensor) -> Tensor:
    """log r."""
    return r.log()


def kl_variation(r: Tensor) -> Tensor:
    """1 - r: linear, so it follows errors of a large ratio."""
    return 1 - r


def reverse_kl(r: Tensor) -> Tensor:
    """Of the records from the generator: -E_q log r."""
    return r - 1 - r.log()


def reverse_kl_slope(r: Tensor) -> Tensor:
    """1 - 1 / r."""
    return 1 - 1 / r


def reverse_kl_variation(r: Tensor) -> Tensor:
    """-log r: steep where records are few."""
    return -r.log()


def jensen_shannon(r: Tensor) -> Tensor:
    """Half of both divergences from the mean of p and q; never above log 2."""
    return (r * r.log() - (1 + r) * ((1 + r) / 2).log()) / 2


def jensen_shannon_slope(r: Tensor) -> Tensor:
    """Half of log 2r / (1 + r)."""
    return (2 * r / (1 + r)).log() / 2


def jensen_shannon_variation(r: Tensor) -> Tensor:
    """Half of log 2 / (1 + r)."""
    return (math.log(2) - r.log1p()) / 2


def chi_squared(r: Tensor) -> Tensor:
    """Pearson's: E_q (r - 1)^2."""
    return (r - 1) ** 2


def chi_squared_slope(r: Tensor) -> Tensor:
    """2 (r - 1)."""
    return 2 * (r - 1)


def chi_squared_variation(r: Tensor) -> Tensor:
    """1 - r^2."""
    return 1 - r**2


def total_variation(r: Tensor) -> Tensor:
    """Half of |r - 1| with its corner rounded: (sqrt((r - 1)^2 + c^2) - c) / 2, below the true one by c / 2 at most."""
    return (_rounded(r) - CORNER) / 2


def total_variation_slope(r: Tensor) -> Tensor:
    """From -1/2 to 1/2, through 0 at r = 1."""
    return (r - 1) / (2 * _rounded(r))


def total_variation_variation(r: Tensor) -> Tensor:
    """f - r f', put together: (c^2 + 1 - r) / (2 sqrt((r - 1)^2 + c^2)) - c / 2."""
    return (CORNER**2 + 1 - r) / (2 * _rounded(r)) - CORNER / 2


def _rounded(r: Tensor) -> Tensor:
    return ((r - 1) ** 2 + CORNER**2).sqrt()


DIVERGENCES: dict[str, Divergence] = {
    each.name: each
    for each in (
        Divergence("KL", kl, kl_slope, kl_variation),
        Divergence("reverse KL", reverse_kl, reverse_kl_slope, reverse_kl_variation),
        Divergence("Jensen-Shannon", jensen_shannon, jensen_shannon_slope, jensen_shannon_variation),
        Divergence("chi-squared", chi_squared, chi_squared_slope, chi_squared_variation),
        Divergence("total variation", total_variation, total_variation_slope, total_variation_variation),
    )
}


def estimate(divergence: Divergence, estimator: Estimator, made: Tensor, real: Tensor, scale: float) -> Tensor:
    """The mean over slices of E_q f(r), both estimated. `made` and `real` are noisy, slices x points.

    Its gradient by `made` goes through the ratio: see `loss`.
    """
    return divergence.f(estimator.at_made(made, real, scale).clamp(min=LEAST_RATIO)).mean()


def loss(
    divergence: Divergence, estimator: Estimator, gradient: Gradient, made: Tensor, real: Tensor, scale: float
) -> Tensor:
    """What a generator should make small.

    "literal" is `estimate` itself. It is a mean over made points alone: where none are made, nothing calls for them.
    With moment matching and little noise, one to three of eight clusters are left; least squares, or noise twice as
    wide as the clusters, kept all. "first variation" fits the ratio, holds it fixed as a function of the place and
    moves points to where the variation is low: the gradient of the divergence itself, if the ratio is right. Only its
    gradient has a meaning, its value has none.
    """
    if gradient == "literal":
        return estimate(divergence, estimator, made, real, scale)
    ratio = estimator.ratio(made.detach(), real, scale)
    return divergence.variation(ratio(made).clamp(min=LEAST_RATIO)).mean()


def divergence_called(name: str) -> Divergence:
    """The divergence of this name."""
    if name not in DIVERGENCES:
        raise RequestError(f"divergence is {name!r}; it must be one of {', '.join(DIVERGENCES)}")
    return DIVERGENCES[name]
