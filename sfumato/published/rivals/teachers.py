"""The teachers of PATE-GAN: many small networks, each of which tells its own part of the records from made-up rows.

They are trained side by side as one: weights have a first axis over teachers.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.published.rivals.interface import FloatArray, Tensor
from sfumato.published.rivals.networks import descend, device, tensor


@dataclass(frozen=True, eq=False)
class Teachers:
    """Parts of the records that have none in common, and a network with one hidden layer for each."""

    records: Tensor
    starts: FloatArray
    sizes: FloatArray
    weights: list[Tensor]
    optimizer: Any

    @classmethod
    def of(cls, rng: np.random.Generator, rows: FloatArray, count: int, hidden: int, rate: float) -> "Teachers":
        """So many teachers; records are dealt out at random, and parts differ in size by 1 at most.

        None has an opinion to begin with: votes about nothing would cost as much as others.
        """
        import torch

        bounds = np.floor(np.linspace(0, len(rows), count + 1))
        width = rows.shape[1]
        shapes = ((width, hidden), (1, hidden), (hidden, 1), (1, 1))
        weights = [
            (torch.randn(count, *shape, device=device()) * scale).requires_grad_()
            for shape, scale in zip(shapes, (math.sqrt(2 / width), 0.0, 0.0, 0.0), strict=True)
        ]
        optimizer = torch.optim.Adam(weights, lr=rate)
        return cls(tensor(rows)[rng.permutation(len(rows))], bounds[:-1], np.diff(bounds), weights, optimizer)

    @property
    def count(self) -> int:
        """Of the teachers."""
        return len(self.sizes)

    def opinions(self, rows: Tensor) -> Tensor:
        """A row of logits for each teacher, above 0 where it takes a row for a record. All rows, or each its own."""
        import torch

        first, first_bias, second, second_bias = self.weights
        inner = torch.nn.functional.leaky_relu(rows @ first + first_bias, 0.2)
        return (inner @ second + second_bias).squeeze(-1)

    def learn(self, rng: np.random.Generator, made: Tensor) -> None:
        """One step of each: as many of its own records as there are made-up rows, which are the same for all."""
        from torch.nn.functional import softplus

        uniform = rng.random((self.count, len(made)))
        own = (self.starts[:, None] + np.floor(uniform * self.sizes[:, None])).astype(np.int64)
        loss = softplus(-self.opinions(self.records[tensor(own)])).mean(1) + softplus(self.opinions(made)).mean(1)
        descend(self.optimizer, loss.sum())

    def votes(self, rows: Tensor) -> FloatArray:
        """How many teachers take each row for a record."""
        found: FloatArray = (self.opinions(rows) > 0).sum(0).cpu().numpy().astype(np.float64)
        return found
