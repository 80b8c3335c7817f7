"""ADS-GAN: a generator that changes real records until they are hard to identify. Not differentially private."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.trusted.arrays import FloatArray
from sfumato_papers.baselines.interface import Generated, Table, Tensor
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.baselines.networks import Network, batch, descend, made_up, network, noise, seeded, tensor

GUARANTEE = (
    "guarantee: none. ADS-GAN is not differentially private, at any epsilon; as claimed by the paper, its rows are "
    "seldom closer to a record than other records are. For study only."
)
FAULTS = (
    "Not differentially private: each made-up row is computed from a real record, and epsilon and delta are ignored.",
    "Identifiability is an average over records, measured by one distance. It promises nothing to any one record.",
    "The number of rows is that of the records, exactly.",
)


@dataclass(frozen=True)
class ADSGAN:
    """A Wasserstein GAN with gradient penalty whose generator sees a record and noise, and is paid for the distance.

    distance_weight   what a unit of distance between a record and its made-up row is worth
    penalty           for gradients of the critic that are not of length 1

    The distance is Euclidean on encoded columns, as in the library that the authors' laboratory keeps (synthcity). The
    paper measures identifiability with weights for rare values, 1 / entropy of a column, as `LiteralADSGAN` does; a
    generator that is paid by these turns rare labels over, because nothing else pays as much: on credit every row
    became a fraud.
    """

    distance_weight: float = 0.1
    penalty: float = 10.0
    steps: int = 1_000
    critic_steps: int = 5
    batch: int = 128
    hidden: int = 64
    noise: int = 32
    rate: float = 1e-3
    rows: int | None = None

    name: ClassVar[str] = "ADS-GAN"
    paper: ClassVar[str] = (
        "Yoon, Drumright and van der Schaar, Anonymization through data synthesis using generative adversarial "
        "networks (ADS-GAN), 2020"
    )
    accounting: ClassVar[str] = "None: it is not differentially private, and epsilon and delta are ignored."

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:  # noqa: ARG002
        """Every record with fresh noise; where `rows` is set, records drawn at random."""
        layout = Layout.of(table)
        records = layout.encode(table)
        chosen = np.arange(len(table)) if self.rows is None else rng.integers(len(table), size=self.rows)
        with seeded(rng):
            generator = self._trained(rng, layout, records)
            X, y = made_up(rng, layout, generator, self._inputs(tensor(records[chosen])))
        return Generated(X, y, GUARANTEE, FAULTS)

    def _inputs(self, records: Tensor) -> Tensor:
        import torch

        return torch.cat((records, noise(len(records), self.noise)), dim=1)

    def _weights(self, layout: Layout, rows: FloatArray) -> FloatArray:  # noqa: ARG002 - by them elsewhere
        """What a difference counts at each place of a row."""
        return np.ones(layout.width)

    def _generator(self, layout: Layout) -> Network:
        return network((layout.width + self.noise, self.hidden, self.hidden, layout.width))

    def _trained(self, rng: np.random.Generator, layout: Layout, rows: FloatArray) -> Network:
        import torch

        records, weights = tensor(rows), tensor(self._weights(layout, rows))
        generator = self._generator(layout)
        critic = network((layout.width, self.hidden, self.hidden, 1))
        by_generator, by_critic = (
            torch.optim.Adam(net.parameters(), lr=self.rate, betas=(0.5, 0.9)) for net in (generator, critic)
        )
        for step in range(1, self.steps * self.critic_steps + 1):
            real = records[batch(rng, len(rows), self.batch)]
            made = layout.squash(generator(self._inputs(real))).detach()
            descend(
                by_critic, critic(made).mean() - critic(real).mean() + self.penalty * unevenness(critic, real, made)
            )
            if step % self.critic_steps == 0:
                made = layout.squash(generator(self._inputs(real)))
                apart = torch.linalg.vector_norm(weights * (made - real), dim=1).mean()
                descend(by_generator, -critic(made).mean() - self.distance_weight * apart)
        return generator


def unevenness(critic: Network, real: Tensor, made: Tensor) -> Tensor:
    """How far the critic's gradients are from length 1 between records and made-up rows, on average and squared."""
    import torch

    share = torch.rand(len(real), 1, device=real.device)
    between = (share * real + (1 - share) * made).requires_grad_()
    (slopes,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((torch.linalg.vector_norm(slopes, dim=1) - 1) ** 2).mean()
