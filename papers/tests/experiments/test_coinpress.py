"""CoinPress as a rival: its steps against slow ones, what it spends, and that it finds Gaussians."""

import math

import numpy as np
import pytest
from experiments import mixture_coinpress
from experiments.coinpress import MIXTURE, SUBSPACE, cells, gaussians_of, release, sizes
from experiments.mixture_coinpress import (
    clipped,
    coinpress,
    exact_rho,
    farthest,
    mean_share,
    pressed_mean,
    pressed_square,
    reach,
    rho_of,
    steps,
)
from experiments.mixture_data import DELTA, synthetic
from sfumato_papers.liu import divergence, fit

import sfumato


class Silence:
    """No noise; remembers how much there would have been."""

    def __init__(self) -> None:
        self.spreads: list[float] = []

    def normal(self, mean, spread, size=None):
        self.spreads.append(spread)
        return np.full(size, mean) if size else mean


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_budget_is_converted_as_in_the_paper(epsilon):
    rho = rho_of(epsilon, 1e-5)
    assert rho + 2 * math.sqrt(rho * math.log(1e5)) == pytest.approx(epsilon)
    assert exact_rho(epsilon, 1e-5) > rho


def test_steps_against_slow_ones():
    z = 3 * np.random.default_rng(0).standard_normal((50, 3))
    near = [row if math.hypot(*row) <= 2 else row / math.hypot(*row) * 2 for row in z]
    assert np.allclose(clipped(z, 2.0), near)
    mean, radius = pressed_mean(Silence(), z, 48.5, 2.0, 0.5)
    assert mean == pytest.approx([sum(row[j] for row in near) / 48.5 for j in range(3)])
    spread = 2 / (math.sqrt(2 * 0.5) * 48.5)
    assert radius == pytest.approx(reach(3) * math.sqrt(1 / 48.5 + spread**2))
    square, excess = pressed_square(Silence(), z, 48.5, 2.0, 0.5)
    slow = [[sum(row[i] * row[j] for row in near) / 48.5 for j in range(3)] for i in range(3)]
    assert square == pytest.approx(np.array(slow))
    assert excess > math.sqrt(3 / 48.5)


def test_one_record_moves_sums_by_what_the_noise_is_for():
    rng = np.random.default_rng(1)
    for _ in range(200):
        d = int(rng.integers(1, 6))
        z, longest = rng.standard_normal((20, d)) * rng.exponential(3), float(rng.exponential(2))
        few = clipped(z[1:], longest)
        every = clipped(z, longest)
        assert np.linalg.norm(every.sum(axis=0) - few.sum(axis=0)) <= longest * (1 + 1e-12)
        assert np.linalg.norm(every.T @ every - few.T @ few) <= longest**2 * (1 + 1e-12)


def test_noise_on_a_matrix_is_that_of_a_vector_of_its_norm():
    """Half as much variance off the diagonal, where every number stands twice in the norm."""
    rng = np.random.default_rng(2)
    z = np.zeros((1, 4))
    drawn = np.array([pressed_square(rng, z, 10.0, 3.0, 0.5)[0] for _ in range(4_000)])
    spread = 9 / math.sqrt(2 * 0.5) / 10
    diagonal = np.eye(4, dtype=bool)
    assert drawn[:, diagonal].std() == pytest.approx(spread, rel=0.05)
    assert drawn[:, ~diagonal].std() == pytest.approx(spread / math.sqrt(2), rel=0.05)
    assert np.array_equal(drawn, drawn.transpose(0, 2, 1))
    typical = np.mean([np.linalg.norm(one, 2) for one in drawn[:200]])
    assert 0.6 < typical / (spread * math.sqrt(2 * 4)) < 1.2


@pytest.mark.parametrize("exact", [False, True])
def test_no_more_than_the_budget_is_spent(monkeypatch, exact):
    """What each noise costs, by its sensitivity, adds up to rho for each class."""
    spent: list[float] = []

    def counted(step):
        def measured(rng, z, count, longest, rho):
            spent.append(rho)
            before = len(rng.spreads)
            found = step(rng, z, count, longest, rho)
            sensitivity = longest if step is pressed_mean else longest**2
            assert (sensitivity / count) ** 2 / (2 * rng.spreads[before] ** 2) == pytest.approx(rho)
            return found

        return measured

    monkeypatch.setattr(mixture_coinpress, "pressed_mean", counted(pressed_mean))
    monkeypatch.setattr(mixture_coinpress, "pressed_square", counted(pressed_square))
    records, silence = synthetic(0, 300, 3, 2), Silence()
    coinpress(silence, records, 2.0, exact=exact)
    rho = (exact_rho if exact else rho_of)(2.0, DELTA)
    counts = [1 / (2 * silence.spreads[place] ** 2) for place in (0, len(silence.spreads) // 2)]
    assert len(spent) == 2 * 2 * len(steps())
    assert sum(spent) + sum(counts) == pytest.approx(2 * rho)


def test_no_record_of_the_cube_is_farther_than_that():
    rng = np.random.default_rng(3)
    for _ in range(50):
        A, mean = rng.standard_normal((4, 4)), rng.uniform(-1, 1, 4)
        corners = rng.choice([-1.0, 1.0], (64, 4))
        assert np.linalg.norm((corners - mean) @ A.T, axis=1).max() <= farthest(A, mean)


def test_few_gaussian_records_are_clipped():
    for d in (1, 5, 30):
        z = np.random.default_rng(4).standard_normal((4_000, d))
        assert np.mean(np.linalg.norm(z, axis=1) > reach(d)) < mixture_coinpress.CLIPPED


def test_it_finds_gaussians_and_more_records_help():
    def kl(rows: int) -> float:
        tables = [synthetic(seed, rows, 3, 1) for seed in range(3)]
        found = [
            divergence(coinpress(np.random.default_rng(9), one, 4.0), fit(one.numbers, one.label, 1)).total
            for one in tables
        ]
        return float(np.median(found))

    assert kl(30_000) < 1e-3 < kl(300)


def test_the_mean_gets_less_of_the_budget_the_more_columns_there_are():
    assert 1 > mean_share(1) > mean_share(10) > mean_share(100) > 0
    assert sum(steps()) == pytest.approx(1)


def test_every_size_can_be_drawn_and_has_one_mechanism_of_the_library():
    names = {(cell.case, cell.part) for cell in cells([MIXTURE, SUBSPACE], quick=False)}
    assert len(names) == 2 * len(sizes())
    assert not any(size.rows == 1_000 and size.columns == 100 and size.classes == 5 for size in sizes())
    records = synthetic(0, 300, 2, 2)
    assert divergence(release(MIXTURE, records, 4.0, 0), fit(records.numbers, records.label, 2)).total < 1


def test_gaussians_of_a_subspace_are_those_that_are_drawn():
    records = synthetic(1, 4_000, 6, 2)
    made = sfumato.release(
        records.table(), records.schema(), epsilon=20, delta=DELTA, mechanism="subspace", ledger=None, types="declared"
    )
    found = gaussians_of(made.fitted, records)
    drawn = made.sample(20_000, seed=0, output="arrow")
    label, first = drawn.column("y").to_numpy(), drawn.column("x_0").to_numpy()
    for k in range(2):
        assert np.mean(label == k) == pytest.approx(found.weights[k], abs=0.02)
        spread = math.sqrt(found.covariances[k, 0, 0])
        assert first[label == k].mean() == pytest.approx(found.means[k, 0], abs=0.3 * spread)
        assert first[label == k].std() == pytest.approx(spread, rel=0.3)
