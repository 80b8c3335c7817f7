"""Draws of many distributions at once, against what they should be."""

import numpy as np
import pytest

from sfumato.fitting.models.table_mixture.pool import draw_pool
from sfumato.fitting.models.table_mixture.strata import draw_all_strata, draw_strata
from tests.models.test_table_mixture import model

assert model  # a fixture

THETA = np.array([[0.1, 0.0, 0.6, 0.3, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0], [0.3, 0.3, 0.2, 0.1, 0.1]])


def test_every_row_has_its_draws_in_proportion():
    counts = np.array([1_001, 0, 2_003])
    drawn = draw_strata(THETA, counts, np.random.default_rng(0))
    assert len(drawn) == counts.sum()
    for row, part in zip(THETA, np.split(drawn, np.cumsum(counts)[:-1]), strict=True):
        found = np.bincount(part, minlength=5)
        assert (np.abs(found - row * len(part)) < 2).all()  # a place loses or gains one draw at each end
        assert (found[row == 0] == 0).all()


def test_each_draw_by_itself_is_of_the_distribution():
    counts, times = np.array([3, 1, 4]), 20_000
    rng = np.random.default_rng(1)
    drawn = np.array([draw_strata(THETA, counts, rng) for _ in range(times)])
    for place, row in enumerate(np.repeat(THETA, counts, axis=0)):
        found = np.bincount(drawn[:, place], minlength=5) / times
        assert np.abs(found - row).max() < 5 * np.sqrt(0.25 / times)


def test_columns_are_independent_given_the_row():
    rng, rows = np.random.default_rng(2), 50_000
    first, second = draw_all_strata([THETA[2:], THETA[2:]], np.array([rows]), rng)
    joint = np.bincount(first * 5 + second, minlength=25).reshape(5, 5) / rows
    assert np.abs(joint - np.outer(THETA[2], THETA[2])).max() < 0.005


def test_long_lists_are_drawn_alike(monkeypatch):
    monkeypatch.setattr("sfumato.fitting.models.table_mixture.strata._LONG", 0)
    test_every_row_has_its_draws_in_proportion()
    test_each_draw_by_itself_is_of_the_distribution()


def test_order_tells_nothing():
    drawn = draw_strata(THETA[2:], np.array([100_000]), np.random.default_rng(3))
    early, late = np.bincount(drawn[:50_000], minlength=5), np.bincount(drawn[50_000:], minlength=5)
    assert np.abs(early - late).max() < 5 * np.sqrt(25_000)
    assert np.mean(drawn[1:] == drawn[:-1]) == pytest.approx((THETA[2] ** 2).sum(), abs=0.01)


@pytest.mark.parametrize("theta", [np.ones((1, 1)), np.full((7, 1), 2.0), np.full((1, 300), 0.1)])
def test_of_few_and_many(theta):
    counts = np.arange(1, len(theta) + 1)
    drawn = draw_strata(theta, counts, np.random.default_rng(4))
    assert len(drawn) == counts.sum()
    assert ((drawn >= 0) & (drawn < theta.shape[1])).all()


def test_a_sample_is_of_the_distribution_of_the_slow_pool(model):
    rows = 200_000
    fast, slow = model.sample(rows, np.random.default_rng(5)), draw_pool(model, rows, np.random.default_rng(5))
    counted = [
        np.bincount((codes["a"] * 10 + codes["b"]) * 3 + codes["c"], minlength=120) / rows
        for codes in (fast.codes, slow.codes)
    ]
    assert np.abs(counted[0] - counted[1]).max() < 5 * np.sqrt(2 * 0.05 / rows)
