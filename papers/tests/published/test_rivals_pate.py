"""Teachers, their votes, and what the votes cost."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from sfumato_papers.baselines import PATEGAN, Layout
from sfumato_papers.baselines.networks import seeded, tensor
from sfumato_papers.baselines.pate_gan import Generator, noisy_majority, noisy_shares
from sfumato_papers.baselines.teachers import Teachers
from sfumato_papers.baselines.votes import ORDERS, affordable, log_against, moments, spent

from sfumato.errors import RequestError
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


def labelled(rng: np.random.Generator, count: int) -> np.ndarray:
    """Three numbers and one of two labels."""
    return np.column_stack((rng.random((count, 3)), np.eye(2)[rng.integers(2, size=count)]))


def test_parts_have_no_record_in_common_and_leave_none_out():
    """Record i is the number 2**i, so that a sum tells of which records it is."""
    rows = np.column_stack((2.0 ** np.arange(20), np.eye(2)[np.arange(20) % 2]))
    teachers = Teachers.of(np.random.default_rng(0), rows, 2, 6)
    sums = (teachers.means[:, :, 0] * teachers.sizes).cpu().numpy().round().astype(int)
    for label, mine in enumerate(sums):
        dealt = [place for one in mine.tolist() for place in range(20) if one >> place & 1]
        assert sorted(dealt) == list(range(label, 20, 2))
    assert sorted(teachers.sizes.sum(0).tolist()) == [3, 3, 3, 3, 4, 4]


def test_one_record_changes_one_vote_of_a_row_at_most():
    """Whatever else becomes of it: another class, too."""
    rng = np.random.default_rng(0)
    rows, made, usual = labelled(rng, 40), tensor(rng.random((2, 50, 3)) - 0.5), tensor(rng.random((2, 1, 3)))

    def votes(rows: np.ndarray) -> np.ndarray:
        with seeded(np.random.default_rng(4)):
            return Teachers.of(np.random.default_rng(2), rows, 2, 10).votes(made, usual)

    changed = rows.copy()
    changed[17] = np.concatenate((1 - rows[17, :3], rows[17, :2:-1]))
    assert np.abs(votes(rows) - votes(changed)).max() == 1


def test_a_teacher_votes_for_rows_on_the_side_of_its_own_records():
    rng = np.random.default_rng(1)
    rows, usual, away = labelled(rng, 60), rng.random((2, 1, 3)), rng.random((2, 8, 3)) - 0.5
    teachers = Teachers.of(np.random.default_rng(2), rows, 2, 3)
    parts = np.random.default_rng(2).permutation(60) % 3
    for label, votes in enumerate(teachers.votes(tensor(away), tensor(usual))):
        own = [rows[(parts == part) & (rows[:, 3 + label] == 1), :3].mean(axis=0) for part in range(3)]
        expected = sum(((mean - usual[label, 0]) @ away[label].T > 0).astype(int) for mean in own)
        assert votes.tolist() == expected.tolist()


def test_teachers_tell_which_feature_goes_with_which_label():
    """Neither features nor labels alone tell these records from made-up rows."""
    y = np.arange(60) % 2
    teachers = Teachers.of(np.random.default_rng(1), np.column_stack((y, np.eye(2)[y])), 2, 3)
    away, usual = np.array([[[-0.5], [0.5]], [[-0.5], [0.5]]]), np.full((2, 1, 1), 0.5)
    assert teachers.votes(tensor(away), tensor(usual)).tolist() == [[3, 0], [0, 3]]


def test_a_teacher_without_a_record_of_a_class_tosses_a_coin():
    rows = np.column_stack((np.ones(300), np.eye(2)[np.repeat((0, 1), (299, 1))]))
    away, usual = tensor(np.full((2, 40, 1), 0.5)), tensor(np.full((2, 1, 1), 0.5))
    with seeded(np.random.default_rng(0)):
        common, rare = Teachers.of(np.random.default_rng(1), rows, 2, 100).votes(away, usual)
    assert (common == 100).all()
    assert rare.mean() == pytest.approx(50, abs=3)
    assert rare.std() == pytest.approx(5, abs=2)


def test_shares_of_labels_are_noisy_counts_and_leave_no_class_out():
    rng, rare, even = np.random.default_rng(0), easy(records=200, rare=0.01), easy(records=2_000)
    drawn = np.array([noisy_shares(rng, rare, 1.0) for _ in range(5_000)])
    assert np.allclose(drawn.sum(axis=1), 1)
    assert drawn.min() >= 1 / 250
    counts = 2_000 * np.array([noisy_shares(rng, even, 1.0)[1] for _ in range(5_000)])
    assert counts.std() == pytest.approx(2.0, rel=0.1)  # half of the difference of two counts with noise of scale 2


def test_the_count_of_labels_is_paid_for_before_the_votes(monkeypatch):
    from sfumato_papers.baselines import pate_gan

    asked = []
    monkeypatch.setattr(pate_gan, "noisy_shares", lambda *args: asked.append(args[2]) or noisy_shares(*args))
    monkeypatch.setattr(pate_gan, "affordable", lambda *args: asked.append(args[1]) or affordable(*args))
    PATEGAN(rounds=1, labels=0.2)(np.random.default_rng(0), mixed(records=100), 2.0, 1e-4)
    assert asked == pytest.approx([0.4, 1.6])


def test_a_generator_begins_with_all_values():
    layout = Layout((0, 3, 0, 2), 2)
    with seeded(np.random.default_rng(0)):
        X = Generator.of(layout, 8, 32).rows(np.arange(2_000) % 2)
    assert np.bincount(X[:, 1].astype(int)).min() > 200
    assert (X[:, [0, 2]].std(axis=0) > 0.1).all()


def test_training_stops_when_epsilon_is_spent(monkeypatch):
    """Every batch that the student learns from was paid for, and the next one could not be."""
    from sfumato_papers.baselines import pate_gan

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
    assert spent(sum(charged[:-1]), 1e-4) <= 0.95 * 3.0 < spent(sum(charged), 1e-4)


def test_an_epsilon_for_no_vote_leaves_the_generator_as_it_began(monkeypatch):
    from sfumato_papers.baselines import pate_gan

    taught = []
    monkeypatch.setattr(pate_gan, "noisy_majority", lambda *args: taught.append(1) or noisy_majority(*args))
    rows = PATEGAN(records_each=10, lam=1.0)(np.random.default_rng(0), mixed(records=100), 0.1, 1e-4)
    assert not taught
    assert len(rows.y) == 100


def test_without_a_lambda_all_rounds_are_voted_on(monkeypatch):
    from sfumato_papers.baselines import pate_gan

    taught = []
    monkeypatch.setattr(pate_gan, "noisy_majority", lambda *args: taught.append(1) or noisy_majority(*args))
    PATEGAN(rounds=7)(np.random.default_rng(0), mixed(records=100), 1.0, 1e-4)
    assert len(taught) == 7
    PATEGAN(rounds=7)(np.random.default_rng(0), mixed(records=100), 0.01, 1e-4)
    assert len(taught) == 7


@pytest.mark.parametrize(
    ("rare", "epsilon"),
    [(0.1, 20.0), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((0.5, 20.0), (0.1, 1_000.0)))],
)
def test_an_easy_table_is_learnt_at_a_large_epsilon_however_rare_a_class_is(rare, epsilon):
    rows = PATEGAN(rounds=300)(np.random.default_rng(0), easy(records=2_000, rare=rare), epsilon, 1e-4)
    above, below = (rows.X[rows.y == label] for label in (1, 0))
    assert rows.y.mean() == pytest.approx(rare, abs=0.03)
    assert above[:, 0].mean() - below[:, 0].mean() > 0.2
    assert above[:, 3].mean() - below[:, 3].mean() > 0.4


@pytest.mark.parametrize(
    "wrong", [{"labels": 1.5}, {"labels": 0}, {"labels": -0.1}, {"records_each": 0}, {"rounds": 0}]
)
def test_settings_that_would_break_the_claim_are_refused(wrong):
    with pytest.raises(RequestError, match=next(iter(wrong))):
        PATEGAN(**wrong)


def test_the_noise_that_the_docstring_tells_of():
    assert 1 / affordable(16_000, 0.95, 1 / 24_421) == pytest.approx(1_225, rel=1e-3)
