"""Counts by distance against a slow, obvious version; a record is at one distance."""

import json
import math

import numpy as np
import pytest

from sfumato.trusted.feature_maps import Radii
from sfumato.trusted.feature_maps.bounded_map import UNIT, map_from_content
from tests.statistics.making import DIMENSIONS, a_map, a_whitening
from tests.statistics.reaching import draw


def slow(one: Radii, z: list[float]) -> int:
    square = 0.0
    for entry in z:
        square += entry * entry
    return sum(square > edge for edge in one.edges)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_a_record_is_counted_at_its_distance(d):
    one = a_map("radii", d)
    places = draw(one, np.random.default_rng(0), 1_000)
    values, block = one(places)
    assert block.tolist() == [slow(one, z) for z in one.whitening(places).T.tolist()]
    assert (values == UNIT).all()
    assert set(block.tolist()) == set(range(one.blocks))


@pytest.mark.parametrize("edges", [(), (0.0,), (2.0, 1.0), (1.0, 1.0), (math.nan,), (math.inf,)])
def test_distances_need_edges_that_rise(edges):
    with pytest.raises(ValueError, match="edges that rise"):
        Radii(a_whitening(2), edges)


def test_radii_survive_json():
    one = a_map("radii", 3)
    assert map_from_content(json.loads(json.dumps(one.to_dict()))).to_dict() == one.to_dict()
