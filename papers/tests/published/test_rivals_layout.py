"""A record as a network sees it, and back."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sfumato_papers.baselines import Layout
from sfumato_papers.baselines.layout import drawn, largest

from tests.published.rival_tables import mixed

columns = st.lists(st.sampled_from([0, 0, 2, 3, 7]), min_size=1, max_size=6).map(tuple)


@given(columns, st.integers(2, 5), st.integers(0, 100))
def test_there_and_back(kinds, classes, seed):
    table = mixed(seed, 20, kinds, classes)
    layout = Layout.of(table)
    rows = layout.encode(table)
    assert rows.shape == (20, layout.width)
    for choose in (largest, drawn(np.random.default_rng(seed))):
        X, y = layout.decode(rows, choose)
        assert np.array_equal(X, table.X)
        assert np.array_equal(y, table.y)


def test_places_by_hand():
    layout = Layout((0, 3, 0, 2), 2)
    assert layout.places == (slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 7), slice(7, 9))
    assert layout.width == 9
    assert layout.label == slice(7, 9)
    assert layout.numbers.tolist() == [0, 4]
    assert layout.blocks == (slice(1, 4), slice(5, 7), slice(7, 9))


@given(columns, st.integers(2, 5), st.integers(0, 100))
def test_soft_rows_are_within_bounds_and_blocks_add_up_to_1(kinds, classes, seed):
    layout = Layout(kinds, classes)
    raw = torch.from_numpy(np.random.default_rng(seed).normal(0, 20, (5, layout.width)))
    soft = layout.squash(raw)
    assert soft.shape == raw.shape
    assert ((soft >= 0) & (soft <= 1)).all()
    for place in layout.blocks:
        assert torch.allclose(soft[:, place].sum(dim=1), torch.ones(5, dtype=torch.float64))


def test_sampled_rows_are_zeros_and_ones_that_pass_gradients_on():
    layout = Layout((0, 3), 2)
    raw = torch.tensor([[0.3, 1.0, 0.0, -1.0, 0.5, -0.5]]).repeat(4_000, 1).requires_grad_()
    torch.manual_seed(0)
    rows = layout.sample(raw)
    assert torch.allclose(rows.mean(0), layout.squash(raw)[0], atol=0.03)
    for place in layout.blocks:
        assert set(rows[:, place].detach().round(decimals=5).unique().tolist()) == {0, 1}
    rows[:, 1].sum().backward()
    assert raw.grad[:, 1].mean() > 0 > raw.grad[:, 2].mean()


def test_numbers_are_cut():
    X, _ = Layout((0,), 2).decode(np.array([[-0.5, 1, 0], [1.5, 0, 1]]), largest)
    assert X.tolist() == [[0.0], [1.0]]


def test_draws_follow_the_softmax():
    shares = np.array([0.2, 0.5, 0.0, 0.3])
    values = drawn(np.random.default_rng(0))(np.tile(shares * 1.00001, (20_000, 1)))  # sums are near 1 only
    assert np.bincount(values, minlength=4) / 20_000 == pytest.approx(shares, abs=0.015)
    assert 2 not in values
