"""Signed products against a slow, obvious version; order and split do not matter; the norm is never above its bound."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.feature_maps.features import contrasts
from sfumato.trusted.statistics import Products, statistic_from_dict
from sfumato.trusted.statistics.gradient import UNIT
from tests.statistics.hunting import hunt, norm, one
from tests.statistics.test_gradient import CODES, batch_of, gradient, rows

SIGNS = {"a": Grid.of_cells(np.array([1, 0, 0, 1, 1])), "b": Grid.of_cells((np.arange(300) >= 150).astype(int))}
SETS = (("a", "b"), ("b",), ("a",))


def products(classes: int, steep: float = 1.0) -> Products:
    asked = gradient(classes, steep=steep)
    return Products(SIGNS, SETS, asked.model, "label", asked.grid)


def slow(statistic: Products, row: np.ndarray) -> np.ndarray:
    codes = dict(zip(CODES, row, strict=True))
    sign = {name: 1 if grid.cell_of_code[codes[name]] else -1 for name, grid in SIGNS.items()}
    s = [np.prod([sign[name] for name in names]) for names in SETS]
    p = statistic.model.probabilities(statistic.model.features(batch_of(row[None])))[:, 0]
    rho = max(np.linalg.norm(e - p) for e in np.eye(len(p)))
    off = np.eye(len(p))[statistic.grid.cell_of_code[codes["label"]]] - p
    return np.outer(s, off @ contrasts(len(p))).ravel() / rho


@given(rows, st.sampled_from([2, 3, 4]))
def test_it_is_the_formula(records, classes):
    statistic = products(classes)
    expected = sum((slow(statistic, row) for row in records), np.zeros(3 * (classes - 1)))
    assert np.allclose(statistic(batch_of(records)) / UNIT, expected, atol=1e-6 * max(1, len(records)))


@given(rows, st.lists(st.integers(0, 40), max_size=4), st.randoms(), st.sampled_from([2, 3, 4]))
def test_any_order_and_any_split_give_the_same_sum(records, cuts, random, classes):
    statistic = products(classes)
    whole = statistic(batch_of(records))
    shuffled = records[random.sample(range(len(records)), len(records))]
    parts = np.split(shuffled, sorted(min(cut, len(records)) for cut in cuts))
    assert np.array_equal(sum(statistic(batch_of(part)) for part in parts), whole)
    assert whole.dtype == np.int64


def test_more_records_than_fit_at_once_are_summed_exactly():
    rng = np.random.default_rng(1)
    records = np.column_stack([rng.integers(0, size, 9_000) for size in CODES.values()])
    singles = sum(products(3)(batch_of(part)) for part in np.array_split(records, 700))
    assert np.array_equal(products(3)(batch_of(records)), singles)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("steep", [0.0, 0.3, 30.0])
def test_no_neighbour_moves_the_sum_further_than_claimed(adjacency, classes, steep):
    statistic = products(classes, steep)
    assert hunt(statistic, adjacency, CODES, "label", tries=400) <= statistic.sensitivity(adjacency)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_claim_is_reached(adjacency):
    """By two labels at p = 1/2, where all products are the same in both records."""
    statistic = products(2, steep=0.0)
    worst = hunt(statistic, adjacency, CODES, "label", tries=400)
    assert worst == pytest.approx(statistic.sensitivity(adjacency), rel=1e-5)


def test_a_vector_that_is_too_long_counts_for_nothing(monkeypatch):
    """Should floats err, the comparison in integers holds the bound."""
    monkeypatch.setattr("sfumato.trusted.statistics.gradient.A_HAIR_LESS", 1.01)
    statistic = products(2)
    assert hunt(statistic, Adjacency.ADD_REMOVE, CODES, "label", tries=200) <= UNIT * np.sqrt(3)


def test_one_set_left_unpaid_is_caught():
    class Unpaid(Products):
        def sensitivity(self, adjacency):
            return super().sensitivity(adjacency) * np.sqrt((len(self.sets) - 1) / len(self.sets))

    honest = products(2, steep=0.0)
    unpaid = Unpaid(honest.grids, honest.sets, honest.model, honest.target, honest.grid)
    record = {"a": 0, "b": 0, "label": 0}
    assert norm(unpaid, unpaid(one(record))) > unpaid.sensitivity(Adjacency.ADD_REMOVE)


def test_products_survive_json():
    statistic = products(3)
    again = statistic_from_dict(json.loads(json.dumps(statistic.to_dict())))
    assert again.to_dict() == statistic.to_dict()
    assert again.columns == ("a", "b", "label")
    records = np.column_stack([np.arange(50) % size for size in CODES.values()])
    assert np.array_equal(again(batch_of(records)), statistic(batch_of(records)))


@pytest.mark.parametrize(
    "change",
    [
        {"sets": ()},
        {"sets": (("a",),) * 5_000},  # a bound on memory
        {"sets": (("a", "c"),)},
        {"sets": ((),)},
        {"grids": {**SIGNS, "a": Grid.of_cells(np.arange(5))}},
        {"grids": {**SIGNS, "label": Grid.of_cells(np.arange(4) // 2)}},
        {"grid": Grid.of_cells(np.arange(4))},
    ],
)
def test_what_is_no_screen_is_refused(change):
    with pytest.raises(ValueError, match=r"need|of columns"):
        replace(products(2), **change)
