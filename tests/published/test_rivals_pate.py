"""Teachers, their votes, and what the votes cost."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from sfumato.published.rivals import PATEGAN, Layout
from sfumato.published.rivals.networks import seeded, tensor
from sfumato.published.rivals.pate_gan import Generator, noisy_majority
from sfumato.published.rivals.teachers import Teachers
from sfumato.published.rivals.votes import ORDERS, affordable, log_against, moments, spent
from tests.published.rival_tables import easy, mixed


def slow_moment(gap: float, lam: float, order: int) -> float:
    """As printed, with 50 digits."""
    with mp.workdps(50):
        gap, lam = mp.mpf(gap), mp.mpf(lam)
        q = (2 + lam * gap) / (4 * mp.exp(lam * gap))
        always = 2 * lam**2 * order * (order + 1)
        if q >= (mp.exp(2 * lam) - 1) / (mp.exp(4 * lam) - 1):
            return float(always)
        agreed = mp.log((1 - q) * ((1 - q) / (1 - mp.exp(2 * lam) * q)) ** order + q * mp.exp(2 * lam * order))
        return float(min(always, agreed))


@given(st.floats(0, 2_000), st.floats(1e-3, 2), st.sampled_from([1, 2, 10, 40, 100]))
def test_moments_are_as_printed(gap, lam, order):
    found = moments(np.array([gap]), lam)[order - 1]
    assert found == pytest.approx(slow_moment(gap, lam, order), rel=1e-7, abs=1e-13)


@given(st.lists(st.floats(0, 300), min_size=1, max_size=5))
def test_votes_add_up(gaps):
    one_by_one = sum(moments(np.array([gap]), 0.05) for gap in gaps)
    assert np.allclose(moments(np.array(gaps), 0.05), one_by_one)


def test_epsilon_is_the_least_over_the_moments():
    moment = moments(np.array([40.0, 3.0, 0.0]), 0.1)
    slow = min((moment[i] + math.log(1 / 1e-5)) / order for i, order in enumerate(range(1, 101)))
    assert spent(moment, 1e-5) == pytest.approx(slow)
    assert len(ORDERS) == 100


@pytest.mark.parametrize(("gap", "lam"), [(0, 0.1), (10, 0.1), (40, 0.1), (3, 1.0)])
def test_noise_turns_votes_as_rarely_as_q_says(gap, lam):
    rng, count = np.random.default_rng(0), 100
    votes = np.full(200_000, (count + gap) / 2)
    turned = 1 - noisy_majority(rng, votes, count, lam).mean()
    assert turned == pytest.approx(math.exp(log_against(np.array([gap]), lam)[0]), abs=0.005)


@pytest.mark.parametrize(("votes", "epsilon", "delta"), [(16_000, 1.0, 1 / 24_421), (40, 0.3, 1e-3), (100, 50.0, 1e-5)])
def test_lambda_is_the_largest_that_epsilon_affords_however_teachers_vote(votes, epsilon, delta):
    lam = affordable(votes, epsilon, delta)
    ties = np.zeros(votes)
    assert spent(moments(ties, lam), delta) <= epsilon < spent(moments(ties, 1.001 * lam), delta)
    assert spent(moments(np.linspace(0, 5 / lam, votes), lam), delta) <= epsilon


def test_no_lambda_is_small_enough_for_a_tiny_epsilon():
    assert affordable(1, 0.01, 1e-5) == 0


def test_parts_have_no_record_in_common_and_leave_none_out():
    rows = np.column_stack((np.arange(47.0), np.tile((0.0, 1.0), (47, 1))))
    teachers = Teachers.of(np.random.default_rng(0), rows, 2, 6, 0.1, 0.1)
    there = teachers.labels[:, :, 1] == 1
    assert sorted(teachers.records[:, :, 0][there].tolist()) == list(range(47))
    assert teachers.sizes.tolist() == there.sum(1).tolist() == [8, 8, 8, 8, 8, 7]


def labelled(rng: np.random.Generator, count: int) -> np.ndarray:
    """Three numbers and one of two labels."""
    return np.column_stack((rng.random((count, 3)), np.eye(2)[rng.integers(2, size=count)]))


def test_a_teacher_learns_from_its_own_part_alone():
    """Another part changes; nobody but its teacher does."""
    rows = labelled(np.random.default_rng(0), 40)

    def opinions(rows: np.ndarray) -> np.ndarray:
        teachers, made = Teachers.of(np.random.default_rng(2), rows, 2, 4, 0.5, 0.1), np.random.default_rng(3)
        for _ in range(20):
            teachers.learn(tensor(labelled(made, 8)))
        return teachers.opinions(tensor(labelled(made, 6))).cpu().numpy()

    changed = rows.copy()
    changed[17, :3] = 1 - changed[17, :3]
    moved = np.abs(opinions(rows) - opinions(changed)).max(axis=1) > 0
    assert moved.sum() == 1


def test_teachers_descend_their_logistic_loss():
    """A step of all is a step of each by automatic derivatives; parts differ in size."""
    import torch
    from torch.nn.functional import softplus

    rows, made = labelled(np.random.default_rng(0), 7), tensor(labelled(np.random.default_rng(1), 5))
    teachers = Teachers.of(np.random.default_rng(2), rows, 2, 2, 0.5, 0.1)
    teachers.learn(made)
    before = teachers.weights.clone().requires_grad_()
    own = [torch.cat((part[:size, :-1], labels[:size]), dim=1) for part, labels, size in _parts(teachers)]
    teachers.weights = before
    losses = [softplus(-teachers.opinions(part)[place]).mean() for place, part in enumerate(own)]
    loss = sum(losses) + softplus(teachers.opinions(made)).mean(1).sum() + 0.05 * (before**2).sum()
    loss.backward()
    teachers.weights = before.detach()
    teachers.learn(made)
    assert torch.allclose(teachers.weights, before.detach() - 0.5 * before.grad, atol=1e-6)


def _parts(teachers: Teachers) -> list:
    return list(zip(teachers.records, teachers.labels, teachers.sizes.int().tolist(), strict=True))


def test_teachers_come_to_tell_which_feature_goes_with_which_label():
    """Neither features nor labels alone tell these records from made-up rows."""
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=60)
    teachers = Teachers.of(rng, np.column_stack((y, np.eye(2)[y])), 2, 6, 0.5, 0.1)
    four = np.array([[0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1]], dtype=float)
    for _ in range(50):
        teachers.learn(tensor(four))
    assert teachers.votes(tensor(four)).tolist() == [6, 0, 0, 6]


def test_no_teacher_takes_more_than_half_of_the_rows_for_records():
    rng = np.random.default_rng(1)
    teachers = Teachers.of(rng, labelled(rng, 60), 2, 6, 0.5, 0.1)
    far = labelled(rng, 16) * np.array([0.1, 0.1, 0.1, 1, 1])
    for _ in range(50):
        teachers.learn(tensor(far))
    assert (teachers.opinions(tensor(far)) < 0).float().mean() > 0.9
    assert teachers.votes(tensor(far)).sum() == 6 * 8


def test_a_generator_begins_with_all_values_and_labels():
    layout = Layout((0, 3, 0, 2), 2)
    with seeded(np.random.default_rng(0)):
        X, y = Generator.of(layout, 8, 32).rows(2_000)
    assert y.mean() == pytest.approx(0.5, abs=0.05)
    assert np.bincount(X[:, 1].astype(int)).min() > 200
    assert (X[:, [0, 2]].std(axis=0) > 0.1).all()


def test_training_stops_when_epsilon_is_spent(monkeypatch):
    """Every batch that the student learns from was paid for, and the next one could not be."""
    from sfumato.published.rivals import pate_gan

    charged = []

    def watched(gaps: np.ndarray, lam: float) -> np.ndarray:
        charged.append(moments(gaps, lam))
        return charged[-1]

    taught = []
    monkeypatch.setattr(pate_gan, "moments", watched)
    monkeypatch.setattr(pate_gan, "noisy_majority", lambda *args: taught.append(1) or noisy_majority(*args))
    table = mixed(records=200)
    PATEGAN(records_each=10, lam=0.05, batch=8)(np.random.default_rng(0), table, 3.0, 1e-4)
    assert len(charged) == len(taught) + 1
    assert len(taught) > 0
    assert spent(sum(charged[:-1]), 1e-4) <= 3.0 < spent(sum(charged), 1e-4)


def test_an_epsilon_for_no_vote_leaves_the_generator_as_it_began():
    table = mixed(records=100)
    rows = PATEGAN(records_each=10, lam=1.0)(np.random.default_rng(0), table, 0.1, 1e-4)
    assert Layout.of(table).width == 10
    assert len(rows.y) == 100


def test_without_a_lambda_all_rounds_are_voted_on(monkeypatch):
    from sfumato.published.rivals import pate_gan

    taught = []
    monkeypatch.setattr(pate_gan, "noisy_majority", lambda *args: taught.append(1) or noisy_majority(*args))
    PATEGAN(rounds=7)(np.random.default_rng(0), mixed(records=100), 1.0, 1e-4)
    assert len(taught) == 7
    PATEGAN(rounds=7)(np.random.default_rng(0), mixed(records=100), 0.01, 1e-4)
    assert len(taught) == 7


def test_an_easy_table_is_learnt_at_a_large_epsilon():
    table = easy(records=1_000)
    rows = PATEGAN()(np.random.default_rng(0), table, 20.0, 1e-4)
    above, below = (rows.X[rows.y == label] for label in (1, 0))
    assert min(len(above), len(below)) > 200
    assert above[:, 0].mean() - below[:, 0].mean() > 0.1
    assert above[:, 3].mean() - below[:, 3].mean() > 0.3


def test_the_noise_that_the_docstring_tells_of():
    assert 1 / affordable(16_000, 1.0, 1 / 24_421) == pytest.approx(1_165, rel=1e-3)
