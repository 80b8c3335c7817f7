"""Shells against a slow, obvious version; a record is in one shell."""

import json
import math

import numpy as np
import pytest

from sfumato.trusted.feature_maps import Shells, Whitening
from sfumato.trusted.feature_maps.bounded_map import UNIT, amplitude, map_from_content
from tests.statistics.making import DIMENSIONS, a_map
from tests.statistics.reaching import END, draw, squares


def slow(one: Shells, record: list[int]) -> tuple[list[float], int]:
    """One record's vector and shell by the formula."""
    matrix, centre = one.whitening.exact_matrix.tolist(), one.whitening.centre.tolist()
    z = [sum(m * (x - c) / END for m, x, c in zip(row, record, centre, strict=True)) for row in matrix]
    t = sum(entry * entry for entry in z)
    shell = next((j for j, edge in enumerate(one.edges) if t <= edge), len(one.edges) - 1)
    if t > one.edges[-1]:
        z = [entry * math.sqrt(one.edges[-1] / t) for entry in z]
    u = [entry / math.sqrt(1 + one.g) for entry in (math.sqrt(one.g), *(x / math.sqrt(one.edges[shell]) for x in z))]
    size = range(len(u))
    return [u[i] * u[j] * (1 if i == j else math.sqrt(2)) for i in size for j in size if i <= j], shell


@pytest.mark.parametrize("d", DIMENSIONS)
def test_it_is_the_formula(d):
    one = a_map("shells", d)
    places = draw(one, np.random.default_rng(d), 400)
    found, shells = one(places)
    by_hand = [slow(one, record) for record in places.astype(np.int64).T.tolist()]
    expected = amplitude(one.width) * np.array([vector for vector, _ in by_hand]).T
    assert np.all(np.abs(found - expected) <= 1 + 1e-9 * np.abs(expected))
    assert shells.tolist() == [shell for _, shell in by_hand]
    assert len(set(shells.tolist())) > 5


def test_a_record_on_an_edge_is_in_the_shell_that_it_ends():
    one = Shells(Whitening(np.array([0], dtype=np.int32), np.array([[1]], dtype=np.int32), 0), (4.0, 9.0), 0.5)
    values, shells = one(np.array([[0.0, 1.0, 2.0, 3.0, 4.0, 1000.0]]))
    assert shells.tolist() == [0, 0, 0, 1, 1, 1]
    assert squares(one, np.array([[2.0, 3.0, 4.0, 1000.0]])) == pytest.approx(UNIT**2, rel=1e-5)
    assert values[2].tolist() == pytest.approx(
        [amplitude(3) / 1.5 * share for share in (0, 1 / 4, 1, 1, 1, 1)], abs=1.01
    )


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_shells_that_suit_a_dimension(d):
    one = a_map("shells", d)
    assert one.blocks == 11
    assert one.edges[0] == pytest.approx(d + 2 * math.sqrt(2 * d))
    assert all(high == 2 * low for low, high in zip(one.edges, one.edges[1:], strict=False))
    z = np.random.default_rng(0).normal(size=(d, 20_000))
    assert 0.93 < ((z * z).sum(axis=0) < one.edges[0]).mean() < 0.97


def test_shells_survive_json():
    one = a_map("shells", 3)
    again = map_from_content(json.loads(json.dumps(one.to_dict())))
    assert again.to_dict() == one.to_dict()
    places = draw(one, np.random.default_rng(0), 50)
    assert np.array_equal(again(places).values, one(places).values)
