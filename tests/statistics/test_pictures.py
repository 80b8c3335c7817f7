"""Edges of pictures: what they are, and that they are a record's own to the last digit."""

import json
import math

import numpy as np
import pytest
from scipy.ndimage import correlate1d

from sfumato.encoding import Batch
from sfumato.errors import BundleError
from sfumato.privacy.adjacency import Adjacency
from sfumato.schema import Schema
from sfumato.statistics import ByTarget, Distances, Oriented, Places, RowSums, Scatter, View, statistic_from_content
from sfumato.statistics.coordinates import coordinates_from_content
from sfumato.statistics.pictures import Pictures, pictures_of
from tests.statistics.hunting import hunt
from tests.statistics.splitting import same_for_any_split

HIGH, WIDE = 12, 15
TOP = 2**21
ONE = Pictures(((0, HIGH, WIDE),))


def schema_of(*runs: str) -> Schema:
    label = "{name: label, type: category, values: [p, q, r]}"
    return Schema.from_yaml(f"{{sfumato: 1, name: t, target: label, columns: [{', '.join((*runs, label))}]}}")


def run(name: str, high: int, wide: int) -> str:
    return f'{{name: "{name}_{{0..{high * wide - 1}}}", type: integer, bounds: [0, 255], image: [{high}, {wide}]}}'


def noisy(count: int, pixels: int = HIGH * WIDE, seed: int = 0) -> np.ndarray:
    return np.rint(np.random.default_rng(seed).random((pixels, count)) * TOP)


def slow(picture: np.ndarray) -> np.ndarray:
    """Edges of one picture with pixels from 0 to 1, one filter at a time."""
    found = []
    for width in (1.0, 2.0):
        steps = np.arange(-math.ceil(4 * width), math.ceil(4 * width) + 1)
        bell = np.exp(-(steps**2) / (2 * width**2)) / (width * math.sqrt(2 * math.pi))
        slope = bell * steps / width
        right = correlate1d(correlate1d(picture, slope, 1, mode="nearest"), bell, 0, mode="nearest")
        below = correlate1d(correlate1d(picture, slope, 0, mode="nearest"), bell, 1, mode="nearest")
        for turn in range(4):
            ahead = math.cos(turn * math.pi / 4) * right + math.sin(turn * math.pi / 4) * below
            for edge in (np.maximum(ahead, 0), np.maximum(-ahead, 0)):
                found += [
                    (np.outer(bump(HIGH, down), bump(WIDE, across)) * edge).sum()
                    for down in range(6)
                    for across in range(7)
                ]
    edges = np.array(found)
    return np.sqrt(edges / np.linalg.norm(edges))


def bump(pixels: int, point: int) -> np.ndarray:
    """A Gaussian around a point of seven, or of six in twelve pixels, half as wide as they lie apart."""
    step = pixels / min(7, pixels // 2)
    away = np.arange(pixels) - ((point + 0.5) * step - 0.5)
    return np.exp(-(away**2) / (2 * (step / 2) ** 2)) / (step / 2 * math.sqrt(2 * math.pi))


def test_edges_are_those_of_plain_filters():
    places = noisy(5)
    found = ONE(places) / TOP
    for n in range(5):
        assert np.allclose(found[:, n], slow(places[:, n].reshape(HIGH, WIDE) / TOP), atol=4e-3)


def test_they_are_whole_numbers_in_their_range():
    found = ONE(noisy(300))
    assert found.shape == (ONE.size, 300) == (2 * 8 * 6 * 7, 300)
    assert np.array_equal(found, np.rint(found))
    assert found.min() >= 0
    assert found.max() <= TOP
    dots = np.zeros((HIGH * WIDE, HIGH * WIDE))
    np.fill_diagonal(dots, TOP)
    assert ONE(dots).max() <= TOP


def test_a_record_has_the_same_edges_alone_and_in_company():
    places = noisy(1_000)
    whole = ONE(places)
    assert all(np.array_equal(ONE(places[:, [n]])[:, 0], whole[:, n]) for n in range(0, 1_000, 37))
    assert np.array_equal(ONE(places[:, ::-1]), whole[:, ::-1])


@pytest.mark.parametrize("value", [0, 77, TOP])
def test_a_flat_picture_has_none(value):
    """Whatever its value: a picture goes on beyond its frame."""
    assert not ONE(np.full((HIGH * WIDE, 1), float(value))).any()


def test_edges_of_the_negative_point_the_other_way():
    pixels = np.floor(noisy(20) / 512) * 512
    edges, negative = (ONE(one).reshape(2, 4, 2, 42, -1) for one in (pixels, TOP - pixels))
    assert np.abs(edges[:, :, ::-1] - negative).max() <= 2


def test_pictures_side_by_side_are_seen_each():
    both = Pictures(((0, HIGH, WIDE), (HIGH * WIDE, 4, 6)))
    places = noisy(10, both.columns)
    second = Pictures(((0, 4, 6),))(places[HIGH * WIDE :])
    assert np.array_equal(both(places), np.concatenate((ONE(places[: HIGH * WIDE]), second)))


@pytest.mark.parametrize("shapes", [(), ((1, 8, 8),), ((0, 3, 8),), ((0, 8, 8), (60, 8, 8))])
def test_shapes_that_are_no_pictures_are_refused(shapes):
    with pytest.raises(ValueError, match="picture"):
        Pictures(shapes)


def test_a_schema_says_what_is_a_picture():
    assert pictures_of(columns(run("red", 8, 8), run("blue", 4, 5))) == Pictures(((0, 8, 8), (64, 4, 5)))
    assert pictures_of(columns(run("flat", 2, 50))) is None
    assert pictures_of(columns(run("red", 8, 8), "{name: age, type: integer, bounds: [0, 99]}")) is None
    assert pictures_of({}) is None
    with pytest.raises(ValueError, match="picture"):
        Oriented(Places(columns("{name: age, type: integer, bounds: [0, 99]}")))


def columns(*runs: str):
    return {name: column for name, column in schema_of(*runs).by_name.items() if name != "label"}


SMALL = Oriented(Places(columns(run("p", 4, 4))))
CODES = {**dict.fromkeys(SMALL.names, 256), "label": 3}
DIRECTIONS = np.random.default_rng(0).normal(size=(5, SMALL.size))
CENTRES = np.random.default_rng(2).random((3, SMALL.size))
VIEW = View.of(SMALL, ByTarget("label", 3), CENTRES, DIRECTIONS)
STATISTICS = [RowSums(VIEW, 1.0), Scatter(VIEW, 1.0, apart=True), Distances(VIEW, (10.0, 20.0, 30.0))]


def batch_of(rows: int) -> Batch:
    rng = np.random.default_rng(1)
    return Batch(rows, {name: rng.integers(0, size, rows).astype(np.int32) for name, size in CODES.items()})


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_no_neighbour_moves_a_sum_of_edges_further_than_claimed(statistic, adjacency):
    found = hunt(statistic, adjacency, CODES, "label", tries=100)
    assert 0.6 * statistic.sensitivity(adjacency) < found <= statistic.sensitivity(adjacency)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_sums_of_edges_are_the_same_for_any_split_and_after_json(statistic):
    batch = batch_of(500)
    order = np.random.default_rng(0).permutation(500)
    assert same_for_any_split(statistic, batch, [1, 2, 17, 499], order)
    again = statistic_from_content(json.loads(json.dumps(statistic.to_content())))
    assert again.to_content() == statistic.to_content()
    assert again.columns == (*SMALL.names, "label")
    assert np.array_equal(again(batch), statistic(batch))


def test_coordinates_of_another_kind_are_refused():
    with pytest.raises(BundleError, match="update"):
        coordinates_from_content({"kind": "smells"})
