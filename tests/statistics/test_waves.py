"""Waves: a table of whole numbers that is the sine, no pair longer than its share, and the formula by hand."""

import json
import math

import mpmath
import numpy as np
import pytest

from sfumato.trusted.feature_maps import FourierFeatures
from sfumato.trusted.feature_maps import fourier_features as waves
from sfumato.trusted.feature_maps.bounded_map import UNIT, map_from_content
from tests.statistics.making import DIMENSIONS, a_map
from tests.statistics.reaching import END, draw

SIZE = len(waves._SINES)
ONE = 2**30


def test_the_table_is_cosine_and_sine_cut_to_whole_numbers():
    """Against 40 digits on an eighth of the circle; the rest is its mirror image."""
    cosines, sines = (table.astype(np.int64).tolist() for table in (waves._COSINES, waves._SINES))
    with mpmath.workdps(40):
        for i in range(SIZE // 8):
            cosine, sine = mpmath.cos_sin(mpmath.pi * (2 * i + 1) / SIZE)
            assert 0 <= ONE * cosine - cosines[i] < 1
            assert 0 <= ONE * sine - sines[i] < 1
    assert sines[: SIZE // 4] == cosines[: SIZE // 4][::-1]
    assert cosines[SIZE // 4 : SIZE // 2] == [-one for one in cosines[: SIZE // 4][::-1]]
    assert sines[SIZE // 4 : SIZE // 2] == sines[: SIZE // 4][::-1]
    for table in (cosines, sines):
        assert table[SIZE // 2 :] == [-one for one in table[: SIZE // 2]]


def test_no_pair_of_the_table_is_longer_than_its_radius():
    cosines, sines = (table.astype(np.int64).tolist() for table in (waves._COSINES, waves._SINES))
    squares = [c * c + s * s for c, s in zip(cosines, sines, strict=True)]
    assert max(squares) <= ONE**2
    assert min(squares) >= ONE**2 - 4 * ONE


@pytest.mark.parametrize("kind", ["waves", "even waves"])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_no_pair_of_a_record_is_longer_than_its_share(kind, d):
    one = a_map(kind, d, seed=3)
    values = one(draw(one, np.random.default_rng(0), 2_000)).values.astype(np.int64)
    share = one.radius**2
    assert (values[1::2] ** 2 + values[2::2] ** 2).max() <= share
    assert (values[0] == one.count).all()
    assert one.count**2 + one.pairs * share <= UNIT**2 * (1 + 1e-15)


def slow(one: FourierFeatures, record: list[int]) -> list[float]:
    """One record's vector by the formula."""
    m, w = one.frequencies.size, one.weight
    vector = [math.sqrt(w)]
    for place, frequencies in zip(record, one.frequencies.tolist(), strict=True):
        for frequency in frequencies:
            turns = place / END * frequency / 2**10
            angle = 2 * math.pi * (math.floor(turns * SIZE) + 0.5) / SIZE
            vector += [math.cos(angle), math.sin(angle)]
    return [UNIT / math.sqrt(m + w) * entry for entry in vector]


@pytest.mark.parametrize("kind", ["waves", "even waves"])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_it_is_the_formula(kind, d):
    one = a_map(kind, d, seed=1)
    places = draw(one, np.random.default_rng(1), 200)
    found, block = one(places)
    expected = np.array([slow(one, record) for record in places.astype(np.int64).T.tolist()]).T
    assert np.abs(found - expected).max() <= 1 + 1e-9 * UNIT
    assert not block.any()


def test_the_steps_of_the_angle_are_small():
    one = FourierFeatures.of(np.array([[1.0, 20.0, 400.0]]), 1)
    places = np.arange(0, END + 1, 997, dtype=np.float64)[None]
    found = one(places).values / one.radius
    angle = places / END * one.angular.T
    assert np.abs(found[1::2] - np.cos(angle)).max() < math.pi / SIZE + 1e-6
    assert np.abs(found[2::2] - np.sin(angle)).max() < math.pi / SIZE + 1e-6


def test_frequencies_are_whole_and_have_an_end():
    one = FourierFeatures.of(np.array([[2 * math.pi, 1e9]]), 1)
    assert one.frequencies.tolist() == [[2**10, 2**24]]
    assert one.angular[0, 0] == pytest.approx(2 * math.pi)


def test_waves_survive_json():
    one = a_map("even waves", 3, seed=1)
    again = map_from_content(json.loads(json.dumps(one.to_dict())))
    assert again.to_dict() == one.to_dict()
    places = draw(one, np.random.default_rng(0), 50)
    assert np.array_equal(again(places).values, one(places).values)
