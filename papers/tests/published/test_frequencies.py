"""The map of the weights: what (26) and (27) make of it, and what is wrong with it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sfumato_papers.liu.frequencies import frequency_map
from sfumato_papers.liu.neighbours import neighbouring_counts

costs = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40).map(np.array)


@given(costs, st.floats(1e-3, 20))
def test_its_rows_add_up_to_one(g, epsilon):
    F = frequency_map(g, epsilon)
    assert np.allclose(F.true + (len(g) - 1) * F.other, 1)


@given(costs, st.floats(1e-3, 20))
def test_its_columns_are_within_the_budget_of_each_other(g, epsilon):
    """(17), tight for every entry."""
    F = frequency_map(g, epsilon)
    ratios = np.abs(np.log(F.other / F.true))
    assert np.allclose(ratios, epsilon)


@given(costs, st.floats(1e-3, 20))
def test_costly_outcomes_get_the_least_and_others_the_most(g, epsilon):
    """Appendix C: the ends of the interval that (17) and the rows leave for the true column."""
    ends = [1 / (1 + (len(g) - 1) * math.exp(sign * epsilon)) for sign in (1, -1)]
    assert np.allclose(frequency_map(g, epsilon).true, np.where(g >= 0, *ends))


@given(costs, st.floats(1e-3, 20))
def test_what_is_drawn_from_is_a_distribution(g, epsilon):
    p = frequency_map(g, epsilon).probabilities
    assert (p > 0).all()
    assert p.sum() == pytest.approx(1)


@pytest.mark.parametrize(("sign", "total"), [(1, 0.7263), (-1, 1.3698)])
def test_the_true_column_does_not_add_up_to_one(sign, total):
    F = frequency_map(np.full(21, sign), 1 / 3)  # 5 classes
    assert F.true.sum() == pytest.approx(total, abs=1e-4)
    assert np.allclose(F.probabilities, 1 / 21)


@pytest.mark.parametrize(("classes", "delta"), [(2, 1 / 3), (3, 3 / 7), (5, 13 / 21), (6, 21 / 31), (10, 73 / 91)])
def test_many_outcomes_are_impossible_for_a_neighbour(classes, delta):
    """The mass that no epsilon covers, when all outcomes are equally likely."""
    counts = np.full(classes, 50)
    here = {tuple(row) for row in neighbouring_counts(counts)}
    there = {tuple(row) for row in neighbouring_counts(neighbouring_counts(counts)[1])}
    assert len(here - there) / len(here) == pytest.approx(delta)
    assert delta == pytest.approx(1 - (2 * classes - 2) / (classes**2 - classes + 1))
