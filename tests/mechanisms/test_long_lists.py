"""Rare categories: who stands alone, and that their total is kept."""

import numpy as np

from sfumato.fitting.mechanisms.counts.merging import group_rare, sum_groups
from sfumato.fitting.mechanisms.counts.one_way import _listed
from sfumato.trusted.feature_maps import Grid

CODES, SIGMA, RECORDS = 20_000, 30.0, 50_000


def noisy_counts(seed: int) -> np.ndarray:
    """Half of the records in ten categories, the other half spread over all others; two classes."""
    truth = np.full(CODES, RECORDS / 2 / (CODES - 10))
    truth[:10] = RECORDS / 20
    return truth[:, None] / 2 + np.random.default_rng(seed).normal(0, SIGMA, (CODES, 2))


def test_few_categories_stand_alone_by_chance():
    counts = noisy_counts(0)
    groups = group_rare(counts.sum(axis=1), SIGMA * np.sqrt(2))
    alone = np.flatnonzero(groups < groups.max())
    assert set(range(10)) <= set(alone)
    assert len(alone) < 10 + 30


def test_the_rare_ones_keep_their_total():
    grid, totals, off = Grid.of_cells(np.arange(CODES)), np.full(2, RECORDS / 2), []
    for seed in range(8):
        counts = noisy_counts(seed)
        column = _listed(grid, counts, SIGMA, totals, 1.0, np.zeros(len(counts), dtype=np.int64))
        own = counts[column.groups == column.groups.max()].sum()
        off.append((column.grouped[-1].sum() - RECORDS / 2, own - RECORDS / 2))
        assert np.sqrt(column.variance[-1]) < 0.1 * SIGMA * np.sqrt(CODES)  # far below the noise of their own sum
    ours, plain = np.sqrt(np.mean(np.square(off), axis=0))
    assert ours < plain / 2
    assert ours < 0.1 * RECORDS / 2


def test_sums_of_groups_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    values, groups = rng.normal(size=(40, 3)), np.append(np.arange(7), rng.integers(0, 7, 33))
    slow = np.array([values[groups == group].sum(axis=0) for group in range(7)])
    assert np.allclose(sum_groups(values, groups), slow)
