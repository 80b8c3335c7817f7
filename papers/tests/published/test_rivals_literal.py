"""PATE-GAN and ADS-GAN to the letter: what their papers print, against slow versions of it."""

import math

import numpy as np
import pytest
import torch
from sfumato_papers.baselines import ADSGAN, Layout, LiteralADSGAN, LiteralPATEGAN, pate_gan_literal
from sfumato_papers.baselines.ads_gan_literal import entropy
from sfumato_papers.baselines.networks import seeded, tensor
from sfumato_papers.baselines.pate_gan_literal import NetworkTeachers
from sfumato_papers.baselines.votes import moments, spent
from torch.nn.functional import binary_cross_entropy_with_logits

from sfumato.errors import RequestError
from tests.published.rival_tables import easy, mixed


def teachers(rows, count, seed=0):
    with seeded(np.random.default_rng(seed)):
        return NetworkTeachers.of(np.random.default_rng(seed), rows, count, 4, 1e-2)


# PATE-GAN


def test_parts_have_no_record_in_common():
    parts = teachers(np.random.default_rng(0).random((23, 3)), 5).parts.cpu().numpy()
    assert parts.shape == (5, 4)
    assert len(np.unique(parts)) == 20


def test_teachers_side_by_side_learn_what_each_learns_alone():
    """One step of all of them at once, and the same step of one network by itself."""
    rng = np.random.default_rng(1)
    found, made = teachers(rng.random((30, 3)), 3), tensor(rng.random((6, 3)))
    alone = [[part[k].detach().clone().requires_grad_() for part in found.weights] for k in range(3)]
    chosen = np.random.default_rng(2).integers(10, size=(3, 6))
    for k, weights in enumerate(alone):
        first, last, shift, offset = weights

        def judged(rows, first=first, last=last, shift=shift, offset=offset):
            return (torch.relu(rows @ first + shift) @ last + offset).squeeze(1)

        own = judged(found.records[found.parts[k][tensor(chosen[k])]])
        others = judged(made)
        loss = binary_cross_entropy_with_logits(own, torch.ones_like(own))
        loss = loss + binary_cross_entropy_with_logits(others, torch.zeros_like(others))
        step = torch.optim.Adam(weights, lr=1e-2)
        loss.backward()
        step.step()
    found.learn(np.random.default_rng(2), made)
    for k, weights in enumerate(alone):
        for one, side_by_side in zip(weights, found.weights, strict=True):
            assert torch.allclose(one, side_by_side[k], atol=1e-5)


def test_one_record_changes_one_vote_of_a_row_at_most():
    rng = np.random.default_rng(0)
    rows, made = rng.random((40, 3)), tensor(rng.random((50, 3)))

    def votes(rows):
        found = teachers(rows, 8)
        for step in range(5):
            found.learn(np.random.default_rng(step), made)
        return found.votes(made)

    changed = rows.copy()
    changed[17] = 5.0
    assert np.abs(votes(rows) - votes(changed)).max() <= 1


def test_teachers_tell_records_from_rows_that_are_nothing_like_them():
    rng = np.random.default_rng(0)
    found, made = teachers(rng.random((60, 2)), 6), tensor(rng.random((20, 2)) - 3)
    for step in range(150):
        found.learn(np.random.default_rng(step), made)
    assert found.votes(made).max() == 0
    assert found.votes(found.records).min() >= 5


def test_the_round_that_goes_beyond_epsilon_is_kept(monkeypatch):
    """Unlike the repaired one, and as algorithm 1 prints it: the loop looks at what is spent before a round alone."""
    charged, taught = [], []

    def watched(gaps, lam):
        charged.append(moments(gaps, lam))
        return charged[-1]

    majority = pate_gan_literal.noisy_majority
    monkeypatch.setattr(pate_gan_literal, "moments", watched)
    monkeypatch.setattr(pate_gan_literal, "noisy_majority", lambda *args: taught.append(1) or majority(*args))
    LiteralPATEGAN(records_each=10, lam=0.05, batch=8)(np.random.default_rng(0), mixed(records=200), 3.0, 1e-4)
    assert len(charged) == len(taught)
    assert len(charged) % 5 == 0
    assert spent(sum(charged[:-5]), 1e-4) < 3.0 <= spent(sum(charged), 1e-4)


def test_an_epsilon_for_no_vote_leaves_the_generator_as_it_began(monkeypatch):
    taught = []
    monkeypatch.setattr(pate_gan_literal, "noisy_majority", lambda *args: taught.append(args))
    rows = LiteralPATEGAN()(np.random.default_rng(0), mixed(records=100), 0.05, 1e-4)
    assert not taught
    assert len(rows.y) == 100


@pytest.mark.parametrize("wrong", [{"lam": 0.0}, {"records_each": 0}, {"rounds": 0}, {"batch": -1}])
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(RequestError, match=next(iter(wrong))):
        LiteralPATEGAN(**wrong)


# ADS-GAN


def test_weights_are_inverse_entropies_of_columns():
    table = easy(records=3_000, rare=0.02)
    layout = Layout.of(table)
    weights = LiteralADSGAN()._weights(layout, layout.encode(table))

    def slow(values):
        shares = [np.mean(values == one) for one in set(values.tolist())]
        return -sum(share * math.log(share) for share in shares)

    cells = [np.minimum((table.X[:, j] * 20).astype(int), 19) for j in (0, 2)]
    columns = [cells[0], table.X[:, 1], cells[1], table.X[:, 3], table.y]
    wanted = [1 / slow(column) for column, width in zip(columns, (1, 3, 1, 2, 2), strict=True) for _ in range(width)]
    assert weights == pytest.approx(wanted)
    assert weights[-1] > 5 * weights[0]  # the rare label pays most


def test_entropy_by_hand():
    assert entropy(np.array([1.0, 1.0, 2.0])) == pytest.approx(1.5 * math.log(2))
    assert entropy(np.array([7.0, 0.0])) == 0


def test_paid_by_entropy_it_turns_rare_labels_over():
    """The fault for which `ADSGAN` leaves the weights out."""
    table = easy(records=4_000, rare=0.01)
    by_entropy, plain = (
        method(steps=150)(np.random.default_rng(0), table, 1.0, 1e-4).y.mean() for method in (LiteralADSGAN, ADSGAN)
    )
    assert by_entropy > 0.2 > plain
