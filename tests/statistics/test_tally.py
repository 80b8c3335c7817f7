import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.statistics.tally import tally


@given(st.lists(st.integers(0, 6)), st.sampled_from([np.int32, np.int64]))
def test_numbers_are_counted_one_by_one(numbers, kind):
    counts = tally(np.array(numbers, dtype=kind), 7)
    assert counts.dtype == np.int64
    assert counts.tolist() == [numbers.count(number) for number in range(7)]


@pytest.mark.parametrize("number", [-1, 7])
def test_nothing_is_written_beyond_the_counts(number):
    with pytest.raises(ValueError, match="outside its table"):
        tally(np.array([3, number], dtype=np.int32), 7)
