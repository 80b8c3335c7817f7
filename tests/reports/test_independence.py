"""Whether the test of a noisy table holds its level under independence, and sees dependence."""

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.reports.public_independence import Side, chance_of_table, tail_of_chi_squared

LISTED = Side(None)


def ordered(cells, missing=False):
    numbers = np.arange(float(cells))
    return Side(np.append(numbers[:-1], np.nan) if missing else numbers)


def noisy(rng, records, p, q, sigma):
    shares = np.outer(p, q).ravel()
    return rng.multinomial(records, shares).reshape(len(p), len(q)) + rng.normal(0, sigma, (len(p), len(q)))


@pytest.mark.parametrize(("value", "degrees"), [(3.8, 1), (0.01, 1), (50, 10), (200, 121), (100, 121), (700, 500)])
def test_the_tail_is_that_of_chi_squared(value, degrees):
    assert tail_of_chi_squared(value, degrees) == pytest.approx(chi2.sf(value, degrees), rel=1e-9)


@pytest.mark.parametrize(
    ("records", "sigma", "shape", "skew", "sides"),
    [
        (3_000, 20.0, (10, 10), 5.0, (ordered(10), ordered(10))),
        (8_000, 12.0, (2, 12), 0.3, (LISTED, ordered(12, missing=True))),
        (20_000, 8.0, (40, 30), 0.3, (LISTED, LISTED)),
        (1_000, 0.01, (3, 3), 0.5, (LISTED, LISTED)),
        (300, 30.0, (6, 6), 5.0, (LISTED, ordered(6))),
    ],
    ids=["noise", "rare", "many values", "hardly any noise", "all noise"],
)
def test_independent_columns_are_rarely_called_dependent(records, sigma, shape, skew, sides):
    rng = np.random.default_rng(7)
    chances = []
    for _ in range(400):
        p, q = (rng.dirichlet(np.full(size, skew)) for size in shape)
        chances.append(chance_of_table(noisy(rng, records, p, q, sigma), sigma, sides))
    assert np.mean(np.array(chances) < 0.1) < 0.14
    assert np.mean(np.array(chances) < 0.01) < 0.025
    assert min(chances) > 1e-5


def test_power_grows_with_records_and_falls_with_noise():
    rng = np.random.default_rng(0)
    shares = np.exp(-0.12 * np.subtract.outer(np.arange(10), np.arange(10)) ** 2)
    shares /= shares.sum()

    def chance(records, sigma):
        table = rng.multinomial(records, shares.ravel()).reshape(10, 10) + rng.normal(0, sigma, (10, 10))
        return chance_of_table(table, sigma, (ordered(10), ordered(10)))

    assert chance(5_000, 15.0) < 1e-6
    assert chance(100, 60.0) == 1.0
    either = np.array([[260.0, 240.0], [240.0, 260.0]])
    assert chance_of_table(4 * either, 5.0, (LISTED, LISTED)) < chance_of_table(4 * either, 50.0, (LISTED, LISTED))


def test_several_records_of_a_person_prove_less():
    table = np.array([[560.0, 440.0], [440.0, 560.0]])
    alone, together = (chance_of_table(table, 5.0, (LISTED, LISTED), together=k) for k in (1, 10))
    assert alone < 1e-5 < together


def test_a_table_without_two_cells_says_nothing():
    assert chance_of_table(np.ones((1, 5)) * 1e6, 1.0, (LISTED, LISTED)) == 1.0
    assert chance_of_table(np.array([[1e6, 0.0], [0.0, 0.0]]), 1.0, (LISTED, LISTED)) == 1.0
