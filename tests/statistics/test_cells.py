"""Counting against a slow, obvious version; order and split do not matter (threat 4)."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import BundleError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.statistics import Cells, Stacked, statistic_from_dict

CODES = {"a": 4, "b": 50, "y": 3}
GRIDS = {
    "a": Grid.of_cells(np.arange(4)),
    "b": Grid.of_cells(np.arange(50) // 9),
    "y": Grid.of_cells(np.array([0, 1, 0])),
}
CELLS = Cells((("a", "y"), ("b",), ("a", "b", "y")), GRIDS, "y")


def batch_of(rows: np.ndarray) -> Batch:
    return Batch(len(rows), {name: rows[:, place].astype(np.int32) for place, name in enumerate(CODES)})


def slow_counts(rows: np.ndarray) -> list[int]:
    counted = []
    for table in CELLS.tables:
        seen = Counter(tuple(GRIDS[name].cell_of_code[row[list(CODES).index(name)]] for name in table) for row in rows)
        counted += [seen[cell] for cell in itertools.product(*(range(GRIDS[name].size) for name in table))]
    return counted


rows = st.lists(st.tuples(*(st.integers(0, size - 1) for size in CODES.values())), max_size=60).map(
    lambda records: np.array(records, dtype=np.int64).reshape(-1, len(CODES))
)


@given(rows)
def test_counts_agree_with_counting_by_hand(records):
    assert CELLS(batch_of(records)).tolist() == slow_counts(records)


@given(rows, st.lists(st.integers(0, 60), max_size=6), st.randoms())
def test_any_order_and_any_split_give_the_same_sum(records, cuts, random):
    whole = CELLS(batch_of(records))
    shuffled = records[random.sample(range(len(records)), len(records))]
    parts = np.split(shuffled, sorted(min(cut, len(records)) for cut in cuts))
    assert np.array_equal(sum(CELLS(batch_of(part)) for part in parts), whole)
    assert whole.dtype == np.int64


def test_more_records_than_fit_at_once_are_counted_too():
    rng = np.random.default_rng(0)
    records = np.column_stack([rng.integers(0, size, 40_000) for size in CODES.values()])
    assert np.array_equal(CELLS(batch_of(records)), sum(CELLS(batch_of(part)) for part in np.array_split(records, 9)))


def test_a_heavier_table_gets_less_noise():
    weighted = Cells(CELLS.tables, GRIDS, "y", (1.0, 2.0, 0.5))
    assert [tuple(block) for block in weighted.blocks] == [(8, 1.0), (6, 2.0), (48, 0.5)]
    assert weighted.sensitivity(Adjacency.ADD_REMOVE) == pytest.approx(np.sqrt(1 + 4 + 0.25))
    assert weighted.sensitivity(Adjacency.LABEL) == pytest.approx(np.sqrt(2 * 1.25))
    again = statistic_from_dict(json.loads(json.dumps(weighted.to_dict())))
    assert again == weighted


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.0, 1.0), (1.0, 1.0, float("inf"))])
def test_cells_need_a_weight_for_each_table(weights):
    with pytest.raises(ValueError, match="weight"):
        Cells(CELLS.tables, GRIDS, "y", weights)


def test_a_vector_splits_into_its_tables():
    split = CELLS.split(np.arange(8 + 6 + 48))
    assert [values.shape for values in split.values()] == [(4, 2), (6,), (4, 6, 2)]
    assert split["b",][0] == 8


@pytest.mark.parametrize("statistic", [CELLS, Stacked((CELLS, CELLS), (1.0, 0.5))])
def test_a_statistic_survives_json(statistic):
    again = statistic_from_dict(json.loads(json.dumps(statistic.to_dict())))
    assert again == statistic
    assert again.columns == ("a", "y", "b")
    assert again.title


def test_an_unknown_statistic_is_refused():
    with pytest.raises(BundleError, match="'magic' is not known"):
        statistic_from_dict({"kind": "magic"})


def test_a_stack_says_its_parts_one_after_the_other():
    stack = Stacked((CELLS, Cells((("y",),), GRIDS, "y")), (1.0, 2.0))
    batch = batch_of(np.array([[0, 0, 1], [3, 49, 2]]))
    assert stack(batch).tolist() == [*CELLS(batch), 1, 1]
    assert [tuple(block) for block in stack.blocks] == [(62, 1.0), (2, 2.0)]


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.0), (1.0, float("nan"))])
def test_a_stack_needs_a_weight_for_each_part(weights):
    with pytest.raises(ValueError, match="weight"):
        Stacked((CELLS, CELLS), weights)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=80))
def test_a_grid_is_the_list_it_was_made_from(cells):
    dense = np.unique(cells, return_inverse=True)[1]
    grid = Grid.of_cells(dense)
    assert grid.cell_of_code.tolist() == dense.tolist()
    assert grid.widths.tolist() == np.bincount(dense).tolist()
    assert Grid.from_dict(grid.to_dict()) == grid
    assert grid.merge(np.zeros(grid.size, dtype=int)).size == 1


@pytest.mark.parametrize(
    ("starts", "cells", "codes"),
    [((), (), 3), ((1,), (0,), 3), ((0, 0), (0, 1), 3), ((0, 5), (0, 1), 3), ((0, 1), (0, 2), 3), ((0,), (0, 1), 3)],
)
def test_a_grid_must_cover_its_codes(starts, cells, codes):
    with pytest.raises(ValueError, match=r"grid|zip"):
        Grid(starts, cells, codes)


@given(st.data())
def test_long_grids_are_looked_up_in_pages(data):
    """Runs that begin and end anywhere, within a page or at its edge, and cells that return."""
    codes = data.draw(st.sampled_from([8191, 8192, 8193, 2**15, 2**15 + 3]))
    starts = sorted({0, *data.draw(st.lists(st.integers(1, codes - 1) | st.sampled_from([128, 256, 8064, codes - 1])))})
    cells = data.draw(st.lists(st.integers(0, 3), min_size=len(starts), max_size=len(starts)))
    known = sorted(set(cells))
    grid = Grid(tuple(starts), tuple(known.index(cell) for cell in cells), codes)
    assert np.array_equal(grid.cells_of(np.arange(codes, dtype=np.int32)), grid.cell_of_code)


def test_long_grids_are_written_in_stretches():
    starts = (*range(0, 100_000, 7), *range(100_000, 100_005))
    grid = Grid(starts, tuple(range(len(starts))), 100_005)
    content = grid.to_dict()
    assert len(str(content)) < 300
    assert Grid.from_dict(content) == grid
    with pytest.raises(ValueError, match="too many runs"):
        Grid.from_dict({**content, "starts": [[0, 1, 2**30]]})
    with pytest.raises(ValueError, match="without any"):
        Grid.from_dict({**content, "starts": [[0, 1, 5], [5, 1, 0]]})
