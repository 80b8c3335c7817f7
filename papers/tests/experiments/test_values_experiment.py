"""The measuring behind `experiments.values` and `experiments.means`, on rows that need no data."""

import numpy as np
import pytest
from experiments.means import compare, conditions, payments, summarise
from experiments.tasks import Task
from experiments.values import CHAIN, level_of_numbers, unit_of

from sfumato.evaluation.records import read_all, values_of
from sfumato.trusted.encoding.decimals import size_of


def test_the_unit_is_the_coarsest_of_which_almost_all_are_multiples():
    rng = np.random.default_rng(0)
    tens = 10.0 * rng.integers(1, 900, 5_000)
    assert size_of(CHAIN[unit_of(tens) - 1]) == 10
    assert size_of(CHAIN[unit_of(np.append(tens, [0.3] * 40)) - 1]) == 10
    assert size_of(CHAIN[unit_of(np.append(tens, [3.0] * 500)) - 1]) == 1
    assert unit_of(rng.random(1_000)) is None
    assert level_of_numbers(np.array([0.03, 120.0]), CHAIN).tolist() == [
        1 + [size_of(unit) for unit in CHAIN].index(size) for size in (0.01, 10.0)
    ]


@pytest.fixture(scope="module")
def some() -> Task:
    task = payments()
    return Task(task.name, task.rows.iloc[:2_000].reset_index(drop=True), task.schema)


def test_conditions_are_all_records_and_every_frequent_class(some):
    found = conditions(some, values_of(read_all(some.rows, some.schema), some.schema))
    assert [given for given, _ in found] == [{}, {"open": "no"}, {"open": "yes"}]
    assert sum(where.sum() for _, where in found[1:]) == found[0][1].sum() == 2_000


def test_every_figure_is_held_against_the_truth(some):
    found = summarise(compare(some, 4.0))
    assert found["mean"]["intervals"] == 4
    assert found["quantile given the target"]["intervals"] == 4 * 5 * 2
    assert all(0 <= values["held"] <= 1 and values["half width, median"] >= 0 for values in found.values())
