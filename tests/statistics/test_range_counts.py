"""Counts by which bounds are bought: hunted in each adjacency, by record and by person."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato.fitting.completion.ranges import Range, even, octaves
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding.unknown import NUMBERS
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics import RangeCounts, statistic_from_dict
from tests.statistics.hunting import hunt, one
from tests.statistics.hunting_persons import ID, hunted

CODES = dict.fromkeys(("a", "b", "y"), NUMBERS + 2)
COUNTS = RangeCounts({"a": octaves().grid, "b": even(Range(-3.0, 40.0)).grid, "y": octaves().grid})
SCHEMA = Schema.from_dict(
    {
        "sfumato": 1,
        "name": "t",
        "target": "y",
        "unit": {"column": ID, "records": 3},
        "columns": [{"name": name, "type": "number", "bounds": "estimate"} for name in CODES],
    }
)
SHARE = {Adjacency.ADD_REMOVE: 1.0, Adjacency.REPLACE: 1.0, Adjacency.LABEL: np.sqrt(1 / 3)}  # only y sees a label


@pytest.mark.parametrize("adjacency", Adjacency)
def test_no_neighbour_moves_the_counts_further_than_claimed(adjacency):
    worst, claim = hunt(COUNTS, adjacency, CODES, "y", 300), COUNTS.sensitivity(adjacency)
    assert worst == pytest.approx(SHARE[adjacency] * claim)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_hunter_finds_a_halved_claim(adjacency):
    assert hunt(COUNTS, adjacency, CODES, "y", 300) > COUNTS.sensitivity(adjacency) / 2


def records(rows: int, rng: np.random.Generator) -> pa.Table:
    return pa.table({name: rng.normal(size=rows) * 10.0 ** rng.integers(-5, 9) for name in CODES})


@pytest.mark.parametrize("adjacency", Adjacency)
def test_no_person_moves_the_counts_further_than_claimed(adjacency):
    shares = list(hunted(COUNTS, adjacency, SCHEMA, records, tries=20))
    assert max(shares) <= 1 + 1e-12
    assert max(shares) >= 0.4 * SHARE[adjacency]


def test_each_value_counts_in_one_cell_of_its_column():
    counts = COUNTS.split(COUNTS(one({"a": 0, "b": NUMBERS // 2, "y": NUMBERS + 1})))
    assert {name: int(part.sum()) for name, part in counts.items()} == {"a": 1, "b": 1, "y": 1}
    assert counts["a"][0] == counts["y"][-1] == 1
    assert COUNTS(one({"a": 0, "b": 0, "y": 0})).sum() == 3


def test_it_goes_out_and_comes_back_and_follows_its_schema():
    again = statistic_from_dict(COUNTS.to_dict())
    assert again.to_dict() == COUNTS.to_dict()
    assert again.columns == COUNTS.columns
    assert again.follows(SCHEMA)
    known = SCHEMA.to_dict() | {"columns": [{"name": n, "type": "number", "bounds": [0, 1]} for n in CODES]}
    assert not again.follows(Schema.from_dict(known))
