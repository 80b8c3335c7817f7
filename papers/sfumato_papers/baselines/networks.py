"""The small networks of the rivals, where they run, and where their randomness comes from."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato_papers.baselines.interface import Tensor
from sfumato_papers.baselines.layout import Layout, drawn

Network = Any
"""A torch module."""
ROWS_AT_ONCE = 10_000
"""So that wide tables fit into memory."""


def device() -> str:
    """Where networks run."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


@contextmanager
def seeded(rng: np.random.Generator) -> Iterator[None]:
    """Inside, torch draws what `rng` decides; outside it goes on as if nothing had been drawn."""
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**63)))
        yield


def tensor(values: FloatArray | IntArray) -> Tensor:
    """On the device; numbers in single precision, as networks have them."""
    import torch

    found = torch.from_numpy(np.ascontiguousarray(values)).to(device())
    return found.float() if found.is_floating_point() else found


def noise(rows: int, width: int) -> Tensor:
    """What a generator starts from."""
    import torch

    return torch.randn(rows, width, device=device())


def network(sizes: Sequence[int]) -> Network:
    """Layers of these sizes with leaky rectifiers between them."""
    from torch import nn

    layers: list[Any] = []
    for size, following in pairwise(sizes):
        layers += [nn.Linear(size, following), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1]).to(device())


def descend(optimizer: Any, loss: Tensor) -> None:
    """One step down."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def batch(rng: np.random.Generator, records: int, size: int) -> Tensor:
    """Numbers of `size` records, drawn with replacement."""
    return tensor(rng.integers(records, size=size))


def made_up(
    rng: np.random.Generator, layout: Layout, generator: Network, inputs: Tensor
) -> tuple[FloatArray, IntArray]:
    """Features and labels that a trained generator makes of its inputs. Categories are drawn from their softmax."""
    import torch

    pieces = []
    with torch.no_grad():
        for piece in inputs.split(ROWS_AT_ONCE):
            soft = layout.squash(generator(piece)).cpu().numpy().astype(np.float64)
            pieces.append(layout.decode(soft, drawn(rng)))
    X, y = zip(*pieces, strict=True)
    return np.concatenate(X), np.concatenate(y)
