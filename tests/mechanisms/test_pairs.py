"""Which pairs are asked for, how coarsely, and with what weight: from released quantities alone."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.fitting.mechanisms.counts.classes import Classes
from sfumato.fitting.mechanisms.counts.merging import group_rare, merge_to
from sfumato.fitting.mechanisms.counts.one_way import OneWay, OneWays
from sfumato.fitting.mechanisms.counts.pairs import Tuning, _coarse, _levels, _most_categories, _weigh_cells, relevance
from sfumato.trusted.feature_maps import Grid


def column(counts: np.ndarray, sigma: float = 1.0, ordered: bool = True) -> OneWay:
    cells = len(counts)
    grid = Grid.of_cells(np.arange(cells))
    return OneWay(grid, counts.astype(float), sigma, np.arange(cells), cells if ordered else 0)


@pytest.mark.parametrize(
    ("size", "sigma", "columns", "classes", "levels"),
    [
        (30_000, 60, 10, 2, 12),  # 30000 / 144 = 208 records a cell: two deviations and more, not four
        (30_000, 150, 10, 2, 10),
        (30_000, 20, 10, 2, 19),
        (1e7, 20, 10, 2, 20),
        (100, 60, 10, 2, 3),
        (1e7, 20, 45, 5_000, 2),  # never more cells than memory holds, in the answer
        (1e7, 20, 600, 40, 4),  # or in the fit
    ],
)
def test_levels_follow_the_noise_and_the_memory(size, sigma, columns, classes, levels):
    assert _levels(size, sigma, columns, min(columns * (columns - 1) // 2, 1_000), classes) == levels


def test_a_column_that_tells_nothing_has_no_relevance():
    rng = np.random.default_rng(0)
    nothing = column(np.full((20, 2), 500) + 30 * rng.normal(size=(20, 2)), 30.0)
    much = column(np.linspace([100, 900], [900, 100], 20), 30.0)
    assert relevance(nothing) < 0.002
    assert relevance(much) > 0.1
    assert relevance(column(np.array([[1000.0], [0.0]]))) < 0.01
    assert relevance(column(np.array([[500.0], [500.0]]))) == pytest.approx(np.log(2))


def test_neighbours_are_joined_until_few_enough_are_left():
    counts = np.repeat([[100.0], [900.0], [400.0]], 4, axis=0)
    groups = merge_to(counts, np.ones(12), np.ones(12, dtype=int), 3)
    assert groups.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert merge_to(counts, np.ones(12), np.ones(12, dtype=int), 1).max() == 0


def test_the_largest_categories_stand_alone():
    totals = np.array([5.0, 900.0, 40.0, 300.0, 7.0])
    assert group_rare(totals, 1.0).tolist() == [0, 1, 2, 3, 4]
    assert group_rare(totals, 1.0, most=3).tolist() == [2, 0, 2, 1, 2]
    assert group_rare(totals, 10.0, most=9).tolist() == [3, 0, 1, 2, 3]


def test_missing_stays_alone_among_coarse_cells():
    grid = Grid.of_cells(np.arange(11))
    counts = np.append(np.linspace(10, 1000, 10), 500.0)[:, None]
    coarse = _coarse(OneWay(grid, counts, 1.0, np.arange(11), 10), 4, 4)
    assert coarse[-1] == 4
    assert (coarse[:-1] < 4).all()


def ways(sizes: dict[str, int], classes: int) -> OneWays:
    columns = {name: column(np.full((size, classes), 1000.0), ordered=False) for name, size in sizes.items()}
    return OneWays(columns, Classes(np.arange(classes), np.ones(classes)), np.full(classes, 1e6), 1.0)


@pytest.mark.parametrize(
    ("sizes", "classes", "most"),
    [
        ({"a": 500, "b": 30, "c": 5}, 1, 1_000),  # all of them
        ({"a": 900, "b": 900, "c": 5}, 1, 313),  # twice 313 and 5 are 631 cells: as many as time allows
        ({"a": 900, "b": 30, "c": 5}, 4, 281),
        ({"a": 900, "b": 900}, 100, 31),
        ({"a": 900, "b": 900}, 20_000, 12),  # never fewer than other columns have
    ],
)
def test_whole_categories_within_the_bounds(sizes, classes, most):
    pairs = list(itertools.combinations(sizes, 2))
    found = _most_categories(ways(sizes, classes), 12, pairs)
    assert found == most
    cells = [min(found, size) for size in sizes.values()]
    assert found == 12 or sum(cells) ** 2 * classes <= Tuning.most_whole


def test_a_column_keeps_every_category_that_stands_out():
    listed = column(np.append(900.0 + np.arange(40), 1.0)[:, None], ordered=False)
    assert _coarse(listed, 12, 1_000).max() + 1 == 41
    assert _coarse(listed, 12, 20).max() + 1 == 20


@given(st.lists(st.integers(2, 40), min_size=3, max_size=6), st.randoms(use_true_random=False))
def test_weights_by_cells_make_the_error_of_all_tables_least(sizes, random):
    """Any other weights of the same cost have a larger sum of cells times noise."""
    coarse = {str(place): np.arange(size) for place, size in enumerate(sizes)}
    pairs = list(itertools.combinations(coarse, 2))
    cells = np.array([len(coarse[one]) * len(coarse[other]) for one, other in pairs])
    best = np.array(list(_weigh_cells(dict.fromkeys(pairs, 1.0), coarse, 1 / 3).values()))
    other = best * np.array([random.uniform(0.5, 2.0) for _ in pairs])
    errors = [(cells / weights).sum() * np.sqrt((weights**2).sum()) for weights in (best, other)]
    assert errors[0] <= errors[1] * (1 + 1e-9)
    assert best.max() == 1
