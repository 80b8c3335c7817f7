"""Values of every Arrow type, readable or not, one by one."""

import datetime as dt
import decimal
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato.trusted.encoding.cells import cells_of
from sfumato.trusted.encoding.frames import to_arrow
from sfumato.trusted.encoding.listings import IS_NULL, NOT_LISTED, Listing
from sfumato.trusted.encoding.reading import Numbers, as_days, as_numbers, as_seconds, as_truth, family, positions

NAN, UNREAD = np.nan, "unread"


def told(numbers: Numbers) -> list:
    """Each number, NaN for a null, or that it could not be read."""
    values, unread = numbers
    return [
        UNREAD if no else one
        for one, no in zip(values, [False] * len(values) if unread is None else unread, strict=True)
    ]


def same(left, right) -> bool:
    return len(left) == len(right) and all(
        one is other or one == other or (one != one and other != other) for one, other in zip(left, right, strict=True)
    )


NUMBERS = {
    "small integers": (pa.array([1, None, 3], pa.int8()), [1, NAN, 3]),
    "largest integers": (pa.array([2**64 - 1, 0], pa.uint64()), [2.0**64, 0]),
    "half floats": (pa.array(np.array([1.5, np.inf], np.float16)), [1.5, np.inf]),
    "nan and null": (pa.array([NAN, None, -np.inf]), [NAN, NAN, -np.inf]),
    "decimals": (pa.array([decimal.Decimal("1.25"), None]), [1.25, NAN]),
    "booleans": (pa.array([True, None, False]), [1, NAN, 0]),
    "text": (
        pa.array(["1.5", " 7 ", "1e400", "-1e400", "x", "", None, "١", "nan", "True", "false "]),
        [1.5, 7, np.inf, -np.inf, UNREAD, UNREAD, NAN, UNREAD, NAN, 1, 0],
    ),
    "a number of 401 digits": (pa.array(["1" + "0" * 400]), [np.inf]),
    "bytes that are no text": (pa.array([b"\xff\xfe", b"3"]), [UNREAD, 3]),
    "a view": (pa.array(["4", None], pa.string_view()), [4, NAN]),
    "objects": (cells_of(["4", None, True, 2.5, [1], NAN, 10**400]), [4, NAN, 1, 2.5, UNREAD, NAN, np.inf]),
    "nothing": (pa.nulls(2), [NAN, NAN]),
    "days": (pa.array([dt.date(1970, 1, 3), None]), [UNREAD, NAN]),
    "moments": (pa.array([dt.datetime(1970, 1, 3), None]), [UNREAD, NAN]),
    "durations": (pa.array([dt.timedelta(1), None]), [UNREAD, NAN]),
}


@pytest.mark.parametrize(("array", "numbers"), NUMBERS.values(), ids=NUMBERS)
def test_numbers(array, numbers):
    assert same(told(as_numbers(array)), numbers)


@pytest.mark.parametrize(("precision", "scale"), [(9, 9), (15, 4), (18, 4), (30, 10), (38, 20), (60, 30), (7, -2)])
def test_a_decimal_is_the_nearest_float(precision, scale):
    """Arrow's own cast is not: 8,370 of 20,000 decimals of 9 digits came out one bit off."""
    rng = np.random.default_rng(precision)
    exact = decimal.Context(prec=80)
    digits = [int("".join(map(str, rng.integers(0, 10, precision)))) for _ in range(500)]
    values = [decimal.Decimal(number * sign).scaleb(-scale, exact) for number in digits for sign in (1, -1)]
    wide = precision > 38
    array = pa.array([*values, None], (pa.decimal256 if wide else pa.decimal128)(precision, scale))
    assert same(told(as_numbers(array.slice(3))), [*map(float, values[3:]), NAN])
    if precision <= 18:
        narrow = array.cast((pa.decimal32 if precision <= 9 else pa.decimal64)(precision, scale))
        assert same(told(as_numbers(narrow)), [*map(float, values), NAN])


def raw_decimals(storage: pa.DataType, integers: list[int | None]) -> pa.Array:
    """Decimals of any integers that fit into their bytes, even where the type declares fewer digits."""
    width = storage.byte_width
    content = b"".join((one or 0).to_bytes(width, "little", signed=True) for one in integers)
    valid = np.packbits([one is not None for one in integers], bitorder="little")
    return pa.Array.from_buffers(storage, len(integers), [pa.py_buffer(valid), pa.py_buffer(content)])


@pytest.mark.parametrize("scale", [0, 2, 5, 22, 23, -3])
@pytest.mark.parametrize("make", [pa.decimal32, pa.decimal64, pa.decimal128, pa.decimal256])
def test_a_decimal_beyond_its_declared_digits_is_read_as_what_it_is(make, scale):
    storage = make(5, scale)
    ends = {2**bits + more for bits in (16, 31, 53, 63, 127, 255) for more in (-1, 0, 1)}
    integers = [sign * one for one in sorted({0, 100, *ends}) for sign in (1, -1)]
    fitting = [
        one for one in integers if -(2 ** (8 * storage.byte_width - 1)) <= one < 2 ** (8 * storage.byte_width - 1)
    ]
    exact = [decimal.Decimal(one).scaleb(-scale, decimal.Context(prec=99)) for one in fitting]
    array = raw_decimals(storage, [77, *fitting, None]).slice(1)
    assert same(told(as_numbers(array)), [*map(float, exact), NAN])
    plain = [f"{one:f}" for one in exact]
    whole = Listing(plain[::2])
    assert positions(array, whole).tolist()[:-1] == positions(cells_of(exact), whole).tolist()
    assert same(told(as_truth(array)), told(as_truth(cells_of([*exact, None]))))
    assert same(told(as_numbers(array.slice(len(fitting)))), [NAN])
    assert len(as_numbers(array.slice(0, 0)).values) == 0


MOMENTS = {
    "dates": (pa.array([dt.date(1970, 1, 2), None]), [86_400, NAN]),
    "dates in milliseconds": (pa.array([dt.date(1970, 1, 2)], pa.date64()), [86_400]),
    "before the epoch": (pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 500_000)]), [-1]),
    "nanoseconds": (pa.array([1_500_000_000, None], pa.timestamp("ns")), [1, NAN]),
    "with a zone": (pa.array([dt.datetime(1970, 1, 1, 1)], pa.timestamp("s", "Europe/Paris")), [3600]),
    "text": (
        pa.array(["1970-01-01T00:01:00", "1970-01-01T01:00:00+01:00", "1970-01-02", "soon", None, "nan"]),
        [60, 0, 86_400, UNREAD, NAN, NAN],
    ),
    "a year that no clock has": (pa.array(["99999-01-01", "0001-01-01T00:00:00+23:59"]), [UNREAD, -62135683140.0]),
    "objects": (
        cells_of([dt.date(1970, 1, 2), dt.datetime(1970, 1, 1, 1), "1970-01-02", 5, None]),
        [86_400, 3600, 86_400, UNREAD, NAN],
    ),
    "numbers": (pa.array([5, None]), [UNREAD, NAN]),
    "floats": (pa.array([5, NAN]), [UNREAD, NAN]),
}


@pytest.mark.parametrize(("array", "seconds"), MOMENTS.values(), ids=MOMENTS)
def test_moments(array, seconds):
    assert same(told(as_seconds(array)), seconds)
    days = [one if one == UNREAD else np.floor(one / 86_400) for one in seconds]
    assert same(told(as_days(array)), days)


LISTED = Listing(["1", "2.5", "007", "a", "False", "ü", "2020-01-31", "1e3", "900000000000207008"])
NO, NULL = NOT_LISTED, IS_NULL
PLACES = {
    "text": (
        pa.array(["a", "ü", "b", None, "1", "1.0", "7", "07", "true", "FALSE", "nan"]),
        [3, 5, NO, NULL, 0, 0, 2, 2, 0, 4, NULL],
    ),
    "bytes": (pa.array([b"a", b"\xff"]), [3, NO]),
    "integers": (pa.array([1, 7, None, 8, 1000], pa.int16()), [0, 2, NO, NO, 7]),
    "long integers": (pa.array([900000000000207008, 900000000000207009]), [8, NO]),
    "unsigned": (pa.array([900000000000207008, 2**64 - 1, 0], pa.uint64()), [8, NO, 4]),
    "floats": (pa.array([1.0, 2.5, NAN, None, 7.0, -0.0, 1e3, 9.00000000000207e17]), [0, 1, NULL, NULL, 2, 4, 7, NO]),
    "decimals": (pa.array([decimal.Decimal(text) for text in ("1.00", "2.50", "900000000000207008")]), [0, 1, 8]),
    "booleans": (pa.array([True, False, None]), [0, 4, NO]),
    "days": (pa.array([dt.date(2020, 1, 31), None, dt.date(2020, 2, 1)]), [6, NULL, NO]),
    "moments": (pa.array([dt.datetime(2020, 1, 31), None]), [NO, NULL]),
    "nothing": (pa.nulls(1), [NULL]),
    "objects": (
        cells_of(["a", 1, 1.0, True, None, dt.date(2020, 1, 31), dt.datetime(2020, 1, 31), [1], "07"]),
        [3, 0, 0, 0, NULL, 6, NO, NO, 2],
    ),
}


@pytest.mark.parametrize(("array", "places"), PLACES.values(), ids=PLACES)
def test_places_in_a_list(array, places):
    found = positions(array, LISTED).tolist()
    nulls = array.is_null().to_pylist()  # of which either will do
    assert [NULL if null else one for one, null in zip(found, nulls, strict=True)] == [
        NULL if null else one for one, null in zip(places, nulls, strict=True)
    ]


def test_hexadecimal_digits_are_one_value_whoever_reads_them():
    """With this engine pandas makes integers of them where all rows are integers, and else text."""
    files = ["x\n0x10\n0xffffffffffffffff\n", "x\n0x10\n0xffffffffffffffff\nword\n"]
    integers, text = (
        to_arrow(pd.read_csv(io.StringIO(file), engine="pyarrow"), ["x"]).column("x").combine_chunks() for file in files
    )
    assert family(integers.type) == "number"
    for listing in (Listing(["16", "-1"]), Listing(["0xffffffffffffffff", "0x10"])):
        assert positions(integers, listing).tolist() == positions(text, listing).tolist()[:2]
    assert told(as_numbers(integers)) == told(as_numbers(text))[:2] == [16, -1]
    assert told(as_truth(pa.array(["0x1", "0x00", "0x10"]))) == [1, 0, UNREAD]


def test_a_nan_that_signals_warns_of_nothing(recwarn):
    signalling = pa.array(np.array([0x7FF0000000000001], np.uint64).view(np.float64))
    assert positions(signalling, LISTED).tolist() == [IS_NULL]
    assert len(recwarn) == 0


def test_a_number_is_the_plain_one_of_several_entries():
    assert Listing(["007", "7", "7.0"]).numbers == {7: 1}
    assert Listing(["007", "7.0"]).numbers == {7: 0}
    assert Listing(["True", "TRUE", "x", "nan"]).numbers == {1: 0}


def test_truth():
    words = pa.array(["Yes", "0", " TRUE ", "maybe", None, "1.0", "nan", "2"])
    assert same(told(as_truth(words)), [1, 0, 1, UNREAD, NAN, 1, NAN, UNREAD])
    assert same(told(as_truth(pa.array([1, 0, 2, None]))), [1, 0, UNREAD, NAN])
    assert same(told(as_truth(pa.array([1.0, NAN, 0.5]))), [1, NAN, UNREAD])
    assert same(told(as_truth(pa.array([True, None]))), [1, NAN])
    assert same(told(as_truth(cells_of(["no", True, 1, 0.0, 3, [], None]))), [0, 1, 1, 0, UNREAD, UNREAD, NAN])


@pytest.mark.parametrize(
    "storage", [pa.list_(pa.int8()), pa.struct([("x", pa.int8())]), pa.duration("s"), pa.time32("s")]
)
def test_what_cannot_be_read_has_no_family(storage):
    assert family(storage) is None
