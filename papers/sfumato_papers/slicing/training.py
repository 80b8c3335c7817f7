"""A generator trained on noisy slices. It sees what was released and nothing else."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato_papers.baselines.interface import Table, Tensor
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.baselines.networks import batch, device, made_up, network, noise, seeded, tensor
from sfumato_papers.slicing.mechanism import Ball, NoisySlices, Slicing

Objective = Callable[[Tensor, Tensor, float], Tensor]
"""From made and real points, slices x points, and the spread of the real ones, to what should be small."""
_LEAST_SPREAD = 1e-6  # of slices without noise of records that are all the same
_LARGEST_GRADIENT = 1.0


@dataclass(frozen=True)
class Training:
    """How the generator is trained.

    steps, batch   of Adam, whose rate falls to a twentieth along a cosine, and points in each of its steps
    lines          slices in each step, see `train`
    smoothing      noise below this is raised to it, on both sides, so that densities are smooth; the noise of a private
                   release is above it
    """

    steps: int = 1_000
    batch: int = 500
    lines: int = 8
    hidden: int = 96
    latent: int = 16
    rate: float = 2e-3
    smoothing: float = 0.0


def train(
    rng: np.random.Generator,
    release: NoisySlices,
    make: Callable[[int], Tensor],
    parameters: Any,
    objective: Objective,
    settings: Training,
) -> None:
    """Moves `parameters` until the noisy slices of made rows look like the released ones.

    Noise is the same in all directions, so X U v + sigma N v has the noise of the release for every v of length 1. Each
    step takes some v at random: this is made of the release, costs nothing, and shows what the m directions alone hide.
    """
    import torch

    directions, values = tensor(release.directions), tensor(release.values)
    noisier = math.sqrt(max(settings.smoothing**2 - release.sigma**2, 0.0))
    sigma = math.hypot(release.sigma, noisier)
    scale = max(math.hypot(float(np.sqrt(release.values.var(axis=0).mean())), noisier), _LEAST_SPREAD)
    optimizer = torch.optim.Adam(parameters, lr=settings.rate, betas=(0.5, 0.9))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps, eta_min=settings.rate / 20)
    for _ in range(settings.steps):
        lines = _units(directions.shape[1], settings.lines)
        chosen = values[batch(rng, len(values), settings.batch)]
        real = _noisy(chosen @ lines, noisier)
        made = _noisy(make(settings.batch) @ directions @ lines, sigma)
        optimizer.zero_grad()
        objective(made.T, real.T, scale).backward()
        torch.nn.utils.clip_grad_norm_(parameters, _LARGEST_GRADIENT)
        optimizer.step()
        schedule.step()


def _units(width: int, count: int) -> Tensor:
    """Directions, each uniform on the sphere."""
    import torch

    drawn = torch.randn(width, count, device=device())
    return drawn / drawn.norm(dim=0)


def _noisy(points: Tensor, sigma: float) -> Tensor:
    """Noise along lines of length 1. It is drawn for each line apart, as each slice is looked at alone."""
    import torch

    return points + sigma * torch.randn_like(points) if sigma else points


def rows_from_slices(
    rng: np.random.Generator,
    table: Table,
    slicing: Slicing,
    sigma: float,
    objective: Objective,
    settings: Training,
    rows: int | None,
) -> tuple[FloatArray, IntArray]:
    """Features and labels that look like the table: its noisy slices, then a generator trained on them."""
    layout = Layout.of(table)
    ball = Ball.of(layout, slicing.radius)
    release = slicing(rng, ball(layout.encode(table)), sigma)
    with seeded(rng):
        generator = network((settings.latent, settings.hidden, settings.hidden, layout.width))

        def make(count: int) -> Tensor:
            return ball.of_tensor(layout.sample(generator(noise(count, settings.latent))))

        train(rng, release, make, list(generator.parameters()), objective, settings)
        return made_up(rng, layout, generator, noise(len(table) if rows is None else rows, settings.latent))
