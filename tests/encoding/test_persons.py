"""Whose record it is: the same bytes for the same person, however an id is stored."""

import datetime as dt
import decimal
import uuid

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding.objects import id_of_object
from sfumato.trusted.encoding.persons import person_type_fits, persons

SAME = {
    "int64": pa.array([7, None, -3, 2**53 + 2]),
    "int16 in part": pa.array([7, None, -3, 9], pa.int16()),
    "uint64": pa.array([7, None, 2**64 - 1, 9], pa.uint64()),
    "float64": pa.array([7.0, float("nan"), -3.0, 2.0**53 + 2]),
    "float32": pa.array([7.0, None, -3.0, 8.0], pa.float32()),
    "decimal": pa.array([decimal.Decimal("7.00"), None, decimal.Decimal("-3.00"), decimal.Decimal("8.50")]),
    "decimal32": pa.array([decimal.Decimal("7.00"), None], pa.decimal32(7, 2)),
    "decimal64": pa.array([decimal.Decimal("7.00"), None], pa.decimal64(12, 2)),
    "float16": pa.array([7.0, None, float("nan")], pa.float16()),
    "text": pa.array(["7", "", "-3", "8"]),
    "bytes": pa.array([b"7", None, b"-3", b"\xff"]),
    "large text": pa.array(["7", None, "-3", "8"], pa.large_string()),
    "dictionary": pa.array(["7", None, "-3", "7"]).dictionary_encode(),
    "dictionary of numbers": pa.array([7, None, -3, 7]).dictionary_encode(),
}


@pytest.mark.parametrize("array", SAME.values(), ids=SAME)
def test_a_number_is_its_digits_and_nobody_is_null(array):
    assert person_type_fits(array.type)
    first, second, *_ = persons(array).to_pylist()
    assert (first, second) == (b"7", None)


def test_other_values_keep_themselves_apart():
    assert persons(SAME["uint64"]).to_pylist()[2] == b"18446744073709551615"
    assert persons(SAME["float64"]).to_pylist()[2:] == [b"-3", b"9007199254740994"]
    assert persons(SAME["decimal"]).to_pylist()[2:] == [b"-3", b"8.5"]
    assert persons(SAME["bytes"]).to_pylist()[3] == b"\xff"
    halves = persons(pa.array([0.5, 0.25, 1e300, float("inf"), 0.5])).to_pylist()
    assert len(set(halves)) == 4
    assert halves[0] == halves[4]


@pytest.mark.parametrize("storage", [pa.decimal32(5, 2), pa.decimal64(5, 2), pa.decimal128(5, 2), pa.decimal256(5, 2)])
def test_a_decimal_beyond_its_declared_digits_names_a_person(storage):
    largest = 2 ** (8 * storage.byte_width - 1) - 1
    integers = [100, largest, -largest - 1, largest - 1]
    content = b"".join(one.to_bytes(storage.byte_width, "little", signed=True) for one in integers)
    array = pa.Array.from_buffers(storage, len(integers), [None, pa.py_buffer(content)])
    exact = [decimal.Decimal(f"{one}e-2") for one in integers]
    assert persons(array).to_pylist() == [id_of_object(one) for one in exact]
    assert persons(array.slice(1, 2)).to_pylist() == [id_of_object(one) for one in exact[1:3]]
    assert len(set(persons(array).to_pylist())) == len(integers)


def test_text_that_writes_a_whole_number_as_a_float_names_the_same_person():
    """As in the CSV file that pandas writes of a column with a missing id, beside one without."""
    written = ["17", "17.0", "17.00", "-3.0", "017", "17.05", "1.7.0", "v1.0", "17.", ".0", "17.0\n", None]
    expected = [b"17", b"17", b"17", b"-3", b"017", b"17.05", b"1.7.0", b"v1.0", b"17.", b".0", b"17.0\n", None]
    for storage in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()):
        assert persons(pa.array(written, storage)).to_pylist() == expected, storage
    assert persons(pa.array([b"\xff.0", b"\xfe.0", b"17.0"])).to_pylist() == [b"\xff.0", b"\xfe.0", b"17"]
    assert persons(pa.array(written).dictionary_encode()).to_pylist() == expected
    fixed = pa.array([b"17.0", b"-0.0", b"\xff.00", None], pa.binary(4))
    assert persons(fixed).to_pylist() == [b"17", b"0", b"\xff.00", None]


EXPONENTS = {
    "1.2345678901234568e+16": b"12345678901234568",
    "-1e+16": b"-10000000000000000",
    "4.611686018427388e+18": str(2**62).encode(),
    "9.223372036854776e+18": str(2**63).encode(),
    "1.700000000000000000e+01": b"17",
    "1.2345678901234567891e+19": b"12345678901234567891",
    "1e+999": b"1" + b"0" * 999,
    "-0": b"0",
    "-0.0": b"0",
    "0.0": b"0",
    "-00": b"-00",
    "017.0": b"017",
    "1e16": b"1e16",
    "1E+16": b"1E+16",
    "12e+16": b"12e+16",
    "1e+1": b"1e+1",
    "1e+16\n": b"1e+16\n",
    "x1e+16": b"x1e+16",
}


def test_text_that_writes_a_large_number_with_an_exponent_names_the_same_person():
    """As pandas writes floats from 10^16 on, and numpy all of them."""
    for storage in (pa.string(), pa.binary()):
        assert persons(pa.array([*EXPONENTS, None], storage)).to_pylist() == [*EXPONENTS.values(), None]


@given(st.floats(allow_nan=False, allow_infinity=False).map(np.floor))
def test_a_whole_float_is_one_person_as_a_number_as_an_integer_and_as_the_text_of_it(value):
    digits = str(int(value))
    assert persons(pa.array([value])).to_pylist() == [digits.encode()]
    assert persons(pa.array([repr(float(value)), digits])).to_pylist() == [digits.encode()] * 2


@pytest.mark.parametrize(("kind", "bits"), [(np.float16, "u2"), (np.float32, "u4"), (np.float64, "u8")])
def test_floats_of_an_array_are_named_as_each_by_itself(kind, bits):
    rng = np.random.default_rng(0)
    size = np.dtype(kind).itemsize
    anything = np.frombuffer(rng.bytes(2_000 * size), bits).view(kind)
    values = np.concatenate((anything, np.round(rng.normal(size=2_000), 2).astype(kind), [kind(-0.0), kind(np.inf)]))
    found = persons(pa.array(values))
    assert found.to_pylist() == [id_of_object(value) for value in values]
    fractions = np.array([np.isfinite(value) and not value.is_integer() for value in values])
    as_text = persons(pa.array(map(repr, values[fractions].astype(float).tolist()), pa.string()))
    assert as_text.to_pylist() == found.filter(pa.array(fractions)).to_pylist()


def test_a_float_is_its_shortest_digits_as_a_float64():
    """Whatever stores it: a float32 among float64 becomes one, and must stay the same person."""
    assert persons(pa.array([0.1, 2.5, -0.3, 0.1])).to_pylist() == [b"0.1", b"2.5", b"-0.3", b"0.1"]
    for kind in (np.float16, np.float32):
        values = np.array([0.1, 2.5, -0.3], kind)
        assert persons(pa.array(values)).equals(persons(pa.array(values.astype(np.float64))))
        assert len(persons(pa.array([kind(0.1), np.nextafter(kind(0.1), kind(1))])).unique()) == 2


def test_days_and_uuids_name_persons():
    assert persons(pa.array([dt.date(2024, 2, 29)])).to_pylist() == [b"2024-02-29"]
    one = uuid.uuid4()
    stored = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([one.bytes], pa.binary(16)))
    assert person_type_fits(pa.uuid())
    assert persons(stored).to_pylist() == [str(one).encode()]


@pytest.mark.parametrize(
    "storage", [pa.timestamp("us"), pa.list_(pa.int64()), pa.duration("s"), pa.struct([])], ids=str
)
def test_other_types_cannot_tell_persons_apart(storage):
    assert not person_type_fits(storage)
