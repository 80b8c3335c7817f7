"""The boxes that rules leave: disjoint, and together just what is not forbidden."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import SchemaError
from sfumato.fitting.support.boxes import allowed_boxes
from sfumato.fitting.support.support import Support, in_runs
from sfumato.trusted.feature_maps import Grid

SIZES = {"a": 4, "b": 3, "c": 5, "d": 2}


def runs_of(codes):
    """Codes as runs."""
    runs = []
    for code in sorted(codes):
        if runs and runs[-1][1] == code:
            runs[-1] = (runs[-1][0], code + 1)
        else:
            runs.append((code, code + 1))
    return tuple(runs)


def holds(combination, record):
    return all(any(start <= record[name] < stop for start, stop in runs) for name, runs in combination.items())


rules = st.lists(
    st.dictionaries(st.sampled_from(list(SIZES)), st.sets(st.integers(0, 4), min_size=1), min_size=1).map(
        lambda rule: {name: runs_of(code for code in codes if code < SIZES[name]) for name, codes in rule.items()}
    ),
    min_size=1,
    max_size=6,
)


@given(rules)
@settings(max_examples=300)
def test_every_allowed_record_is_in_one_box_and_no_other_in_any(forbidden):
    records = [dict(zip(SIZES, codes, strict=True)) for codes in itertools.product(*map(range, SIZES.values()))]
    allowed = [not any(holds(rule, record) for rule in forbidden) for record in records]
    if not any(allowed):
        with pytest.raises(SchemaError, match="no record"):
            allowed_boxes(forbidden, SIZES)
        return
    boxes = allowed_boxes(forbidden, SIZES)
    assert [sum(holds(box, record) for box in boxes) for record in records] == allowed
    assert all(
        runs == runs_of(c for start, stop in runs for c in range(start, stop)) for b in boxes for runs in b.values()
    )


def test_a_hub_gives_two_boxes():
    sizes = {"age": 100, **{f"x{i}": 5 for i in range(10)}}
    boxes = allowed_boxes([{"age": ((0, 15),), f"x{i}": ((3, 5),)} for i in range(10)], sizes)
    assert len(boxes) == 2


def test_independent_rules_multiply_and_too_many_are_refused():
    sizes = {f"{side}{i}": 2 for side in "xy" for i in range(30)}
    rules = [{f"x{i}": ((0, 1),), f"y{i}": ((0, 1),)} for i in range(30)]
    assert len(allowed_boxes(rules[:8], sizes)) == 256
    with pytest.raises(SchemaError, match=r"into 512 parts.*fewer or simpler"):
        allowed_boxes(rules[:9], sizes)
    with pytest.raises(SchemaError, match="very many parts"):
        allowed_boxes(rules, sizes)


@pytest.mark.parametrize("singly", [False, True])
def test_a_table_of_allowed_pairs_is_quick(singly):
    rng = np.random.default_rng(0)
    state = rng.integers(0, 50, 1_000)
    others = {zip_: [s for s in range(50) if s != state[zip_]] for zip_ in range(1_000)}
    if singly:
        rules = [{"zip": ((z, z + 1),), "state": ((s, s + 1),)} for z, rest in others.items() for s in rest]
    else:
        rules = [{"zip": ((z, z + 1),), "state": runs_of(rest)} for z, rest in others.items()]
    start = time.process_time()
    assert len(allowed_boxes(rules, {"zip": 1_000, "state": 50})) == 50
    assert time.process_time() - start < 5


def test_any_table_of_allowed_pairs_needs_no_more_boxes_than_its_shorter_side():
    table = np.random.default_rng(1).random((1_000, 50)) < 0.3
    rules = [{"zip": ((z, z + 1),), "state": runs_of(np.flatnonzero(~row).tolist())} for z, row in enumerate(table)]
    start = time.process_time()
    assert len(allowed_boxes(rules, {"zip": 1_000, "state": 50})) == 50
    assert time.process_time() - start < 10


def test_long_columns_cost_no_more():
    rules = [{"a": ((5 * i, 500_000 + i),), "b": ((i, 2**20 - 7 * i),)} for i in range(20)]
    start = time.process_time()
    boxes = allowed_boxes(rules, {"a": 2**20, "b": 2**20})
    assert time.process_time() - start < 1
    assert len(boxes) <= 41


def test_cells_that_are_forbidden_in_part_are_refused():
    support = Support.of([{"a": ((0, 3),), "b": ((1, 2),)}], {"a": 6, "b": 2})
    assert support is not None
    fine = Grid((0, 3), (0, 1), 6)
    assert support.of_cells("a", fine).shape == (2, 2)
    assert len(set(support.kinds("a", fine).tolist())) == 2
    for torn in (Grid((0, 4), (0, 1), 6), Grid((0, 2, 3, 4), (0, 1, 0, 1), 6)):
        with pytest.raises(ValueError, match="in part"):
            support.of_cells("a", torn)
    assert Support.of([], {}) is None


@given(st.sets(st.integers(0, 30)), st.lists(st.integers(0, 40)))
def test_codes_in_runs(codes, asked):
    assert in_runs(runs_of(codes), np.array(asked, dtype=np.int64)).tolist() == [code in codes for code in asked]
