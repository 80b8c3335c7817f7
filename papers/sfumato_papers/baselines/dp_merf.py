"""DP-MERF: a generator that matches the noisy mean embedding of the table, and never sees a record."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.budget import Budget, mu_of, noise_scale
from sfumato_papers.baselines.embedding import Features, public_bandwidth, sensitivity
from sfumato_papers.baselines.interface import BOUNDS, Generated, Table, Tensor, claim
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.baselines.networks import Network, descend, made_up, network, noise, seeded, tensor

_LEAST_WEIGHT = 1e-3  # of a class whose noisy weight is not positive
FAULTS = (
    BOUNDS,
    "The authors take the bandwidth from ten records, which they do not pay for. Here it is a public rule.",
)


@dataclass(frozen=True)
class DPMERF:
    """Gaussian noise once, on the embedding and on the weights of the classes; all else is made of these two.

    features       random Fourier features of the numbers
    bandwidth      of the Gaussian kernel; by a public rule if not given
    counts_share   what of mu squared the weights of the classes get
    steps, batch   of Adam, and rows in each of its steps

    Formal guarantees
        As claimed: (epsilon, delta) by the analytic Gaussian mechanism, for one replaced record.
    """

    features: int = 1_000
    bandwidth: float | None = None
    counts_share: float = 0.5
    steps: int = 2_000
    batch: int = 200
    hidden: int = 100
    noise: int = 10
    rate: float = 1e-2
    rows: int | None = None

    name: ClassVar[str] = "DP-MERF"
    paper: ClassVar[str] = (
        "Harder, Adamczewski and Park, DP-MERF: Differentially private mean embeddings with random features for "
        "practical privacy-preserving data generation, 2021"
    )
    accounting: ClassVar[str] = "Two Gaussian mechanisms, class weights and mean embedding, by their exact curve."

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """Labels are drawn by the noisy weights, and a row for each by the generator."""
        Budget(epsilon, delta)
        layout, mu = Layout.of(table), mu_of(epsilon, delta)
        h = Features.random(rng, layout, self.features, self.bandwidth or public_bandwidth(layout))
        weights = noisy_weights(rng, table, mu * math.sqrt(self.counts_share))
        embedding = noisy_embedding(rng, table, h, mu * math.sqrt(1 - self.counts_share))
        with seeded(rng):
            generator = self._trained(h, embedding / weights)
            y = rng.choice(table.classes, len(table) if self.rows is None else self.rows, p=weights).astype(np.int64)
            X, _ = made_up(rng, layout, generator, self._inputs(np.eye(table.classes)[y]))
        return Generated(X, y, claim(self.name, epsilon, delta, "one replaced record"), FAULTS)

    def _inputs(self, labels: FloatArray) -> Tensor:
        import torch

        return torch.cat((noise(len(labels), self.noise), tensor(labels)), dim=1)

    def _trained(self, h: Features, targets: FloatArray) -> Network:
        """The generator whose mean features are nearest to the target of each class."""
        import torch

        layout = h.layout
        each = math.ceil(self.batch / layout.classes)
        labels = np.repeat(np.eye(layout.classes), each, axis=0)
        wanted, averaging = tensor(targets), tensor(labels / each)
        generator = network((self.noise + layout.classes, self.hidden, self.hidden, layout.width))
        optimizer = torch.optim.Adam(generator.parameters(), lr=self.rate)
        for _ in range(self.steps):
            made = layout.squash(generator(self._inputs(labels)))
            descend(optimizer, ((h(made).T @ averaging - wanted) ** 2).sum())
        return generator


def noisy_weights(rng: np.random.Generator, table: Table, mu: float) -> FloatArray:
    """Shares of the classes: one replaced record takes 1 from a count and adds it to another."""
    shares = np.bincount(table.y, minlength=table.classes) / len(table)
    noisy = shares + rng.normal(0, noise_scale(math.sqrt(2) / len(table), mu), table.classes)
    positive = np.where(noisy > 0, noisy, _LEAST_WEIGHT)
    weights: FloatArray = positive / positive.sum()
    return weights


def noisy_embedding(rng: np.random.Generator, table: Table, h: Features, mu: float) -> FloatArray:
    """The embedding of the table with Gaussian noise. Divided by the weights, its columns are means of the classes."""
    exact = h.by_class(h.layout.encode(table))
    return exact + rng.normal(0, noise_scale(sensitivity(h.layout, len(table)), mu), exact.shape)
