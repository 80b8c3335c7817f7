"""Values of every Arrow type, readable or not, one by one."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest

from sfumato.encoding.reading import as_days, as_numbers, as_seconds, as_truth, family, positions

NAN = np.nan


def same(left, right) -> bool:
    return np.array_equal(left, right, equal_nan=True)


NUMBERS = {
    "small integers": (pa.array([1, None, 3], pa.int8()), [1, NAN, 3]),
    "largest integers": (pa.array([2**64 - 1, 0], pa.uint64()), [2.0**64, 0]),
    "half floats": (pa.array(np.array([1.5, np.inf], np.float16)), [1.5, np.inf]),
    "nan and null": (pa.array([NAN, None, -np.inf]), [NAN, NAN, -np.inf]),
    "decimals": (pa.array([decimal.Decimal("1.25"), None]), [1.25, NAN]),
    "booleans": (pa.array([True, None, False]), [1, NAN, 0]),
    "text": (
        pa.array(["1.5", " 7 ", "1e400", "-1e400", "x", "", None, "١"]),
        [1.5, 7, np.inf, -np.inf, NAN, NAN, NAN, NAN],
    ),
    "a number of 401 digits": (pa.array(["1" + "0" * 400]), [np.inf]),
    "bytes that are no text": (pa.array([b"\xff\xfe", b"3"]), [NAN, 3]),
    "a view": (pa.array(["4", None], pa.string_view()), [4, NAN]),
    "a dictionary": (pa.array(["4", None, "x", "4"]).dictionary_encode(), [4, NAN, NAN, 4]),
    "a dictionary of numbers": (pa.array([4.5, None]).dictionary_encode(), [4.5, NAN]),
    "nothing": (pa.nulls(2), [NAN, NAN]),
    "dates": (pa.array([dt.date(2020, 1, 1)]), [NAN]),
}


@pytest.mark.parametrize(("array", "numbers"), NUMBERS.values(), ids=NUMBERS)
def test_numbers(array, numbers):
    assert same(as_numbers(array), numbers)


MOMENTS = {
    "dates": (pa.array([dt.date(1970, 1, 2), None]), [86_400, NAN]),
    "dates in milliseconds": (pa.array([dt.date(1970, 1, 2)], pa.date64()), [86_400]),
    "before the epoch": (pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 500_000)]), [-1]),
    "nanoseconds": (pa.array([1_500_000_000, None], pa.timestamp("ns")), [1, NAN]),
    "with a zone": (pa.array([dt.datetime(1970, 1, 1, 1)], pa.timestamp("s", "Europe/Paris")), [3600]),
    "text": (
        pa.array(["1970-01-01T00:01:00", "1970-01-01T01:00:00+01:00", "1970-01-02", "soon", None]),
        [60, 0, 86_400, NAN, NAN],
    ),
    "a year that no clock has": (pa.array(["99999-01-01", "0001-01-01T00:00:00+23:59"]), [NAN, NAN]),
    "a dictionary": (pa.array(["1970-01-02", None]).dictionary_encode(), [86_400, NAN]),
    "numbers": (pa.array([5]), [NAN]),
}


@pytest.mark.parametrize(("array", "seconds"), MOMENTS.values(), ids=MOMENTS)
def test_moments(array, seconds):
    assert same(as_seconds(array), seconds)
    assert same(as_days(array), np.floor(np.array(seconds) / 86_400))


LISTED = ["1", "2.5", "007", "a", "True", "ü", "2020-01-31"]
PLACES = {
    "text": (pa.array(["a", "ü", "b", None, "1"]), [3, 5, -1, -1, 0]),
    "bytes": (pa.array([b"a", b"\xff"]), [3, -1]),
    "integers": (pa.array([1, 7, None], pa.int16()), [0, -1, -1]),
    "floats": (pa.array([1.0, 2.5, NAN, None, 7.0]), [0, 1, -1, -1, -1]),
    "booleans": (pa.array([True, False, None]), [4, -1, -1]),
    "dictionary": (pa.array(["a", None, "b"]).dictionary_encode(), [3, -1, -1]),
    "dates": (pa.array([dt.date(2020, 1, 31), None]), [6, -1]),
    "nothing": (pa.nulls(1), [-1]),
}


@pytest.mark.parametrize(("array", "places"), PLACES.values(), ids=PLACES)
def test_places_in_a_list(array, places):
    assert positions(array, LISTED).tolist() == places


def test_truth():
    assert same(as_truth(pa.array(["Yes", "0", " TRUE ", "maybe", None])), [1, 0, 1, NAN, NAN])
    assert same(as_truth(pa.array([1, 0, 2, None])), [1, 0, NAN, NAN])
    assert same(as_truth(pa.array([True, None])), [1, NAN])
    assert same(as_truth(pa.array(["no", "yes"]).dictionary_encode()), [0, 1])


@pytest.mark.parametrize(
    "storage", [pa.list_(pa.int8()), pa.struct([("x", pa.int8())]), pa.duration("s"), pa.time32("s")]
)
def test_what_cannot_be_read_has_no_family(storage):
    assert family(storage) is None
