"""The codes by which bounds and lists are bought: in order, exact, and each a function of its value alone."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding import codes_of
from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.unknown import HIGHEST, LOWEST, NUMBERS, PER_OCTAVE, ZERO, codes_of_numbers, nearest_zero
from sfumato.trusted.schema import Schema


def codec(**keys):
    column = {"name": "x", "type": "number", "bounds": "estimate", **keys}
    return codes_of(Schema.from_dict({"sfumato": 1, "name": "t", "columns": [column]})["x"])


@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_codes_are_in_the_order_of_the_numbers(numbers):
    codes = codes_of_numbers(np.sort(np.array(numbers)))
    assert (np.diff(codes) >= 0).all()
    assert 0 <= codes.min() <= codes.max() < NUMBERS


@given(st.integers(0, NUMBERS - 1))
def test_a_code_begins_where_it_says(code):
    number = float(nearest_zero(np.array([code]))[0])
    assert codes_of_numbers(np.array([number])).tolist() == [code]
    if code not in (ZERO, 0, NUMBERS - 1):
        towards_zero = math.nextafter(number, 0.0)
        assert abs(int(codes_of_numbers(np.array([towards_zero]))[0]) - ZERO) == abs(code - ZERO) - 1


def test_the_ends_of_the_scale():
    numbers = np.array([0.0, -0.0, 2.0**LOWEST, math.nextafter(2.0**LOWEST, 0), 2.0**HIGHEST, math.inf, -math.inf])
    assert (codes_of_numbers(numbers) - ZERO).tolist() == [0, 0, 1, 0, ZERO, ZERO, -ZERO]
    assert int(codes_of_numbers(np.array([1.0]))[0]) - ZERO == -LOWEST * PER_OCTAVE + 1


@given(st.lists(st.none() | st.floats() | st.integers(-(10**400), 10**400) | st.text(max_size=4), max_size=9))
def test_a_value_has_the_same_code_alone_and_in_any_company(objects):
    for columns in (codec(), codec(missing=True, otherwise=1)):
        together = columns.encode(cells_of(objects)).tolist()
        assert together == [int(columns.encode(cells_of([one]))[0]) for one in objects]
        assert all(0 <= code < columns.size for code in together)


@pytest.mark.parametrize(
    ("keys", "differ"),
    [({}, False), ({"missing": True}, False), ({"otherwise": 3}, False), ({"missing": True, "otherwise": 3}, True)],
)
def test_nulls_and_what_cannot_be_read_differ_where_the_schema_tells_them_apart(keys, differ):
    null, nan, word = codec(**keys).encode(cells_of([None, math.nan, "word"]))
    assert null == nan
    assert (null != word) == differ


def test_dates_and_moments():
    days = codec(type="date").encode(pa.array([0, 1, 20_000, None], pa.int32()).cast(pa.date32()))
    assert days.tolist() == [*codes_of_numbers(np.array([0.0, 1.0, 20_000.0])).tolist(), NUMBERS + 1]
    moments = codec(type="datetime").encode(pa.array(["2022-12-31T00:00:00", "no"]))
    assert moments.tolist() == [int(codes_of_numbers(np.array([1_672_444_800.0]))[0]), NUMBERS + 1]


def test_codes_of_an_unknown_list_tell_nothing_but_nulls():
    columns = Schema.from_yaml("{sfumato: 1, name: t, columns: [{name: x, type: category, values: discover}]}")
    unlisted = codes_of(columns["x"])
    assert unlisted.encode(cells_of(["a", "b", 7, None])).tolist() == [0, 0, 0, 1]
    assert unlisted.encode(pa.array(["a", None]).dictionary_encode()).tolist() == [0, 1]
    assert unlisted.encode(pa.array([True, None])).tolist() == [0, 1]


def test_they_serve_the_buying_alone():
    for call in (lambda c: c.code_of(3), lambda c: c.decode(np.zeros(1), np.zeros(1)), lambda c: c.width(np.zeros(1))):
        with pytest.raises(NotImplementedError):
            call(codec())
