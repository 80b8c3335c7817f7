"""SliceWass, the baseline of the paper on slicing: the sliced Wasserstein distance to the same noisy slices.

Rakotomamonjy and Ralaivola draw new directions, and new noise, at each step of training. They bound the length of a
sliced record by a Bernstein inequality that fails with probability delta / 2, and they charge this event once for all
steps, where a union bound over the steps would be needed. Here slices are released once and trained on, so one event is
all that there is, and the claim of their noise holds.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from sfumato.errors import RequestError
from sfumato.trusted.budget import Budget
from sfumato_papers.baselines.interface import BOUNDS, Generated, Table, Tensor, claim
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.slicing.bounds import bernstein
from sfumato_papers.slicing.mechanism import DIRECTIONS, NUMBER, Slicing
from sfumato_papers.slicing.training import Training, rows_from_slices

Noise = Literal["published", "exact"]
ONCE = (
    "The authors draw directions anew at each step and charge the tail event of their bound once for all of them. Here "
    "slices are released once."
)
SLACK = "The bound of the authors does not get smaller as records get wider, so there is far more noise than is needed."
OURS = "The noise is that of our exact privacy profile, and not that of the authors."


@dataclass(frozen=True)
class SliceWass:
    """A generator whose noisy slices are near to the released ones, point by point in their order.

    noise      by the theorem of the authors (their program adds a little more), or by the exact profile
    slicing    the release; the authors draw independent directions
    training   of the generator

    Formal guarantees
        As claimed: (epsilon, delta) for one replaced record.
    """

    noise: Noise = "published"
    slicing: Slicing = field(default_factory=lambda: Slicing(frame="independent"))
    training: Training = field(default_factory=Training)
    rows: int | None = None

    paper: ClassVar[str] = (
        "Rakotomamonjy and Ralaivola, Differentially private sliced Wasserstein distance, arXiv 2107.01848, 2021"
    )

    def __post_init__(self) -> None:
        if self.noise not in get_args(Noise):
            raise RequestError(f"noise is {self.noise!r}; it must be one of {', '.join(get_args(Noise))}")

    @property
    def name(self) -> str:
        """Two names, for the two ways to find the noise."""
        return "SliceWass" if self.noise == "published" else "SliceWass, exact noise"

    @property
    def accounting(self) -> str:
        """How its privacy is counted, in one sentence."""
        if self.noise == "published":
            return "One Gaussian mechanism on random slices, by a Bernstein bound that fails with half of delta."
        return "One Gaussian mechanism on random slices of each record, by its exact curve."

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """Rows of the generator, labels included."""
        Budget(epsilon, delta)
        sigma = self.sigma(Layout.of(table).width, epsilon, delta)
        X, y = rows_from_slices(rng, table, self.slicing, sigma, sliced_wasserstein, self.training, self.rows)
        faults = (BOUNDS, ONCE, SLACK if self.noise == "published" else OURS, DIRECTIONS, NUMBER)
        return Generated(X, y, claim(self.name, epsilon, delta, "one replaced record"), faults)

    def sigma(self, width: int, epsilon: float, delta: float) -> float:
        """The noise on slices of rows of this width."""
        if self.noise == "exact":
            return self.slicing.sigma(width, epsilon, delta)
        return self.slicing.sensitivity * bernstein(width, self.slicing.count(width), epsilon, delta)


def sliced_wasserstein(made: Tensor, real: Tensor, scale: float) -> Tensor:
    """The square of the distance of order 2, a mean over slices, in units of their spread."""
    return ((made.sort(dim=1).values - real.sort(dim=1).values) ** 2).mean() / scale**2
