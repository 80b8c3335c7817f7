"""Counts in leaves against a walk by hand; the tree is a tree; nothing moves a count further than claimed."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import CellTree, Features, Grid, LeafLookup
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import LeafCounts, statistic_from_dict
from tests.statistics.hunting import holds

CODES = {"a": 5, "b": 300, "label": 4}
GRIDS = {"a": Grid.of_cells(np.array([2, 0, 1, 1, 0])), "b": Grid.of_cells(np.arange(300) // 31)}
NODES = {"axes": [0, 1, 1, 0], "thresholds": [0, 4, 7, 1], "below": [1, -1, 3, -3], "above": [2, -2, -4, -5]}


def tree_of(**changes) -> CellTree:
    parts = {name: np.array(part, dtype=np.int32) for name, part in (NODES | changes).items()}
    return CellTree(("a", "b"), (GRIDS["a"], GRIDS["b"]), **parts)


STATISTIC = LeafCounts(tree_of(), "label", Grid.of_cells(np.array([0, 1, 1, 2])))


def batch_of(rows: np.ndarray) -> Batch:
    return Batch(len(rows), {name: rows[:, place].astype(np.int32) for place, name in enumerate(CODES)})


def walk(row: np.ndarray) -> int:
    cells, at = [GRIDS[name].cell_of_code[row[place]] for place, name in enumerate("ab")], 0
    while at >= 0:
        low = cells[NODES["axes"][at]] <= NODES["thresholds"][at]
        at = NODES["below" if low else "above"][at]
    return -1 - at


rows = st.lists(st.tuples(*(st.integers(0, size - 1) for size in CODES.values())), max_size=40).map(
    lambda records: np.array(records, dtype=np.int64).reshape(-1, len(CODES))
)


@given(rows, st.lists(st.integers(0, 40), max_size=4))
def test_every_record_is_counted_in_its_leaf_however_the_table_is_split(records, cuts):
    expected = np.zeros((5, 3), dtype=np.int64)
    for row in records:
        expected[walk(row), STATISTIC.grid.cell_of_code[row[2]]] += 1
    parts = np.split(records, sorted(min(cut, len(records)) for cut in cuts))
    found = sum(STATISTIC(batch_of(part)) for part in parts)
    assert np.array_equal(found.reshape(5, 3), expected)
    assert found.dtype == np.int64


@pytest.mark.parametrize("adjacency", Adjacency)
def test_no_neighbour_moves_a_count_further_than_claimed_and_the_claim_is_reached(adjacency):
    assert holds(STATISTIC, adjacency, CODES, "label", tries=500) == (True, True)


def test_a_tree_that_looked_at_the_target_would_be_refused():
    with pytest.raises(ValueError, match="target"):
        LeafCounts(tree_of(), "a", GRIDS["a"])


def test_many_records_are_walked_in_parts():
    rng = np.random.default_rng(0)
    records = np.column_stack([rng.integers(0, size, 40_000) for size in CODES.values()])
    single = sum(STATISTIC(batch_of(part)) for part in np.array_split(records, 77))
    assert np.array_equal(STATISTIC(batch_of(records)), single)


def test_counts_and_features_by_leaf_survive_json():
    again = statistic_from_dict(json.loads(json.dumps(STATISTIC.to_dict())))
    records = batch_of(np.column_stack([np.arange(50) % size for size in CODES.values()]))
    assert again.to_dict() == STATISTIC.to_dict()
    assert np.array_equal(again(records), STATISTIC(records))
    values = np.arange(10, dtype=np.int32).reshape(2, 5)
    features = Features((), np.eye(2, dtype=np.int32) << 16, (LeafLookup(STATISTIC.tree, values),))
    read = Features.from_dict(json.loads(json.dumps(features.to_dict())))
    assert np.array_equal(read.values(records), values[:, STATISTIC.tree.leaf(records)])
    assert read.columns == ("a", "b")
    assert np.array_equal(read(records), features(records))


def test_a_tree_without_nodes_has_one_leaf():
    none = np.zeros(0, dtype=np.int32)
    tree = CellTree((), (), none, none, none, none)
    assert tree.leaves == 1
    assert not tree.leaf(batch_of(np.zeros((3, 3), dtype=np.int64))).any()


def test_it_follows_a_schema_that_has_its_columns():
    columns = [
        {"name": name, "type": "category", "values": [str(n) for n in range(size)]} for name, size in CODES.items()
    ]
    content = {"sfumato": 1, "name": "t", "columns": columns, "target": "label"}
    assert STATISTIC.follows(Schema.from_dict(content))
    assert not STATISTIC.follows(Schema.from_dict(content | {"target": "a"}))
    columns[1]["values"] = columns[1]["values"][:-1]
    assert not STATISTIC.follows(Schema.from_dict(content))


@pytest.mark.parametrize(
    "change",
    [
        {"below": [1, -1, 2, -3]},  # a node that leads to itself
        {"below": [1, -1, 0, -3]},  # to its parent: a walk without end
        {"below": [2, -1, 3, -3]},  # two ways to one node
        {"below": [1, -1, 3, -1]},  # two ways to one leaf
        {"below": [1, -1, 3, -9]},  # a leaf that is not counted
        {"below": [-2, 2, 1, -3], "above": [3, -1, -4, -5]},  # two nodes that lead to each other, and nobody to them
        {"axes": [0, 1, 2, 0]},
        {"axes": [0, -1, 1, 0]},
        {"thresholds": [0, 4, 7]},
        {"above": [2, -2, -4, -5, -6]},
    ],
)
def test_what_is_no_tree_is_refused(change):
    with pytest.raises(ValueError, match=r"tree|counted|column|node"):
        tree_of(**change)


def test_a_look_up_needs_a_value_for_every_leaf():
    with pytest.raises(ValueError, match="every leaf"):
        LeafLookup(tree_of(), np.zeros((1, 4), dtype=np.int32))
    with pytest.raises(ValueError, match="one grid"):
        CellTree(("a", "a"), (GRIDS["a"], GRIDS["a"]), *(np.zeros(0, dtype=np.int32) for _ in range(4)))
