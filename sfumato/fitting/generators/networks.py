"""Generators that the library brings. Anything with `sample(z)` serves as well.

Each takes latent points and the class of each, as z: normal numbers, then one number for each class, 1 for its own.
Each gives a row of numbers as wide as the layout; those of a column are the logarithms of its groups' probabilities,
up to a constant, relative to the column's distribution in the class.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sfumato.errors import RequestError
from sfumato.fitting.generators.columnwise import Tensor
from sfumato.fitting.generators.evidence import Layout
from sfumato.fitting.tuning import TuningConstants

LATENT = 16


class Tuning(TuningConstants, group="generators.networks"):
    """See `sfumato.fitting.tuning`."""

    hidden = 256
    blocks = 3
    spread = 4.0  # of a pixel's distribution at the start, in groups


class Generator(Protocol):
    """What can be trained: a torch module, or anything that has its parameters and this method."""

    def sample(self, z: Tensor) -> Tensor:
        """Rows as wide as the layout, from rows of latent numbers and classes."""

    def parameters(self) -> Any:
        """What an optimizer changes."""


CustomGenerator = Generator | Callable[[Layout], Generator]
"""One of the user's, or what makes one for a layout."""


def _sampling(network: Any) -> Any:
    """A network whose way forward is called `sample` too."""
    network.sample = network.forward
    return network


def mlp(layout: Layout, shape: tuple[int, int] | None = None) -> Any:  # noqa: ARG001 - pictures have a shape
    """Two hidden layers."""
    from torch import nn

    last = nn.Linear(Tuning.hidden, layout.width)
    nn.init.normal_(last.weight, std=0.5 / np.sqrt(Tuning.hidden))
    return _sampling(
        nn.Sequential(
            nn.Linear(LATENT + layout.classes, Tuning.hidden),
            nn.SiLU(),
            nn.Linear(Tuning.hidden, Tuning.hidden),
            nn.SiLU(),
            last,
        )
    )


def residual(layout: Layout, shape: tuple[int, int] | None = None) -> Any:  # noqa: ARG001
    """Blocks that each add a little to what came before."""
    from torch import nn

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                nn.LayerNorm(Tuning.hidden),
                nn.Linear(Tuning.hidden, Tuning.hidden),
                nn.SiLU(),
                nn.Linear(Tuning.hidden, Tuning.hidden),
            )

        def forward(self, h: Tensor) -> Tensor:
            return h + self.inner(h)

    last = nn.Linear(Tuning.hidden, layout.width)
    nn.init.normal_(last.weight, std=0.5 / np.sqrt(Tuning.hidden))
    blocks = [Block() for _ in range(Tuning.blocks)]
    return _sampling(
        nn.Sequential(nn.Linear(LATENT + layout.classes, Tuning.hidden), *blocks, nn.LayerNorm(Tuning.hidden), last)
    )


def convolutional(layout: Layout, shape: tuple[int, int] | None = None) -> Any:
    """Upward convolutions to one number for each pixel, around which its groups have their probabilities."""
    import torch
    from torch import nn

    if shape is None or np.prod(shape) != len(layout.sizes) or 0 in layout.ordered:
        raise RequestError("a convolutional generator needs a table whose columns are one image; use mlp")
    height, width = shape
    small = (-(-height // 4), -(-width // 4))

    class Pixels(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.start = nn.Linear(LATENT + layout.classes, 64 * small[0] * small[1])
            self.up = nn.Sequential(
                nn.SiLU(),
                nn.Upsample(scale_factor=2),
                nn.Conv2d(64, 32, 3, padding=1),
                nn.SiLU(),
                nn.Upsample(scale_factor=2),
                nn.Conv2d(32, 16, 3, padding=1),
                nn.SiLU(),
                nn.Conv2d(16, 1, 3, padding=1),
            )
            self.sharpness = nn.Parameter(torch.tensor(1 / Tuning.spread))
            steps = [
                np.append(np.linspace(-1, 1, max(n, 2))[:n], np.zeros(size - n))
                for size, n in zip(layout.sizes, layout.ordered, strict=True)
            ]
            self.register_buffer("steps", torch.tensor(np.concatenate(steps), dtype=torch.float32))
            self.register_buffer("column", torch.repeat_interleave(torch.tensor(layout.sizes)))

        def sample(self, z: Tensor) -> Tensor:
            grey = self.up(self.start(z).view(len(z), 64, *small))[:, 0, :height, :width].reshape(len(z), -1)
            return 4 * self.sharpness * grey[:, self.column] * self.steps

    return Pixels()


GENERATORS: dict[str, Callable[[Layout, tuple[int, int] | None], Any]] = {
    "mlp": mlp,
    "residual": residual,
    "convolutional": convolutional,
}
