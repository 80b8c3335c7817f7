"""The mean embedding against a slow, obvious version, and the table of its waves."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.statistics import Embedding, statistic_from_dict
from sfumato.trusted.statistics.embedding import COSINES, RADIUS, SINES, TURN
from tests.statistics.splitting import same_for_any_split

CODES = {"a": 4, "b": 50, "y": 3}
GRIDS = {"a": Grid.of_cells(np.arange(4)), "b": Grid.of_cells(np.arange(50) // 9)}
ANGLES = np.random.default_rng(0).integers(-3 * TURN, 3 * TURN, (5, 10)).astype(np.int32)
EMBEDDING = Embedding(GRIDS, ANGLES, "y", Grid.of_cells(np.array([0, 1, 0])))

rows = st.lists(st.tuples(*(st.integers(0, size - 1) for size in CODES.values())), max_size=60)


def batch_of(records: list[tuple[int, ...]]) -> Batch:
    columns = np.array(records, dtype=np.int32).reshape(-1, len(CODES)).T
    return Batch(len(records), dict(zip(CODES, columns, strict=True)))


def slow(records: list[tuple[int, ...]]) -> np.ndarray:
    sums = np.zeros((5, 2, 2), dtype=np.int64)
    for a, b, y in records:
        for s in range(5):
            angle = 2 * math.pi * (int(ANGLES[s, a]) + int(ANGLES[s, 4 + b // 9])) / TURN
            sums[s, :, y % 2] += [math.trunc(RADIUS * math.cos(angle)), math.trunc(RADIUS * math.sin(angle))]
    return sums.ravel()


@given(rows)
def test_sums_agree_with_adding_by_hand(records):
    off = np.abs(EMBEDDING(batch_of(records)) - slow(records))
    assert off.max() <= len(records)  # an angle of several turns has other last digits, which can cost one unit


@given(rows, st.lists(st.integers(0, 60), max_size=5), st.randoms())
def test_any_order_and_any_split_give_the_same_sum(records, cuts, random):
    order = random.sample(range(len(records)), len(records))
    assert same_for_any_split(EMBEDDING, batch_of(records), cuts, order)


def test_no_feature_is_longer_than_its_radius():
    """Of every angle that there is, in whole numbers."""
    cosines, sines = COSINES.astype(np.int64), SINES.astype(np.int64)
    assert len(cosines) == len(sines) == TURN
    assert np.array_equal(cosines, COSINES)
    assert np.array_equal(sines, SINES)
    assert (cosines**2 + sines**2 <= RADIUS**2).all()


def test_it_survives_json():
    again = statistic_from_dict(json.loads(json.dumps(EMBEDDING.to_dict())))
    records = batch_of([(0, 0, 1), (3, 49, 2), (2, 20, 0)])
    assert np.array_equal(again(records), EMBEDDING(records))
    assert again.to_dict() == EMBEDDING.to_dict()
    assert again.columns == ("a", "b", "y")
    assert again.title == "the mean embedding in 5 random features by y"


def test_without_a_label_there_is_one_class():
    plain = Embedding(GRIDS, ANGLES, None, None)
    assert plain.shape == (5, 2, 1)
    assert plain(batch_of([])).tolist() == [0] * 10


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"angles": ANGLES[:, :9]}, "an angle for each cell"),
        ({"angles": ANGLES.astype(np.int64)}, "32 bits"),
        ({"classes": None}, "label"),
        ({"label": "a"}, "label"),
    ],
)
def test_what_does_not_fit_together_is_refused(changed, words):
    parts = {"grids": GRIDS, "angles": ANGLES, "label": "y", "classes": EMBEDDING.classes} | changed
    with pytest.raises(ValueError, match=words):
        Embedding(**parts)
