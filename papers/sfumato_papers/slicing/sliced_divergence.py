"""The slicing mechanism with its generator: noisy slices once, then the smoothed-sliced f-divergence made small."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from sfumato.errors import RequestError
from sfumato.trusted.budget import Budget
from sfumato_papers.baselines.interface import BOUNDS, Generated, Table, Tensor, claim
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.slicing.divergence import Gradient, divergence_called, loss
from sfumato_papers.slicing.mechanism import DIRECTIONS, NUMBER, Slicing
from sfumato_papers.slicing.ratio import Estimator, LeastSquares, MomentMatching
from sfumato_papers.slicing.training import Training, rows_from_slices

Fit = Literal["least squares", "moment matching"]
ESTIMATORS: dict[Fit, Estimator] = {"least squares": LeastSquares(), "moment matching": MomentMatching()}
FAULTS = (
    BOUNDS,
    (
        "The noise is that of our exact privacy profile. The bound that the authors prove was not at hand, and "
        "neither were their number of directions and their kernel: these are settings."
    ),
    DIRECTIONS,
    NUMBER,
    (
        "Noise is added to each record, so it does not shrink with the number of records: at small epsilons little "
        "more than means and covariances of the records can be learnt."
    ),
)


@dataclass(frozen=True)
class SlicedDivergence:
    """A generator whose noisy slices have the density of the released ones.

    slicing      the release
    divergence   a name of `DIVERGENCES`
    fit          how the ratio of densities is estimated
    gradient     of the first variation, or of the estimate literally, which loses modes
    training     of the generator

    Formal guarantees
        As claimed: (epsilon, delta) for one replaced record, by the exact profile of a clipped, sliced and noised row.
    """

    slicing: Slicing = field(default_factory=Slicing)
    divergence: str = "Jensen-Shannon"
    fit: Fit = "least squares"
    gradient: Gradient = "first variation"
    training: Training = field(default_factory=Training)
    rows: int | None = None

    name: ClassVar[str] = "Slicing (paper)"
    paper: ClassVar[str] = (
        "Privacy without noisy gradients: slicing mechanism for generative model training, arXiv 2410.19941, 2024"
    )
    accounting: ClassVar[str] = "One Gaussian mechanism on random slices of each record, by its exact curve."

    def __post_init__(self) -> None:
        divergence_called(self.divergence)
        for setting, allowed in (("fit", get_args(Fit)), ("gradient", get_args(Gradient))):
            if getattr(self, setting) not in allowed:
                raise RequestError(f"{setting} is {getattr(self, setting)!r}; it must be one of {', '.join(allowed)}")

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """Rows of the generator, labels included."""
        Budget(epsilon, delta)
        sigma = self.slicing.sigma(Layout.of(table).width, epsilon, delta)
        X, y = rows_from_slices(rng, table, self.slicing, sigma, self._loss, self.training, self.rows)
        return Generated(X, y, claim("the slicing mechanism", epsilon, delta, "one replaced record"), FAULTS)

    def _loss(self, made: Tensor, real: Tensor, scale: float) -> Tensor:
        return loss(divergence_called(self.divergence), ESTIMATORS[self.fit], self.gradient, made, real, scale)
