"""Kernel inducing points (algorithm 1) with the weighted loss (6)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato_papers.baselines.networks import device
from sfumato_papers.clustmix.kernel import tangent_kernel

_SPREAD = 1e-6  # so that a constant column can be divided by its deviation


def no_adaptation(
    rng: np.random.Generator,  # noqa: ARG001
    centres: FloatArray,
    labels: IntArray,  # noqa: ARG001
    X: FloatArray,  # noqa: N803, ARG001
    y: IntArray,  # noqa: ARG001
) -> FloatArray:
    """Centres stay."""
    return centres


@dataclass(frozen=True)
class KernelInducingPoints:
    """Centres moved by Adam so that kernel ridge regression on them is right about the records.

    Readings, where the paper is silent or of two minds: (6) as printed, so that alpha = 1 keeps the centres, though the
    text has it the other way round; the squared error as a mean, so that alpha means the same for any number of
    records; line 11, which compares centres with themselves, read as (6); lambda in units of the mean diagonal of the
    kernel; one kernel, and labels that stay, as 0 and 1 less their mean. So many steps stand for "until convergence",
    and each moves all centres, where algorithm 1 draws some of them.
    """

    alpha: float
    ridge: float = 1e-3
    steps: int = 60
    rate: float = 0.04
    batch: int = 500

    def __call__(
        self,
        rng: np.random.Generator,
        centres: FloatArray,
        labels: IntArray,
        X: FloatArray,  # noqa: N803
        y: IntArray,
    ) -> FloatArray:
        """See `Adapt`. Where all centres have one label there is nothing to learn, and they stay."""
        import torch

        if len(np.unique(labels)) < 2:
            return centres
        middle, spread = X.mean(axis=0), X.std(axis=0) + _SPREAD  # z-scores, of private records
        start, records = (torch.tensor((rows - middle) / spread, device=device()) for rows in (centres, X))
        classes = int(max(labels.max(), y.max())) + 1
        told, truth = (torch.tensor(np.eye(classes)[one] - 1 / classes, device=device()) for one in (labels, y))
        moved = start.clone().requires_grad_(True)
        optimiser = torch.optim.Adam([moved], lr=self.rate)
        for _ in range(self.steps):
            drawn = torch.tensor(rng.integers(len(X), size=min(self.batch, len(X))), device=device())
            off = ((moved - start) ** 2).sum() / (start**2).sum()
            loss = self.alpha * off + (1 - self.alpha) * self._error(moved, told, records[drawn], truth[drawn])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        adapted: FloatArray = moved.detach().cpu().numpy() * spread + middle
        return adapted

    def _error(self, support: Any, told: Any, records: Any, truth: Any) -> Any:
        """Half the mean squared error of kernel ridge regression, the second term of (6)."""
        import torch

        within = tangent_kernel(support, support)
        ridge = (
            self.ridge * within.diagonal().mean() * torch.eye(len(support), dtype=within.dtype, device=within.device)
        )
        fitted = tangent_kernel(records, support) @ torch.linalg.solve(within + ridge, told)
        return ((truth - fitted) ** 2).mean() / 2
