"""Python objects of any kind: whom they name."""

import datetime as dt
import decimal
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding.objects import id_of_object
from sfumato.trusted.encoding.persons import persons

EAST = dt.timezone(dt.timedelta(hours=2))
SEVENTEEN = [
    17,
    np.int8(17),
    17.0,
    np.float32(17),
    np.longdouble(17),
    17 + 0j,
    np.complex64(17),
    np.clongdouble(17),
    decimal.Decimal("17.00"),
    decimal.Decimal("1.7E1"),
    "17",
    b"17",
]


def test_truth_is_1_and_0():
    assert [id_of_object(value) for value in (True, np.bool_(False))] == [b"1", b"0"]
    assert persons(pa.array([True, None, False])).to_pylist() == [b"1", None, b"0"]


@pytest.mark.parametrize("value", SEVENTEEN, ids=repr)
def test_a_whole_number_is_its_digits(value):
    assert id_of_object(value) == b"17"


NOBODY = [
    None,
    pd.NA,
    pd.NaT,
    np.datetime64("NaT", "s"),
    np.datetime64("NaT", "ns"),
    float("nan"),
    decimal.Decimal("sNaN"),
    object(),
    (1, 2),
    {"a": 1},
]


@pytest.mark.parametrize("value", NOBODY, ids=map(str, range(len(NOBODY))))
def test_a_null_and_an_object_of_another_kind_name_nobody(value):
    assert id_of_object(value) is None


APART = [
    [10**19 + 1, 10**19 + 2, -(10**19) - 1],
    [10**5000, 10**5000 + 1, -(10**5000)],
    [b"\xff\x01", b"\xfe\x01", b"\xff"],
    ["\ud800", "\ud801", "?", "\ufffd"],
    [decimal.Decimal(9007199254740992), decimal.Decimal(9007199254740993), decimal.Decimal("1e999999")],
    [decimal.Decimal("0.10"), decimal.Decimal("0.01"), decimal.Decimal("-0.1"), decimal.Decimal("1e-7")],
    [decimal.Decimal("1" * 40), decimal.Decimal("1" * 39 + "2")],
    [0.1, 0.1 + 2**-56, 1e300, float("inf"), -0.5],
    [np.longdouble(2) ** 63 + 1, np.longdouble(2) ** 63 + 3, np.longdouble(2) ** 63 + 5],
    [np.longdouble(1) / 3, np.nextafter(np.longdouble(1) / 3, np.longdouble(1)), 1 / 3, np.longdouble("1e4930")],
    [np.longdouble("0.1"), np.longdouble(0.1), np.longdouble("inf"), -np.longdouble("0.1")],
    [np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1)), np.float32(0.2)],
    [uuid.UUID(int=1), uuid.UUID(int=2)],
    [dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3), dt.time(3)],
    [True, False],
    [np.clongdouble(np.longdouble(1) / 3), 1 / 3],
    [pd.Timestamp(ticks, unit="ns") for ticks in (0, 1, 2, 1_000)],
    [pd.Timestamp(ticks, unit="ns", tz=zone) for ticks in (1, 2) for zone in (None, "UTC", "Europe/Berlin")],
    [pd.Timestamp(np.datetime64(f"{year}-01-01", "s")) for year in (-400, 1972, 10_000, 20_000)],
    [np.datetime64(ticks, "ns") for ticks in (-1, 0, 1, 2)],
    [np.datetime64(ticks, "as") for ticks in (-1, 0, 1, 10)],
    [np.datetime64(ticks, unit) for ticks in (2**62, -(2**62)) for unit in ("Y", "M", "W", "D", "h", "s", "ns", "as")],
]


@pytest.mark.parametrize("values", APART, ids=map(str, range(len(APART))))
def test_objects_that_differ_have_different_ids(values):
    assert len({id_of_object(value) for value in values}) == len(values)


@given(st.decimals(allow_nan=False), st.decimals(allow_nan=False))
def test_decimals_are_one_person_if_they_are_equal(one, other):
    assert (id_of_object(one) == id_of_object(other)) == (one == other)


@given(st.integers(-(2**63), 2**63 - 1) | st.floats() | st.booleans() | st.dates() | st.uuids())
def test_arrow_gives_the_same_id(value):
    stored = pa.array([value.bytes], pa.binary(16)) if isinstance(value, uuid.UUID) else pa.array([value])
    array = pa.ExtensionArray.from_storage(pa.uuid(), stored) if isinstance(value, uuid.UUID) else stored
    assert persons(array).to_pylist() == [id_of_object(value)]


@given(st.decimals(min_value=-(10**20), max_value=10**20, places=11))
def test_arrow_gives_the_same_id_of_a_decimal(value):
    for storage in (pa.decimal128(38, 11), pa.decimal256(60, 20)):
        assert persons(pa.array([value], storage)).to_pylist() == [id_of_object(value)]


MOMENTS = {
    b"2020-01-02T00:00:00": [
        dt.datetime(2020, 1, 2),
        pd.Timestamp("2020-01-02"),
        *(np.datetime64("2020-01-02", unit) for unit in ("D", "h", "m", "s", "ms", "us", "ns")),
    ],
    b"2020-01-02T03:04:05.500000": [
        dt.datetime(2020, 1, 2, 3, 4, 5, 500_000),
        pd.Timestamp("2020-01-02T03:04:05.5"),
        *(np.datetime64("2020-01-02T03:04:05.5", unit) for unit in ("ms", "us", "ns")),
    ],
    b"2020-01-02T03:04:05.000000001": [
        pd.Timestamp("2020-01-02T03:04:05.000000001"),
        np.datetime64("2020-01-02T03:04:05.000000001"),
    ],
    b"1970-01-01T00:00:00.000000000001": [np.datetime64(1, "ps"), np.datetime64(10**6, "as")],
    b"12020-01-01T00:00:00": [
        pd.Timestamp(np.datetime64("12020-01-01", "s")),
        *(np.datetime64("12020-01-01", unit) for unit in ("Y", "M", "D", "s")),
    ],
    b"-007-03-01T00:00:00": [np.datetime64("-0007-03"), np.datetime64("-0007-03-01", "s")],
    b"2020-01-02T00:00:00+02:00": [
        dt.datetime(2020, 1, 2, tzinfo=EAST),
        pd.Timestamp("2020-01-02", tz=EAST),
    ],
    b"1970-01-01T02:00:00.000000001+02:00": [pd.Timestamp(1, unit="ns", tz=EAST)],
}


@pytest.mark.parametrize("text", MOMENTS)
def test_a_moment_is_one_person_in_every_class_and_unit(text):
    assert [id_of_object(moment) for moment in MOMENTS[text]] == [text] * len(MOMENTS[text])
