"""What one value is: the table of `sfumato.trusted.encoding.values`, row by row, and cells that fight back."""

import datetime as dt
import decimal
import enum
import fractions
import io
import math
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.trusted.encoding.cells import cells_of, unpack
from sfumato.trusted.encoding.objects import id_of_object
from sfumato.trusted.encoding.values import (
    NULL,
    OTHER,
    Kind,
    Value,
    float_of_text,
    number_of_text,
    read_number,
    truth_of_text,
    value_of,
)


def number(content: float) -> Value:
    return Value(Kind.NUMBER, content)


def text(content: bytes) -> Value:
    return Value(Kind.TEXT, content)


EAST = dt.timezone(dt.timedelta(hours=2))
VALUES = [
    *(
        (cell, NULL)
        for cell in (None, math.nan, np.float32("nan"), np.longdouble("nan"), complex("nan"), pd.NA, pd.NaT)
    ),
    *((np_complex("nan"), NULL) for np_complex in (np.complex64, np.complex128, np.clongdouble)),
    *((cell, NULL) for cell in (np.datetime64("NaT", "s"), np.timedelta64("NaT", "s"), decimal.Decimal("sNaN"))),
    *(
        (cell, number(1))
        for cell in (True, np.True_, 1, np.int8(1), np.uint64(1), 1.0, np.float16(1), np.longdouble(1))
    ),
    *((cell, number(1)) for cell in (decimal.Decimal("1.00"), 1 + 0j, np.complex64(1), enum.IntEnum("E", "A")["A"])),
    *((np_complex(1), number(1)) for np_complex in (np.complex128, np.clongdouble)),
    *((np_complex(2.5), number(2.5)) for np_complex in (np.complex64, np.complex128, np.clongdouble)),
    *((np_complex(1 + 2j), OTHER) for np_complex in (np.complex64, np.complex128, np.clongdouble)),
    (np.clongdouble(2**63 + 2**11), number(2**63 + 2**11)),
    *((cell, number(0)) for cell in (False, -0.0, decimal.Decimal("0E+999999"), decimal.Decimal("-1E-999999"))),
    (2.5, number(2.5)),
    (np.float32(0.1), number(0.10000000149011612)),
    (np.longdouble("0.1"), number(0.1)),
    (2**63, number(2**63)),
    (np.uint64(2**64 - 1), number(2**64 - 1)),
    *(
        (cell, number(math.inf))
        for cell in (10**5000, np.float16("inf"), decimal.Decimal("1e999999"), np.longdouble("1e4000"))
    ),
    (-(10**5000), number(-math.inf)),
    *((cell, text(b"a")) for cell in ("a", b"a", bytearray(b"a"), memoryview(b"a"), np.str_("a"), np.bytes_(b"a"))),
    ("\ud800", text(b"\xed\xa0\x80")),
    (b"\xff", text(b"\xff")),
    (dt.date(1970, 1, 3), Value(Kind.DAY, 2)),
    *(
        (cell, Value(Kind.MOMENT, 0))
        for cell in (dt.datetime(1970, 1, 1), np.datetime64(0, "Y"), np.datetime64(5, "as"))
    ),
    (dt.datetime(1970, 1, 1, 2, tzinfo=EAST), Value(Kind.MOMENT, 0)),
    (pd.Timestamp("1970-01-01T02:00:00", tz=EAST), Value(Kind.MOMENT, 0)),
    (pd.Timestamp("1970-01-01T01:00:00", tz="Europe/Berlin"), Value(Kind.MOMENT, 0)),
    (dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), Value(Kind.MOMENT, -1)),
    (np.datetime64("1969-12-31T23:59:59.9"), Value(Kind.MOMENT, -1)),
    (np.datetime64("1970-02"), Value(Kind.MOMENT, 31 * 86_400)),
    (np.datetime64("20000-02", "M"), Value(Kind.MOMENT, 568_971_820_800 + 31 * 86_400)),
    (np.datetime64(2**62, "W"), Value(Kind.MOMENT, 2**62 * 604_800)),
    (np.array([5], np.int64).view("M8")[0], OTHER),
    (pd.Timestamp(np.datetime64("20000-01-01", "s")), Value(Kind.MOMENT, 568_971_820_800)),
    *((cell, OTHER) for cell in (2j, dt.timedelta(1), dt.time(1), np.timedelta64(1, "D"), pd.Timedelta(1, "D"))),
    *((cell, OTHER) for cell in (pd.Period("2020"), pd.Interval(0, 1), [1], {"a": 1}, (1,), object(), range(3))),
    *((cell, OTHER) for cell in (uuid.UUID(int=1), fractions.Fraction(1, 3), np.void(b"a"), np.array([1, 2]), int)),
]


@pytest.mark.parametrize(("cell", "value"), VALUES, ids=[str(place) for place in range(len(VALUES))])
def test_the_table(cell, value):
    found = value_of(cell)
    assert found == value
    assert type(found.content) is type(value.content)
    assert unpack(cells_of([cell]).storage[0].as_py()) == value


def shout(*_args, **_kwargs):
    raise RuntimeError("SECRET")


SHOUTING = dict.fromkeys(
    (
        *(
            "__int__",
            "__float__",
            "__index__",
            "__str__",
            "__repr__",
            "__bytes__",
            "__eq__",
            "__hash__",
            "__bool__",
            "__len__",
        ),
        *(
            "__iter__",
            "__getattr__",
            "__abs__",
            "__neg__",
            "__lt__",
            "__add__",
            "__radd__",
            "__reduce__",
            "encode",
            "decode",
        ),
        *(
            "is_integer",
            "as_integer_ratio",
            "as_tuple",
            "isoformat",
            "utcoffset",
            "toordinal",
            "item",
            "view",
            "__array_ufunc__",
            "tobytes",
            "is_nan",
        ),
    ),
    shout,
)
SHOUTING |= dict.fromkeys(("__class__", "dtype", "real", "imag"), property(shout))


class Meta(type):
    """A class that objects to being looked at."""

    __eq__ = __hash__ = __instancecheck__ = __subclasscheck__ = shout


class Zone(dt.tzinfo):
    utcoffset = shout


def leave(*_args, **_kwargs):
    raise SystemExit("SECRET")


def interrupt(*_args, **_kwargs):
    raise KeyboardInterrupt("SECRET")


class LeavingMeta(type):
    """A class that ends the program where it is looked at."""

    __eq__ = __hash__ = __instancecheck__ = __subclasscheck__ = leave


def hostile_zone(does) -> dt.tzinfo:
    return type("HostileZone", (dt.tzinfo,), dict.fromkeys(("utcoffset", "dst", "tzname"), does))()


def shouting(base: type) -> type:
    return type(f"Shouting{base.__name__}", (base,), SHOUTING)


SHOUTERS: dict[type, tuple] = {
    int: (3,),
    float: (2.5,),
    complex: (1,),
    str: ("x",),
    bytes: (b"x",),
    bytearray: (b"x",),
    object: (),
    decimal.Decimal: ("1.5",),
    dt.date: (2020, 1, 1),
    dt.datetime: (2020, 1, 1),
    uuid.UUID: ("1" * 32,),
    np.float64: (2.5,),
    np.float32: (2.5,),
    np.longdouble: ("0.1",),
    np.clongdouble: (1,),
    np.bool_: (True,),
    np.datetime64: (5, "ns"),
    np.str_: ("x",),
    list: ((1, 2),),
    dict: (),
    set: (),
    tuple: ((1,),),
}
HOSTILE = {
    **{base.__name__: (shouting(base), args) for base, args in SHOUTERS.items()},
    "a class with a metaclass": (Meta("Strange", (), {}), ()),
    "a class that ends the program": (LeavingMeta("Leaving", (), {}), ()),
    "a time zone": (lambda: dt.datetime(2020, 1, 1, tzinfo=Zone()), ()),
    "a time zone that ends the program": (lambda: dt.datetime(2020, 1, 1, tzinfo=hostile_zone(leave)), ()),
    "a time zone that interrupts": (lambda: dt.datetime(2020, 1, 1, tzinfo=hostile_zone(interrupt)), ()),
    "a released view": (lambda: released(), ()),
}


def released() -> memoryview:
    view = memoryview(b"x")
    view.release()
    return view


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_cell_raises_or_runs_its_own_code(kind):
    make, args = HOSTILE[kind]
    cell = make(*args)
    value = value_of(cell)
    assert value.kind != Kind.NULL
    assert id_of_object(cell) is None or value.kind in (Kind.NUMBER, Kind.TEXT, Kind.DAY, Kind.MOMENT)
    assert cells_of([cell, None, cell]).null_count == 1


def test_a_subclass_is_read_as_what_it_is():
    """Not as what its methods say: those are never called."""
    read = {kind: value_of(HOSTILE[kind][0](*HOSTILE[kind][1])) for kind in HOSTILE}
    assert (read["int"], read["float"], read["complex"], read["Decimal"]) == (
        number(3),
        number(2.5),
        number(1),
        number(1.5),
    )
    assert read["str"] == read["bytes"] == read["bytearray"] == text(b"x")
    assert (read["longdouble"], read["clongdouble"], read["bool"]) == (number(0.1), number(1), number(1))
    assert (read["date"].kind, read["datetime64"]) == (Kind.DAY, Value(Kind.MOMENT, 0))
    assert {read[kind] for kind in ("object", "a released view", *(one for one in read if " " in one))} == {OTHER}


def test_a_class_is_known_by_what_it_is():
    """Not by what its metaclass says that it equals."""
    alike = type("Alike", (type,), {"__eq__": lambda *_: True, "__hash__": lambda _: hash(int)})("int", (), {})
    assert value_of(alike()) == OTHER
    assert id_of_object(alike()) is None


@given(st.integers(-(10**6), 10**6))
def test_months_of_any_year_begin_when_numpy_says(months):
    month = np.datetime64(months, "M")
    assert value_of(month).content == int(month.astype("M8[s]").astype(np.int64))


NUMBERS = {
    b"7": 7,
    b" 07 ": 7,
    b"+7.0": 7,
    b"1e3": 1000,
    b"0.5": 0.5,
    b"-inf": -math.inf,
    b"True": 1,
    b" FALSE": 0,
    b"900000000000207008": 900000000000207008,
    b"-900000000000207009": -900000000000207009,
    b"9007199254740993.0": 9007199254740992,
    b"1e400": math.inf,
    b"0x10": 16,
    b" 0X1f\t": 31,
    b"0x1e5": 0x1E5,
    b"0x7ffffffffffffffe": 2**63 - 2,
    b"0xffffffffffffffff": -1,
    b"0x8000000000000000": -(2**63),
    b"0x00000000000000001": None,
    b"-0x10": None,
    b"+0x10": None,
    b"0x": None,
    b"0x1_0": None,
    b"0x1.8p1": None,
    b"yes": None,
    b"": None,
    b"1,5": None,
    b"\xff": None,
    "١".encode(): None,
}


@pytest.mark.parametrize(("written", "expected"), NUMBERS.items())
def test_numbers_in_text(written, expected):
    found = number_of_text(written)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("written", [one for one in NUMBERS if b"x" in one.lower()])
def test_hexadecimal_digits_are_what_pyarrow_reads(written):
    """Which reads them so only where all rows of a column are integers."""
    column = pyarrow.csv.read_csv(io.BytesIO(b"x\n" + written + b"\n")).column("x")
    read = column[0].as_py() if column.type == pa.int64() else None
    assert number_of_text(written) == read
    assert float_of_text(written) == (None if read is None else float(read))
    assert truth_of_text(written) is None


def test_hexadecimal_truth():
    assert [truth_of_text(written) for written in (b"0x1", b"0X0", b"0x2")] == [1, 0, None]


def test_nan_in_text_is_a_number_that_is_none():
    assert math.isnan(number_of_text(b" NaN "))
    assert math.isnan(float_of_text(b"-nan"))


@given(st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | st.booleans())
def test_a_number_is_the_same_as_its_text(value):
    """As a library stores it where a text stands beside it."""
    content = value_of(value).content
    for written in {repr(value), repr(float(value)) if float(value) == value else repr(value), str(value).lower()}:
        assert number_of_text(written.encode()) == content
        assert read_number(text(written.encode())) == read_number(number(content))


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20))
def test_a_decimal_is_read_as_the_nearest_float(value):
    assert read_number(value_of(value)) == float(value)


@pytest.mark.parametrize("cell", [10**309, -(10**350), decimal.Decimal("1e350"), decimal.Decimal("-9e399")])
def test_a_number_that_no_float_holds_is_infinite(cell):
    assert read_number(value_of(cell)) == math.copysign(math.inf, -1 if cell < 0 else 1)
