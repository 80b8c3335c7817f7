"""DP-GAN: a Wasserstein critic whose gradients are clipped record by record and made noisy, and its generator."""

import warnings
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from sfumato.trusted.budget import Budget
from sfumato_papers.baselines.interface import BOUNDS, Generated, Table, Tensor, claim
from sfumato_papers.baselines.layout import Layout
from sfumato_papers.baselines.networks import Network, descend, made_up, network, noise, seeded, tensor

ORDERS = (*(1 + i / 10 for i in range(1, 100)), *range(12, 64), 64, 96, 128, 192, 256, 384, 512)
"""Of Rényi divergence; the large ones are for a small epsilon."""
FAULTS = (
    BOUNDS,
    "The number of records is taken as public: it sets the sampling rate and how many rows are made up.",
    (
        "The paper bounds gradients by the bound on the weights of the critic alone. Here each record's gradient is "
        "clipped as well, as others have done since, and the noise is for that bound."
    ),
)


@dataclass(frozen=True)
class DPGAN:
    """Adversaries of which only the critic sees records, through noisy gradients.

    steps, batch    of the critic, and how many records each of its steps sees on average
    critic_steps    for one of the generator
    weight_bound    no weight of the critic is larger
    gradient_bound  no record's gradient is longer

    Formal guarantees
        As claimed: (epsilon, delta) by the Rényi accountant of Opacus for Poisson sampling, for one record more or
        less.
    """

    steps: int = 3_000
    batch: int = 128
    critic_steps: int = 5
    weight_bound: float = 0.01
    gradient_bound: float = 0.1
    hidden: int = 64
    noise: int = 32
    rate: float = 5e-4
    rows: int | None = None

    name: ClassVar[str] = "DP-GAN"
    paper: ClassVar[str] = "Xie, Lin, Wang, Wang and Zhou, Differentially private generative adversarial network, 2018"
    accounting: ClassVar[str] = (
        "Rényi bound of Gaussian noise on clipped gradients of Poisson-sampled records, composed over all steps."
    )

    def __call__(self, rng: np.random.Generator, table: Table, epsilon: float, delta: float) -> Generated:
        """Rows of the last generator."""
        Budget(epsilon, delta)
        layout = Layout.of(table)
        rows = len(table) if self.rows is None else self.rows
        with seeded(rng):
            generator = self._trained(rng, layout, table, epsilon, delta)
            X, y = made_up(rng, layout, generator, noise(rows, self.noise))
        return Generated(X, y, claim(self.name, epsilon, delta, "one record more or less"), FAULTS)

    def _trained(self, rng: np.random.Generator, layout: Layout, table: Table, epsilon: float, delta: float) -> Network:
        import torch
        from opacus.grad_sample import GradSampleModule
        from opacus.optimizers import DPOptimizer

        records = tensor(layout.encode(table))
        share = min(self.batch / len(table), 1.0)
        generator = network((self.noise, self.hidden, self.hidden, layout.width))
        critic = GradSampleModule(network((layout.width, self.hidden, self.hidden, 1)), loss_reduction="sum")
        by_generator = torch.optim.RMSprop(generator.parameters(), lr=self.rate)
        by_critic = DPOptimizer(
            torch.optim.RMSprop(critic.parameters(), lr=self.rate),
            noise_multiplier=multiplier(share, self.steps, epsilon, delta),
            max_grad_norm=self.gradient_bound,
            expected_batch_size=share * len(table),
        )
        for step in range(1, self.steps + 1):
            chosen = records[tensor(np.flatnonzero(rng.random(len(table)) < share))]
            made = layout.squash(generator(noise(len(chosen), self.noise))).detach()
            descend(by_critic, advantages(critic, chosen, made).sum())
            with torch.no_grad():
                for weight in critic.parameters():
                    weight.clamp_(-self.weight_bound, self.weight_bound)
            if step % self.critic_steps == 0:
                critic.disable_hooks()
                descend(by_generator, -critic(layout.squash(generator(noise(self.batch, self.noise)))).mean())
                critic.enable_hooks()
        return generator


def advantages(critic: Network, records: Tensor, made: Tensor) -> Tensor:
    """How much better a made-up row does than a record, pair by pair: what the critic makes small.

    Both halves of a pair count towards the gradient of its record. They ask for gradients themselves because hooks on
    a network would warn of inputs that do not.
    """
    return critic(made.requires_grad_()) - critic(records.requires_grad_())


@cache
def multiplier(share: float, steps: int, epsilon: float, delta: float) -> float:
    """Noise in units of the clipping bound, within a hundredth of epsilon."""
    from opacus.accountants.utils import get_noise_multiplier

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Optimal order")  # of far too much noise, where the search begins
        return float(
            get_noise_multiplier(
                target_epsilon=epsilon,
                target_delta=delta,
                sample_rate=share,
                steps=steps,
                epsilon_tolerance=epsilon / 100,
                alphas=ORDERS,
            )
        )
