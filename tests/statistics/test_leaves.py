"""Leaves against a slow, obvious walk in whole numbers; a record is in one leaf."""

import dataclasses
import json

import numpy as np
import pytest

from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Leaves
from sfumato.trusted.feature_maps.bounded_map import UNIT, map_from_content
from tests.statistics.making import DIMENSIONS, some_leaves
from tests.statistics.reaching import END


def slow(one: Leaves, part: int, record: list[int]) -> int:
    at = int(one.roots[part])
    while at >= 0:
        along = sum(a * x for a, x in zip(one.directions[at].tolist(), record, strict=True))
        at = int(one.below[at] if along <= int(one.thresholds[at]) else one.above[at])
    return -1 - at


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_record_is_counted_in_its_leaf(d):
    one = some_leaves(d)
    places = np.random.default_rng(0).integers(0, END + 1, (d, 2_000)).astype(np.float64)
    values, leaf = one(places)
    parts, records = one.rule(Batch(2_000, {}), places).tolist(), places.astype(np.int64).T.tolist()
    assert leaf.tolist() == [slow(one, part, record) for part, record in zip(parts, records, strict=True)]
    assert (values == UNIT).all()
    assert leaf.max() < one.blocks == 6


def test_a_record_on_a_threshold_goes_below():
    one = dataclasses.replace(some_leaves(1), directions=np.ones((4, 1), dtype=np.int32), thresholds=np.full(4, 7.0))
    assert one.leaf(np.array([[7.0]])) != one.leaf(np.array([[8.0]]))
    assert one.leaf(np.array([[6.0]])) == one.leaf(np.array([[7.0]]))


@pytest.mark.parametrize(
    "change",
    [
        {"thresholds": np.zeros(3)},
        {"thresholds": np.full(4, 2.0**53)},
        {"directions": np.full((4, 3), 2**31 - 1, dtype=np.int32)},
        {"roots": np.array([0], dtype=np.int32)},
        {"below": np.array([0, -1, -3, -5], dtype=np.int32)},  # a node that leads to itself
        {"above": np.array([2, -2, -4, -7], dtype=np.int32)},  # a leaf left out
    ],
)
def test_what_is_no_tree_is_refused(change):
    with pytest.raises(ValueError, match=r"splits|nodes|node"):
        dataclasses.replace(some_leaves(3), **change)


def test_leaves_survive_json():
    one = some_leaves(3)
    again = map_from_content(json.loads(json.dumps(one.to_dict())))
    assert again.to_dict() == one.to_dict()
    places = np.random.default_rng(0).integers(0, END + 1, (3, 100)).astype(np.float64)
    assert np.array_equal(again.leaf(places), one.leaf(places))
