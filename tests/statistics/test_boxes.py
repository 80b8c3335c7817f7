"""Boxes against a slow, obvious version; a record is in one box."""

import json
import math

import numpy as np
import pytest

from sfumato.trusted.feature_maps import Boxes
from sfumato.trusted.feature_maps.bounded_map import UNIT, map_from_content
from tests.statistics.making import DIMENSIONS, a_map, a_whitening
from tests.statistics.reaching import draw


def slow(one: Boxes, z: list[float]) -> int:
    box = 0
    for entry in z[: one.axes]:
        cell = math.floor((entry + one.reach) / (2 * one.reach) * one.cells)
        box = box * one.cells + min(max(cell, 0), one.cells - 1)
    return box


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_record_is_counted_in_its_box(d):
    one = a_map("boxes", d)
    places = draw(one, np.random.default_rng(0), 1_000)
    values, box = one(places)
    assert box.tolist() == [slow(one, z) for z in one.whitening(places).T.tolist()]
    assert (values == UNIT).all()
    assert box.max() < one.blocks == 7 ** min(d, 3)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_middle_of_a_box_is_in_it(d):
    one = a_map("boxes", d)
    middle = np.zeros((d, one.blocks))
    middle[: one.axes] = one.centres.T
    assert [slow(one, z) for z in middle.T.tolist()] == list(range(one.blocks))


@pytest.mark.parametrize("change", [(0, 3, 1.0), (3, 3, 1.0), (1, 0, 1.0), (1, 3, 0.0), (1, 3, math.inf)])
def test_boxes_need_an_axis_a_cell_and_a_reach(change):
    with pytest.raises(ValueError, match="at least"):
        Boxes(a_whitening(2), *change)


def test_boxes_survive_json():
    one = a_map("boxes", 3)
    assert map_from_content(json.loads(json.dumps(one.to_dict()))).to_dict() == one.to_dict()
