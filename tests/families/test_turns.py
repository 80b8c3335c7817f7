"""The turn of a row: whole numbers in the order of the cells, one for each number."""

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import NumericCodec, codes_of
from sfumato.trusted.families.turns import numbers_of_turns, read_running_numbers, turns_of_numbers
from sfumato.trusted.schema import Schema

_COLUMN = {"name": "n", "type": "integer", "bounds": [-(2**53), 2**53], "missing": True}


def running() -> NumericCodec:
    codes = codes_of(Schema.from_dict({"sfumato": 1, "name": "t", "columns": [_COLUMN]})["n"])
    assert isinstance(codes, NumericCodec)
    return codes


@given(st.lists(st.floats(allow_infinity=True, allow_nan=True), min_size=1))
def test_turns_follow_the_numbers(numbers):
    turns = turns_of_numbers(np.array(numbers))
    for one, turn in zip(numbers, turns.tolist(), strict=True):
        for other, its in zip(numbers, turns.tolist(), strict=True):
            if math.isnan(one) or math.isnan(other):
                assert (turn < its) == (not math.isnan(one) and math.isnan(other))
            else:
                assert (turn < its) == (one < other)
                assert (turn == its) == (one == other)


@given(st.lists(st.floats(allow_infinity=True, allow_nan=True), min_size=1))
def test_numbers_can_be_read_back(numbers):
    np.testing.assert_array_equal(numbers_of_turns(turns_of_numbers(np.array(numbers))), np.array(numbers))


def test_signed_zeros_are_one_number():
    assert len(set(turns_of_numbers(np.array([0.0, -0.0])).tolist())) == 1


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 2)), min_size=1))
def test_running_numbers_keep_their_64_bits(numbers):
    """In integers and in text; a row without one comes last."""
    last = np.iinfo(np.int64).max
    expected = [last if one is None else one for one in numbers]
    assert read_running_numbers(running(), pa.array(numbers, pa.int64())).tolist() == expected
    written = [None if one is None else str(one) for one in numbers]
    told = read_running_numbers(running(), pa.array(written, pa.string())).tolist()
    assert told == [last if one is None else max(one, -last) for one in numbers]
