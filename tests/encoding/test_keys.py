"""The key of a value: one value at a time, in any storage, and just what a list would find it by."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.keys import LONGEST, key_of, keys
from sfumato.trusted.encoding.listings import Listing
from sfumato.trusted.encoding.values import value_of

TEXTS = st.text(max_size=8) | st.sampled_from(
    ["7", "007", "7.0", "true", "nan", "NA", "FILL", "", "1e3", "0x1f", "inf"]
)
OBJECTS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | TEXTS
    | st.binary(max_size=6)
    | st.dates()
    | st.datetimes()
    | st.decimals(allow_nan=True)
    | st.lists(st.integers(), max_size=1)
)


@given(st.lists(OBJECTS, max_size=12))
def test_a_value_has_the_same_key_alone_and_in_any_company(objects):
    together = keys(cells_of(objects)).to_pylist()
    assert together == [keys(cells_of([one])).to_pylist()[0] for one in objects]
    assert together == [key_of(value_of(one)) for one in objects]


@given(OBJECTS)
def test_a_list_of_its_key_finds_the_value(one):
    value = value_of(one)
    key = key_of(value)
    if key is not None:
        assert Listing([key.decode()]).position(value) == 0


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (pa.array([True, False, None]), [b"1", b"0", None]),
        (pa.array([1, 2, None], pa.int8()), [b"1", b"2", None]),
        (pa.array([2**63], pa.uint64()), [b"9223372036854775808"]),
        (pa.array([1.0, -0.0, 2.5, float("nan"), float("inf")]), [b"1", b"0", b"2.5", None, b"inf"]),
        (pa.array([np.float16(0.5)], pa.float16()), [b"0.5"]),
        (pa.array([decimal.Decimal("7.00"), decimal.Decimal("0.50")]), [b"7", b"0.5"]),
        (pa.array(["a", "7", "007", "nan", "FILL"]), [b"a", b"7", b"007", None, None]),
        (pa.array(["b", None, "b"]).dictionary_encode(), [b"b", None, b"b"]),
        (pa.array([b"\xff", b"ok"]), [None, b"ok"]),
        (pa.array(["x"], pa.string_view()), [b"x"]),
        (pa.array([dt.date(2022, 12, 31), None]), [b"2022-12-31", None]),
        (pa.array([dt.datetime(2022, 12, 31)]), [None]),
        (pa.array([[1], None]), [None, None]),
        (pa.nulls(2), [None, None]),
        (pa.array([], pa.string()), []),
    ],
    ids=str,
)
def test_keys_of_every_storage(array, found):
    assert keys(array).to_pylist() == found


def test_what_is_too_long_has_no_key():
    assert keys(pa.array(["é" * LONGEST, "é" * (LONGEST + 1)])).to_pylist() == [("é" * LONGEST).encode(), None]
    assert keys(cells_of([10**LONGEST, 10 ** (LONGEST - 1)])).to_pylist() == [None, str(10 ** (LONGEST - 1)).encode()]
    assert keys(cells_of(["9" * 10_000, 10**5_000])).to_pylist() == [None, b"inf"]
