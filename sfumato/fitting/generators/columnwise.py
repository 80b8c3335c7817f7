"""Column by column over the groups of all columns: softmax, and the mean and variance of a sum over columns."""

from typing import Any

from sfumato.fitting.generators.evidence import Layout

Tensor = Any
"""Of torch, which is loaded only where a generator is trained."""


class Columnwise:
    """The groups of all columns side by side, and as a rectangle, columns x largest size."""

    def __init__(self, layout: Layout, device: str) -> None:
        import torch

        sizes = torch.tensor(layout.sizes, device=device)
        self._there = torch.arange(max(layout.sizes), device=device)[None] < sizes[:, None]
        self._column = torch.repeat_interleave(sizes)

    def softmax(self, logits: Tensor) -> Tensor:
        """The distribution of each column in each row."""
        import torch

        empty = torch.zeros(len(logits), len(self._there), device=logits.device)
        where = self._column.expand(len(logits), -1)
        highest = torch.scatter_reduce(empty, 1, where, logits.detach(), "amax", include_self=False)
        parts = torch.exp(logits - highest[:, self._column])
        return parts / torch.scatter_add(empty, 1, where, parts)[:, self._column]

    def moments(self, theta: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the place on each direction, rows x directions, of independent columns."""
        by_column = self.rectangle(theta).transpose(0, 1) @ self.rectangle(places).permute(1, 2, 0)
        mean = by_column.sum(dim=0)
        variance = theta @ (places**2).T - (by_column**2).sum(dim=0)
        return mean, variance.clamp_min(0.0)

    def rectangle(self, flat: Tensor) -> Tensor:
        """Rows x columns x largest size; what no group fills is zero."""
        import torch

        padded = torch.zeros((len(flat), *self._there.shape), device=flat.device)
        padded[:, self._there] = flat
        return padded
