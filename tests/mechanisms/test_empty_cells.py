"""What nobody is, is empty in the model too, as far as counts can tell."""

import numpy as np
import pytest

from sfumato.fitting.mechanisms.tables.approximation import approximate, evidence
from sfumato.fitting.mechanisms.tables.empty_cells import Tuning, empty_cells
from sfumato.fitting.mechanisms.tables.start import start_anywhere
from tests.mechanisms.test_ties import counted

SIZE = 20_000


@pytest.fixture
def people():
    """Age in four parts, a degree that nobody of the first has, and a column of no matter."""
    rng = np.random.default_rng(1)
    age = rng.integers(0, 4, SIZE)
    degree = np.where(age == 0, 0, rng.integers(0, 3, SIZE))
    return {"age": age, "degree": degree, "other": rng.integers(0, 5, SIZE)}


def test_cells_without_records_are_found_and_no_others(people):
    one_way, pairs = counted(people)
    found = empty_cells(one_way, pairs, ("age", "degree"))[0]
    assert found[0, 1:].all()
    assert found.sum() == 2
    assert not empty_cells(one_way, pairs, ("age", "other")).any()


def test_little_that_was_to_be_expected_is_not_called_empty(people):
    one_way, pairs = counted(people, sigma=400.0)
    assert not empty_cells(one_way, pairs, ("age", "degree")).any()


def test_empty_cells_are_surer_than_others(people):
    one_way, pairs = counted(people)
    seen = evidence(one_way, pairs)
    assert seen.pair_precision[0, 5] == pytest.approx(Tuning.surer * seen.pair_precision[1, 5])
    assert seen.pairs[0, 0, 5] == seen.pairs[0, 5, 0] == 0


def test_nobody_gets_what_nobody_has(people):
    one_way, pairs = counted(people)
    weights, (age, degree, _) = approximate(one_way, evidence(one_way, pairs), start_anywhere(one_way, [20]), 400)
    joint = np.einsum("k,ka,kd->ad", weights, age, degree)
    assert joint[0, 1:].sum() < 0.005
    assert (joint > 0).all()  # nothing that the schema allows is ever excluded
    assert joint[1, 1] == pytest.approx(0.25 / 3, rel=0.1)
