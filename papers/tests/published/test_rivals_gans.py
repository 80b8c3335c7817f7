"""The parts of the adversarial rivals that have an answer of their own."""

import copy

import numpy as np
import pytest
import torch
from opacus.accountants import RDPAccountant
from opacus.grad_sample import GradSampleModule
from sfumato_papers.baselines import ADSGAN, DPGAN
from sfumato_papers.baselines.ads_gan import unevenness
from sfumato_papers.baselines.dp_gan import ORDERS, advantages, multiplier
from sfumato_papers.baselines.networks import device, network, noise, seeded

from tests.published.rival_tables import easy, mixed


def test_the_same_seed_gives_the_same_network():
    def weights(seed: int) -> torch.Tensor:
        with seeded(np.random.default_rng(seed)):
            return network((3, 4, 1))(noise(5, 3))

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


# DP-GAN


def test_each_pair_has_the_gradient_that_it_has_alone():
    with seeded(np.random.default_rng(0)):
        plain = network((4, 6, 1))
        real, made = noise(5, 4), noise(5, 4)
    critic = GradSampleModule(copy.deepcopy(plain), loss_reduction="sum")
    advantages(critic, real.clone(), made.clone()).sum().backward()
    for i in range(5):
        plain.zero_grad()
        (plain(made[i : i + 1]) - plain(real[i : i + 1])).sum().backward()
        for one, all_of_them in zip(plain.parameters(), critic.parameters(), strict=True):
            assert torch.allclose(one.grad, all_of_them.grad_sample[i], atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 8.0])
def test_the_noise_keeps_the_budget(epsilon):
    accountant = RDPAccountant()
    accountant.history = [(multiplier(0.02, 300, epsilon, 1e-5), 0.02, 300)]
    assert 0.98 * epsilon <= accountant.get_epsilon(1e-5, alphas=ORDERS) <= epsilon


def test_a_step_may_see_no_record():
    rows = DPGAN(steps=30, batch=1)(np.random.default_rng(0), mixed(), 1.0, 1e-4)
    assert len(rows.y) == 60


# ADS-GAN


def test_a_rare_label_stays_rare():
    y = ADSGAN(steps=300)(np.random.default_rng(0), easy(records=8_000, rare=0.005), 1.0, 1e-4).y
    assert 0 < y.mean() < 0.1


def test_a_slope_of_1_is_even():
    line = torch.nn.Linear(3, 1).to(device())
    real, made = noise(7, 3), noise(7, 3)
    for length, punished in ((1.0, 0.0), (3.0, 4.0), (0.0, 1.0)):
        with torch.no_grad():
            line.weight.copy_(torch.tensor([[0.0, length, 0.0]]))
        assert unevenness(line, real, made).item() == pytest.approx(punished, abs=1e-5)
