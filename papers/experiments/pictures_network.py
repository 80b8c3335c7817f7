"""A small residual network that learns the class of grey images, from labels or from probabilities of them.

    python -m experiments.pictures_network FOLDER --device cuda

trains on the files of images that `experiments.pictures_benchmark --export FOLDER` left there, tests on the real ones,
and writes `accuracy.json` beside them. It needs numpy and torch alone, so that it can run where an accelerator is.
"""

import argparse
import itertools
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

REAL, FOUND = "real.npz", "accuracy.json"
LABELS = ("drawn", "posterior")


@dataclass(frozen=True)
class Training:
    """How a network is trained; fixed before any test image is seen.

    moved, turned, stretched   how far images are moved at most while learning: pixels, radians, shares of a side
    """

    epochs: int = 30
    batch: int = 128
    rate: float = 2e-3
    decay: float = 0.01
    width: int = 32
    moved: float = 2.5
    turned: float = 0.2
    stretched: float = 0.2


TRAININGS = {"still": Training(epochs=12, moved=0.0, turned=0.0, stretched=0.0), "moved": Training()}


class Residual(nn.Module):  # type: ignore[misc]
    """Two convolutions, beside what they are given."""

    def __init__(self, given: int, width: int, stride: int) -> None:
        super().__init__()
        self.path = nn.Sequential(*_convolution(given, width, 3, stride), nn.ReLU(), *_convolution(width, width, 3, 1))
        plain = given == width and stride == 1
        self.beside = nn.Identity() if plain else nn.Sequential(*_convolution(given, width, 1, stride))

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.path(x) + self.beside(x))


def _convolution(given: int, width: int, size: int, stride: int) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(given, width, size, stride, size // 2, bias=False), nn.BatchNorm2d(width)


def network(classes: int, width: int) -> nn.Module:
    """Three blocks; 152,000 weights at a width of 32."""
    return nn.Sequential(
        *_convolution(1, width, 5, 2),
        nn.ReLU(),
        Residual(width, width, 1),
        Residual(width, 2 * width, 2),
        Residual(2 * width, 2 * width, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * width, classes),
    )


def train(images: NDArray[Any], shares: NDArray[Any], how: Training, seed: int, device: str = "cpu") -> nn.Module:
    """From images (records x height x width, 0 to 255) and the probability of each of their classes."""
    torch.manual_seed(seed)
    x, p = _pixels(images, device), torch.as_tensor(shares, dtype=torch.float32, device=device)
    net = network(p.shape[1], how.width).to(device)
    batches = max(1, len(x) // how.batch)
    optimiser = torch.optim.AdamW(net.parameters(), lr=how.rate, weight_decay=how.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, how.rate, total_steps=how.epochs * batches)
    net.train()
    for _ in range(how.epochs):
        order = torch.randperm(len(x), device=device)
        for part in order[: batches * how.batch].split(how.batch):
            loss = functional.cross_entropy(net(_moved(x[part], how)), p[part])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return net.eval()


def _pixels(images: NDArray[Any], device: str) -> Tensor:
    return torch.as_tensor(images, device=device)[:, None].float() / 255 - 0.5


def _moved(x: Tensor, how: Training) -> Tensor:
    """Each image turned, slanted, stretched and moved a little; beyond its rim there is more of the rim."""

    def by(most: float) -> Tensor:
        return (2 * torch.rand(len(x), device=x.device) - 1) * most

    turn, stretch = by(how.turned), how.stretched
    across = (turn.cos() + by(stretch), by(stretch) - turn.sin(), by(2 * how.moved / x.shape[3]))
    down = (turn.sin(), turn.cos() + by(stretch), by(2 * how.moved / x.shape[2]))
    maps = torch.stack([torch.stack(row, dim=1) for row in (across, down)], dim=1)
    grid = functional.affine_grid(maps, list(x.shape), align_corners=False)
    return functional.grid_sample(x, grid, padding_mode="border", align_corners=False)


def accuracy(net: nn.Module, images: NDArray[Any], label: NDArray[Any], device: str = "cpu") -> float:
    """The share of images whose likeliest class is their own."""
    with torch.no_grad():
        told = torch.cat([net(part).argmax(dim=1) for part in _pixels(images, device).split(1_000)])
    return float(np.mean(told.cpu().numpy() == label))


def learn(folder: Path, name: str, labels: str, how: Training, device: str) -> dict[str, float]:
    """What a network that learnt from one file is worth on the real images beside it."""
    with np.load(folder / name) as file:
        images, seed = file["x"], int(file["seed"])
        shares = np.eye(file["p"].shape[1])[file["y"]] if labels == LABELS[0] else file["p"]
    with np.load(folder / REAL) as file:
        real, label = file["x"], file["y"]
    begin = time.perf_counter()
    net = train(images, shares, how, seed, device)
    return {"accuracy": accuracy(net, real, label, device), "seconds": time.perf_counter() - begin}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    found = {}
    files = [path for path in sorted(asked.folder.glob("*.npz")) if path.name != REAL]
    for path, labels, training in itertools.product(files, LABELS, TRAININGS):
        name = f"{path.stem}, {labels}, {training}"
        found[name] = learn(asked.folder, path.name, labels, TRAININGS[training], asked.device)
        print(name, found[name], flush=True)
        (asked.folder / FOUND).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
