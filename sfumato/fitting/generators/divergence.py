"""Divergences between what was measured and what a generator makes of it, cell by cell.

    p   the measured share of a cell, which noise may have made negative
    q   the share that the generator gives it
    v   the variance of p: of noise, and of sampling where it was added
    n   the noisy number of records

Among n records the variance v is that of a cell with the share n v. Both shares are raised by it, which smooths their
ratio as noise smooths p, and keeps it above zero:

    P = max(p, 0) + n v,   Q = P + q - p,   t = Q / P.

An f-divergence of P and Q is a sum of P g(t) with g convex and g(1) = g'(1) = 0. Each is scaled to g''(1) = 1 and each
cell counts as much as the noise allows, (P^2 / v) g(t): so near the measured shares all of them are the same,
(q - p)^2 / 2 v, and they differ in what they make of cells that are far off.
"""

from collections.abc import Callable

from sfumato.errors import RequestError
from sfumato.fitting.generators.columnwise import Tensor
from sfumato.fitting.tuning import TuningConstants

CHI_SQUARED = "chi-squared"
_LEAST = 1e-12  # precision of what was not measured: any will do, as it counts for nothing


class Tuning(TuningConstants, group="generators.divergence"):
    """See `sfumato.fitting.tuning`."""

    corner = 0.1  # how far around t = 1 the corner of the total variation is rounded


def kl(t: Tensor) -> Tensor:
    """Of the generator from the records: the likelihood of the records."""
    return t - 1 - t.log()


def reverse_kl(t: Tensor) -> Tensor:
    """Of the records from the generator."""
    return t * t.log() - t + 1


def jensen_shannon(t: Tensor) -> Tensor:
    """Of both from their mean; it grows no faster than t."""
    return 2 * (t * t.log() - (1 + t) * ((1 + t) / 2).log())


def total_variation(t: Tensor) -> Tensor:
    """|t - 1| with its corner rounded: one cell far off counts little more than one not so far."""
    return Tuning.corner * (((t - 1) ** 2 + Tuning.corner**2).sqrt() - Tuning.corner)


_OF_RATIO: dict[str, Callable[[Tensor], Tensor]] = {
    "kl": kl,
    "reverse-kl": reverse_kl,
    "jensen-shannon": jensen_shannon,
    "total-variation": total_variation,
}
DIVERGENCES = (CHI_SQUARED, *_OF_RATIO)
"""All names: Neyman's chi-squared, (q - p)^2 / 2 v itself, and four others of the same family."""
Cost = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From what is off (q - p), p, and one over v, which is 0 where nothing was measured, to the sum over cells."""


def cost_of(divergence: str, size: float) -> Cost:
    """What is to be made small, of a table with so many records."""
    if divergence not in DIVERGENCES:
        raise RequestError(f"divergence is {divergence!r}; use one of {', '.join(DIVERGENCES)}")
    if divergence == CHI_SQUARED:
        return lambda off, measured, precision: 0.5 * (precision * off**2).sum()  # noqa: ARG005
    of_ratio = _OF_RATIO[divergence]

    def cost(off: Tensor, measured: Tensor, precision: Tensor) -> Tensor:
        sure = precision.double()  # what is left of t near 1 has few digits
        raised = measured.double().clamp_min(0) + size / sure.clamp_min(_LEAST)
        return (sure * raised**2 * of_ratio(1 + off.double() / raised)).sum().float()

    return cost
