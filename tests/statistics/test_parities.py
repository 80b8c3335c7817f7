"""Parities against a slow, obvious version; order and split do not matter; the norm is never above its bound."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.feature_maps import Grid
from sfumato.trusted.statistics import Parities, statistic_from_dict
from tests.statistics.hunting import hunt
from tests.statistics.test_gradient import CODES, batch_of, rows

SIGNS = {
    "a": Grid.of_cells(np.array([1, 0, 0, 1, 1])),
    "b": Grid.of_cells((np.arange(300) >= 150).astype(int)),
    "label": Grid.of_cells(np.arange(CODES["label"]) % 2),
}
PARITIES = Parities(SIGNS, (("a", "b"), ("b",), ("a", "b", "label")), "label")


@given(rows)
def test_it_is_the_formula(records):
    expected = np.zeros(3)
    for row in records:
        codes = dict(zip(CODES, row, strict=True))
        sign = {name: 1 if grid.cell_of_code[codes[name]] else -1 for name, grid in SIGNS.items()}
        expected += [np.prod([sign[name] for name in names]) for names in PARITIES.sets]
    assert PARITIES(batch_of(records)).tolist() == expected.tolist()


@given(rows, st.integers(0, 40), st.randoms())
def test_any_order_and_any_split_give_the_same_sum(records, cut, random):
    shuffled = records[random.sample(range(len(records)), len(records))]
    parts = np.split(shuffled, [min(cut, len(records))])
    assert np.array_equal(sum(PARITIES(batch_of(part)) for part in parts), PARITIES(batch_of(records)))


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_claim_holds_and_is_reached(adjacency):
    odd = Parities(SIGNS, (("a",), ("b",), ("label",)), "label")
    for statistic in (PARITIES, odd):
        assert hunt(statistic, adjacency, CODES, "label", tries=400) <= statistic.sensitivity(adjacency) + 1e-9
    assert hunt(odd, adjacency, CODES, "label", tries=400) == pytest.approx(odd.sensitivity(adjacency))


def test_the_label_moves_only_what_sees_it():
    assert PARITIES.sensitivity(Adjacency.LABEL) == 2.0
    assert replace(PARITIES, sets=(("a", "b"),)).sensitivity(Adjacency.LABEL) == 0.0


def test_it_is_written_and_read():
    again = statistic_from_dict(json.loads(json.dumps(PARITIES.to_dict())))
    assert again == PARITIES
    assert again.title == "parities of 3 sets of columns"


@pytest.mark.parametrize(
    "changed",
    [
        {"sets": ()},
        {"sets": ((),)},
        {"sets": (("other",),)},
        {"grids": {"a": Grid.of_cells(np.arange(3))}},
        {"sets": (("a",),) * 5_000},
    ],
)
def test_what_is_no_parity_is_refused(changed):
    with pytest.raises(ValueError, match=r"parit|sign"):
        replace(PARITIES, **changed)
