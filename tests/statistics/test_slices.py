"""Histograms along directions against a slow, obvious version."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.statistics import Slices, statistic_from_dict
from tests.statistics.splitting import same_for_any_split

CODES = {"a": 4, "b": 50, "y": 3}
GRIDS = {"a": Grid.of_cells(np.arange(4)), "b": Grid.of_cells(np.arange(50) // 9)}
PLACES = np.random.default_rng(0).integers(-900, 900, (5, 10)).astype(np.int32)
ENDS = np.sort(np.random.default_rng(1).integers(-900, 900, (5, 6)), axis=1).astype(np.int32)
SLICES = Slices(GRIDS, PLACES, ENDS, "y", Grid.of_cells(np.array([0, 1, 0])))

rows = st.lists(st.tuples(*(st.integers(0, size - 1) for size in CODES.values())), max_size=60)


def batch_of(records: list[tuple[int, ...]]) -> Batch:
    columns = np.array(records, dtype=np.int32).reshape(-1, len(CODES)).T
    return Batch(len(records), dict(zip(CODES, columns, strict=True)))


def slow(records: list[tuple[int, ...]]) -> np.ndarray:
    counts = np.zeros((5, 7, 2), dtype=np.int64)
    for a, b, y in records:
        for s in range(5):
            place = PLACES[s, a] + PLACES[s, 4 + b // 9]
            counts[s, sum(place >= end for end in ENDS[s]), y % 2] += 1
    return counts.ravel()


@given(rows)
def test_counts_agree_with_counting_by_hand(records):
    assert np.array_equal(SLICES(batch_of(records)), slow(records))


@given(rows, st.lists(st.integers(0, 60), max_size=5), st.randoms())
def test_any_order_and_any_split_give_the_same_sum(records, cuts, random):
    order = random.sample(range(len(records)), len(records))
    assert same_for_any_split(SLICES, batch_of(records), cuts, order)


def test_it_survives_json():
    again = statistic_from_dict(json.loads(json.dumps(SLICES.to_dict())))
    records = batch_of([(0, 0, 1), (3, 49, 2), (2, 20, 0)])
    assert np.array_equal(again(records), SLICES(records))
    assert again.to_dict() == SLICES.to_dict()
    assert again.columns == ("a", "b", "y")
    assert again.title == "histograms along 5 directions by y"


def test_without_a_label_there_is_one_class():
    plain = Slices(GRIDS, PLACES, ENDS, None, None)
    assert plain.shape == (5, 7, 1)
    assert plain(batch_of([(0, 0, 1)])).sum() == 5


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"places": PLACES[:4]}, "every direction"),
        ({"places": PLACES[:, :9]}, "every direction"),
        ({"places": np.full_like(PLACES, 2**25)}, "too far out"),
        ({"ends": ENDS[:, ::-1]}, "must rise"),
        ({"classes": None}, "label"),
        ({"label": "a"}, "label"),
    ],
)
def test_what_does_not_fit_together_is_refused(changed, words):
    parts = {"grids": GRIDS, "places": PLACES, "ends": ENDS, "label": "y", "classes": SLICES.classes} | changed
    with pytest.raises(ValueError, match=words):
        Slices(**parts)
