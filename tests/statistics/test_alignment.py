"""Pictures aligned: what moves are, that they can be undone, and that all is a record's own to the last digit."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from sfumato.errors import BundleError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import AlignedImages, ByTarget, CentredProjection, ScaledColumns
from sfumato.trusted.feature_maps.alignment import (
    MOVES,
    ImageFrame,
    Moves,
    align,
    align_images,
    picture_of,
    set_back,
)
from sfumato.trusted.feature_maps.coordinates import coordinates_from_content
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import ClippedSums, DistanceHistogram, Scatter, statistic_from_dict
from tests.statistics.hunting import hunt
from tests.statistics.splitting import same_for_any_split

HIGH, WIDE = 20, 16
FRAME = ImageFrame(HIGH, WIDE, still=False, dark=False, across=0.3, down=-0.2, slant=0.1, width=2.0, height=3.0)


def stroke(across: float, down: float, slant: float, width: float, height: float) -> np.ndarray:
    """A Gaussian blot, its ink in pixels from 0 to 1."""
    y, x = np.mgrid[0:HIGH, 0:WIDE]
    v = (y - (HIGH - 1) / 2 - down) / height
    u = (x - (WIDE - 1) / 2 - across - slant * v * height) / width
    return np.exp(-(u**2 + v**2) / 2).reshape(-1, 1)


def whole(ink: np.ndarray) -> np.ndarray:
    return np.floor(ink * 2**12)


def slow_moments(image: np.ndarray) -> tuple[float, ...]:
    """Middle, slant and spreads of the ink, with an ounce of it where the frame has its own."""
    y, x = np.mgrid[0:HIGH, 0:WIDE]
    points = np.column_stack((x.ravel() - (WIDE - 1) / 2, y.ravel() - (HIGH - 1) / 2))
    lean = FRAME.slant * FRAME.height**2
    own = np.array([[FRAME.width**2 + FRAME.slant * lean, lean], [lean, FRAME.height**2]])
    weight, start = image.ravel(), np.array([FRAME.across, FRAME.down])
    mass = weight.sum() + 1
    middle = (weight @ points + start) / mass
    second = (points.T * weight) @ points + own + np.outer(start, start)
    (xx, xy), (_, yy) = second / mass - np.outer(middle, middle)
    return *middle, xy / yy, math.sqrt(xx - xy**2 / yy) / FRAME.width, math.sqrt(yy) / FRAME.height


@pytest.mark.parametrize("shape", [(0.3, -0.2, 0.1, 2.0, 3.0), (1.0, 1.5, 0.4, 1.6, 2.5), (-1.5, 0.0, -0.5, 2.5, 3.5)])
def test_moves_are_those_of_the_ink(shape):
    image = stroke(*shape)
    found = [float(one[0]) for one in Moves.of(whole(image), FRAME)]
    assert found == pytest.approx(slow_moments(image), abs=0.01)


@pytest.mark.parametrize("shape", [(1.0, 1.5, 0.4, 1.6, 2.5), (-1.0, 0.0, -0.3, 2.3, 3.2)])
def test_an_aligned_stroke_lies_as_the_frame_does(shape):
    image = stroke(*shape)
    aligned = align(image, Moves.of(whole(image), FRAME), FRAME)
    again = Moves.of(whole(aligned), FRAME)
    assert [float(one[0]) for one in again] == pytest.approx([0.3, -0.2, 0.1, 1.0, 1.0], abs=0.12)
    assert np.abs(aligned - stroke(0.3, -0.2, 0.1, 2.0, 3.0)).max() < 0.2


@pytest.mark.parametrize("shape", [(1.0, 1.5, 0.4, 1.6, 2.5), (-1.0, 0.0, -0.3, 2.3, 3.2)])
def test_what_was_aligned_is_set_back(shape):
    image = stroke(*shape)
    moves = Moves.of(whole(image), FRAME)
    assert np.abs(set_back(align(image, moves, FRAME), moves, FRAME) - image).max() < 0.12


def test_pixels_between_pixels_are_those_of_the_four_around():
    rng = np.random.default_rng(0)
    image = rng.random((HIGH * WIDE, 1))
    moves = Moves(*(np.array([value]) for value in (0.7, -0.4, 0.3, 1.2, 0.8)))
    down, across = (axis - (side - 1) / 2 for axis, side in zip(np.mgrid[0:HIGH, 0:WIDE], (HIGH, WIDE), strict=True))
    lower, beside = down + 0.2, across - 0.3 - 0.1 * (down + 0.2)
    at = [-0.4 + 0.8 * lower + (HIGH - 1) / 2, 0.7 + 1.2 * beside + 0.3 * 0.8 * lower + (WIDE - 1) / 2]
    slow = map_coordinates(np.pad(image.reshape(HIGH, WIDE), 3), [one + 3 for one in at], order=1)
    assert np.allclose(align(image, moves, FRAME).reshape(HIGH, WIDE), slow, atol=1e-9)


@given(st.lists(st.floats(0, 1), min_size=MOVES, max_size=MOVES))
def test_moves_have_places_from_0_to_1(places):
    there = np.array(places)[:, None]
    assert np.allclose(Moves.from_places(there, FRAME).to_places(FRAME), there, atol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("dark", [False, True])
def test_a_flat_picture_is_moved_within_bounds(value, dark):
    frame = ImageFrame(HIGH, WIDE, False, dark, 0.3, -0.2, 0.1, 2.0, 3.0)
    found = align_images(np.full((HIGH * WIDE, 1), value), frame)
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1
    if value == dark:  # no ink: it stays where it is
        assert found[-MOVES:, 0] == pytest.approx([0.5, 0.5, 0.5, 8 / 21, 8 / 21])


def test_still_pictures_stay_as_they_are():
    still = ImageFrame(HIGH, WIDE, True, False, 0.3, -0.2, 0.1, 2.0, 3.0)
    image = stroke(1.0, 1.5, 0.4, 1.6, 2.5)
    found = align_images(image, still)
    assert np.array_equal(found[:-MOVES], image)
    assert found[-MOVES:, 0] == pytest.approx([0.5, 0.5, 0.5, 8 / 21, 8 / 21])
    assert np.array_equal(set_back(image, Moves.from_places(np.full((MOVES, 1), 0.9), still), still), image)


def test_light_on_dark_and_dark_on_light_are_set_alike():
    image = stroke(1.0, 1.5, 0.4, 1.6, 2.5)
    image = np.rint(image * 2**12) / 2**12
    dark = ImageFrame(HIGH, WIDE, False, True, 0.3, -0.2, 0.1, 2.0, 3.0)
    assert np.array_equal(align_images(image, FRAME), align_images(1 - image, dark))


def schema_of(*runs: str) -> Schema:
    label = "{name: label, type: category, values: [p, q, r]}"
    return Schema.from_yaml(f"{{sfumato: 1, name: t, target: label, columns: [{', '.join((*runs, label))}]}}")


def run(name: str, high: int, wide: int) -> str:
    return f'{{name: "{name}_{{0..{high * wide - 1}}}", type: integer, bounds: [0, 255], image: [{high}, {wide}]}}'


def columns(*runs: str):
    return {name: column for name, column in schema_of(*runs).by_name.items() if name != "label"}


def test_a_schema_says_what_is_one_picture():
    assert picture_of(columns(run("p", 8, 5))) == (8, 5)
    assert picture_of(columns(run("red", 8, 8), run("blue", 8, 8))) is None
    assert picture_of(columns(run("flat", 2, 50))) is None
    assert picture_of(columns(run("p", 8, 8), "{name: age, type: integer, bounds: [0, 99]}")) is None
    assert picture_of({}) is None


@pytest.mark.parametrize("change", [{"high": 3}, {"width": 0.0}, {"slant": math.nan}])
def test_frames_that_are_none_are_refused(change):
    with pytest.raises(ValueError, match="frame"):
        ImageFrame(
            **{"high": 8, "wide": 8, "still": False, "dark": False, "across": 0.0, "down": 0.0, "slant": 0.0}
            | {"width": 1.0, "height": 1.0, **change}
        )


SMALL = ImageFrame(4, 4, still=False, dark=False, across=0.1, down=0.0, slant=0.0, width=1.0, height=1.1)
PLACES = ScaledColumns(columns(run("p", 4, 4)))
ALIGNED = AlignedImages(PLACES, SMALL)
CODES = {**dict.fromkeys(PLACES.names, 256), "label": 3}
RNG = np.random.default_rng(0)
CENTRES, DIRECTIONS = RNG.random((3, ALIGNED.size)), RNG.normal(size=(5, ALIGNED.size))
VIEW = CentredProjection.of(ALIGNED, ByTarget("label", 3), CENTRES, DIRECTIONS)
STATISTICS = [ClippedSums(VIEW, 1.0), Scatter(VIEW, 1.0, apart=True), DistanceHistogram(VIEW, (2.0, 2.6, 3.5))]


def batch_of(rows: int) -> Batch:
    rng = np.random.default_rng(1)
    return Batch(rows, {name: rng.integers(0, size, rows).astype(np.int32) for name, size in CODES.items()})


def test_records_are_whole_numbers_in_their_range():
    found = ALIGNED(batch_of(3_000))
    assert found.shape == (16 + MOVES, 3_000)
    assert np.array_equal(found, np.rint(found))
    assert found.min() >= 0
    assert found.max() <= 2**21


def test_a_record_is_the_same_alone_and_in_company(monkeypatch):
    batch = batch_of(1_000)
    all_of_them = ALIGNED(batch)
    for n in range(0, 1_000, 41):
        alone = Batch(1, {name: codes[n : n + 1] for name, codes in batch.codes.items()})
        assert np.array_equal(ALIGNED(alone)[:, 0], all_of_them[:, n])
    monkeypatch.setattr("sfumato.trusted.feature_maps.alignment._NUMBERS_AT_ONCE", 1_000)
    assert np.array_equal(ALIGNED(batch), all_of_them)


def test_moves_alone_are_the_last_of_all():
    batch = batch_of(50)
    alone = AlignedImages(PLACES, SMALL, moves_alone=True)
    assert alone.size == MOVES
    assert (alone.noun, ALIGNED.noun, PLACES.noun) == ("moves of pictures", "aligned pictures", "records")
    assert ClippedSums(VIEW, 1.0).title.startswith("sums of aligned pictures in 5 directions by label")
    assert np.array_equal(alone(batch), ALIGNED(batch)[-MOVES:])
    assert coordinates_from_content(json.loads(json.dumps(alone.to_dict()))) == alone


def test_columns_that_are_not_the_picture_of_a_frame_are_refused():
    with pytest.raises(ValueError, match="picture"):
        AlignedImages(PLACES, FRAME)
    with pytest.raises(BundleError, match="update"):
        coordinates_from_content({"kind": "smells"})


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_no_neighbour_moves_a_sum_of_aligned_pictures_further_than_claimed(statistic, adjacency):
    found = hunt(statistic, adjacency, CODES, "label", tries=100)
    assert 0.6 * statistic.sensitivity(adjacency) < found <= statistic.sensitivity(adjacency)


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: type(one).__name__)
def test_sums_are_the_same_for_any_split_and_after_json(statistic):
    batch = batch_of(500)
    assert same_for_any_split(statistic, batch, [1, 2, 17, 499], np.random.default_rng(0).permutation(500))
    again = statistic_from_dict(json.loads(json.dumps(statistic.to_dict())))
    assert again.to_dict() == statistic.to_dict()
    assert again.columns == (*PLACES.names, "label")
    assert np.array_equal(again(batch), statistic(batch))
