"""One hunter for all statistics: nothing moves a sum further than claimed, and the claim is not slack either."""

import dataclasses

import numpy as np
import pytest

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.feature_maps import Grid, KindGrid
from sfumato.trusted.schema import IntegerColumn
from sfumato.trusted.statistics import Cells, CodeSums, Embedding, Slices, Stacked
from sfumato.trusted.statistics.embedding import TURN
from tests.statistics.hunting import holds

SCALE = IntegerColumn(name="b", type="integer", bounds=(0, 999))
CODES = {"a": 5, "b": 1000, "c": 3, "label": 4}
GRIDS = {name: Grid.of_cells(np.arange(size) * min(size, 7) // size) for name, size in CODES.items()}
MERGED = {**GRIDS, "b": Grid.of_cells(np.arange(1000) % 13 // 5)}

ONE_WAY = Cells((("a", "label"), ("b", "label"), ("c", "label")), GRIDS, "label")
PAIRS = Cells((("a", "b", "label"), ("b", "c"), ("label",)), MERGED, "label")
RNG = np.random.default_rng(3)
SLICES = Slices(
    {name: GRIDS[name] for name in "abc"},
    RNG.integers(-5_000, 5_000, (4, sum(GRIDS[name].size for name in "abc"))).astype(np.int32),
    np.sort(RNG.integers(-5_000, 5_000, (4, 12)), axis=1).astype(np.int32),
    "label",
    GRIDS["label"],
)
HALF_A_TURN = Embedding(  # from 0 to half a turn, on every frequency
    {name: GRIDS[name] for name in "abc"},
    np.concatenate([np.zeros((3, 5)), np.full((3, 7), TURN // 2), np.zeros((3, 3))], axis=1).astype(np.int32)
    * np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0], dtype=np.int32),
    "label",
    GRIDS["label"],
)
STATISTICS = {
    "slices": SLICES,
    "embedding": HALF_A_TURN,
    "stack with slices": Stacked((SLICES, PAIRS), (1.0, 0.5)),
    "one-way": ONE_WAY,
    "pairs": PAIRS,
    "weighted pairs": Cells(PAIRS.tables, MERGED, "label", (1.0, 0.3, 2.5)),
    "several axes of a column": Cells(
        (("b",), ("b narrow",), ("b kinds", "label"), ("b narrow", "b kinds"), ("other label", "a")),
        {**GRIDS, "b narrow": MERGED["b"], "b kinds": KindGrid(SCALE), "other label": GRIDS["label"]},
        "label",
        (1.0, 1.0, 0.7, 0.125, 0.5),
        {"b narrow": "b", "b kinds": "b", "other label": "label"},
    ),
    "sums of codes": CodeSums({"a": 4, "b": 999, "label": 3}, "label"),
    "sums of some codes, cut": CodeSums({"b": 500, "label": 2}, "label"),
    "single": Cells((("label",),), GRIDS, "label"),
    "stack": Stacked((ONE_WAY, PAIRS), (1.0, 0.25)),
    "stack of stacks": Stacked((Stacked((PAIRS,), (3.0,)), ONE_WAY), (0.5, 2.0)),
}


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("statistic", STATISTICS.values(), ids=STATISTICS)
def test_no_neighbour_moves_a_sum_further_than_claimed(statistic, adjacency):
    never_further, attained = holds(statistic, adjacency, CODES, "label")
    assert never_further
    assert attained


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("statistic", STATISTICS.values(), ids=STATISTICS)
def test_the_hunter_finds_a_halved_claim(statistic, adjacency):
    class Halved(type(statistic)):
        def sensitivity(self, adjacency):
            return super().sensitivity(adjacency) / 2

    fields = {field.name: getattr(statistic, field.name) for field in dataclasses.fields(statistic)}
    never_further, _ = holds(Halved(**fields), adjacency, CODES, "label", tries=100)
    assert not never_further


def test_tables_without_the_label_do_not_see_it():
    features = Cells((("a",), ("b", "c")), GRIDS, "label")
    assert features.sensitivity(Adjacency.LABEL) == 0
    assert features.sensitivity(Adjacency.REPLACE) == 2


def test_an_axis_of_the_label_by_another_name_sees_it():
    hidden = Cells((("innocent", "a"),), {**GRIDS, "innocent": GRIDS["label"]}, "label", None, {"innocent": "label"})
    assert hidden.sensitivity(Adjacency.LABEL) == pytest.approx(np.sqrt(2))
    unseen = dataclasses.replace(hidden, label="c")  # the fault: an axis that nobody takes for the label
    assert not holds(unseen, Adjacency.LABEL, CODES, "label", tries=50)[0]
