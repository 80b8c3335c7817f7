"""Teachers, their votes, and what the votes cost."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from sfumato.published.rivals import PATEGAN, Layout
from sfumato.published.rivals.networks import noise, seeded, tensor
from sfumato.published.rivals.pate_gan import noisy_majority
from sfumato.published.rivals.teachers import Teachers
from sfumato.published.rivals.votes import ORDERS, log_against, moments, spent
from tests.published.rival_tables import mixed


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


def test_parts_have_no_record_in_common_and_leave_none_out():
    rows = np.arange(47.0)[:, None]
    teachers = Teachers.of(np.random.default_rng(0), rows, 6, 3, 1e-3)
    assert sorted(teachers.records.flatten().tolist()) == list(range(47))
    assert set(teachers.sizes) == {7, 8}
    assert np.array_equal(teachers.starts[1:], np.cumsum(teachers.sizes)[:-1])
    assert teachers.starts[-1] + teachers.sizes[-1] == 47


def test_a_teacher_learns_from_its_own_part_alone():
    """Another part changes; nobody but its teacher does."""
    rows = np.random.default_rng(0).random((40, 3))

    def opinions(rows: np.ndarray) -> np.ndarray:
        with seeded(np.random.default_rng(1)):
            rng = np.random.default_rng(2)
            teachers = Teachers.of(rng, rows, 4, 5, 1e-2)
            for _ in range(20):
                teachers.learn(rng, noise(8, 3))
            return teachers.opinions(noise(6, 3)).detach().cpu().numpy()

    changed = rows.copy()
    changed[17] = 1 - changed[17]
    moved = np.abs(opinions(rows) - opinions(changed)).max(axis=1) > 0
    assert moved.sum() == 1


def test_teachers_come_to_tell_records_from_noise():
    with seeded(np.random.default_rng(0)):
        teachers = Teachers.of(np.random.default_rng(1), np.full((60, 2), 0.9), 6, 8, 1e-2)
        for _ in range(150):
            teachers.learn(np.random.default_rng(2), 0.1 * noise(16, 2))
        votes = teachers.votes(tensor(np.array([[0.9, 0.9], [0.0, 0.0]])))
    assert votes.tolist() == [6, 0]


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
