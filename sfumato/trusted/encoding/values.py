"""What one value is, whatever stores it.

Libraries choose a column's storage type by looking at all of its rows: one null turns integers into floats and booleans
into objects. So a value is read by what it is and never by the type of the column that holds it. This module is the
definition, one value at a time; `reading` does the same for whole arrays, and tests compare the two.

kind      what belongs to it                                                     content
NULL      None, NaN of any kind, NaT, the NA of pandas, a null of Arrow          None
NUMBER    booleans (1 and 0), integers, floats, decimals, complex numbers        int, or float where it is no integer
          without an imaginary part
TEXT      str, bytes, bytearray, memoryview                                      bytes; of str in UTF-8
DAY       date                                                                   days since 1970-01-01
MOMENT    datetime, numpy's datetime64; universal time where no zone is given    seconds since 1970-01-01, rounded down
OTHER     everything else: durations, lists, objects of unknown classes          None

Formal guarantees
    `value_of` depends on the value alone. It calls no method that a class outside of the table or its metaclass
    defines, so a cell can neither raise nor run code here, except for time zones: whatever they raise makes the value
    OTHER.
"""

import datetime as dt
import decimal
import enum
import math
import re
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

DAY_SECONDS = 86_400
_EPOCH = dt.date(1970, 1, 1).toordinal()
_BEYOND_FLOATS = 10**400  # integers from here on are infinite, as floats are
_LARGEST_EXPONENT = 400
_MICROSECONDS = 10**6
_LARGEST_EXACT = 2.0**53  # all integers below are floats
_NO_DIGITS = set(b".eE")
_HEXADECIMAL = re.compile(rb"0x[0-9a-f]{1,16}")
_TRUTH_WORDS = {b"true": 1.0, b"false": 0.0}


TruthWords = Mapping[bytes, float]
"""Words for false and true, in small letters, and the number of each."""
NO_WORDS: TruthWords = MappingProxyType({})
ReadText = Callable[[bytes], float | None]
"""What a text is read as: NaN for a null, None where it cannot be read."""


class Kind(enum.IntEnum):
    """What a value is."""

    NULL = 0
    NUMBER = 1
    TEXT = 2
    DAY = 3
    MOMENT = 4
    OTHER = 5


class Value(NamedTuple):
    """A value and its kind; see the table above for the content."""

    kind: Kind
    content: Any = None


NULL = Value(Kind.NULL)
OTHER = Value(Kind.OTHER)


def value_of(cell: object) -> Value:
    """The value in a cell that holds a Python object of any class."""
    if cell is None:
        return NULL
    if (reader := _READERS.get(id(type(cell)))) is not None:
        return reader(cell)
    try:
        return _reader_of_class(type(cell))(cell)
    except BaseException:  # noqa: BLE001
        # A time zone is any code and may raise SystemExit. A Ctrl-C while it runs looks the same and is lost.
        return OTHER


def runs_no_code(cell: object) -> bool:
    """Whether an object is of a class whose objects have no code of their own and are read without fail."""
    return id(type(cell)) in _READERS


def normalize(number: float) -> Value:
    """A float as a value: NaN is null, and an integer is an int."""
    if math.isnan(number):
        return NULL
    return Value(Kind.NUMBER, int(number) if number.is_integer() else number)


def number_of_text(text: bytes) -> int | float | None:
    """The number that a text writes; NaN where it says so; None where it is no number.

    Digits alone are an integer of any size; with a point or an exponent they are the nearest float64. `true` and
    `false` in any case are 1 and 0, because booleans are: libraries store the same column as either. For the same
    reason up to 16 digits after 0x are the 64 bits of a signed integer.
    """
    number = float_of_text(text)
    if number is None or not math.isfinite(number) or not number.is_integer():
        return number
    if abs(number) < _LARGEST_EXACT:
        return int(number)
    if (whole := _hexadecimal(text)) is not None:
        return whole
    return int(number) if set(text) & _NO_DIGITS else int(text)


def float_of_text(text: bytes) -> float | None:
    """The number that a text writes as the nearest float64; NaN where it says so; None where it is no number."""
    try:
        return float(text)
    except ValueError:
        whole = _hexadecimal(text)
        return _TRUTH_WORDS.get(text.strip().lower()) if whole is None else float(whole)


def _hexadecimal(text: bytes) -> int | None:
    """As pyarrow, and pandas with it, reads it where all rows of a column are integers."""
    word = text.strip().lower()
    if _HEXADECIMAL.fullmatch(word) is None:
        return None
    bits = int(word, 16)
    return bits - 2**64 if bits >= 2**63 else bits


def seconds_of_text(text: bytes) -> float | None:
    """The moment that a text writes in ISO 8601, in seconds; NaN where the text is `nan`; None where it is none."""
    try:
        return float(_seconds_of_datetime(dt.datetime.fromisoformat(text.decode().strip())))
    except (ValueError, OverflowError):
        return nan_of_text(text)


def nan_of_text(text: bytes) -> float | None:
    """NaN where the text is `nan`, a word for a null in any column; else None."""
    number = float_of_text(text)
    return number if number is not None and math.isnan(number) else None


def seconds_of_fields(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> float | None:
    """The seconds from 1970-01-01 to a moment in universal time; None where no calendar has it."""
    try:
        return float(_seconds_of_datetime(dt.datetime(year, month, day, hour, minute, second)))
    except ValueError:
        return None


def read_number(value: Value, of_text: ReadText = float_of_text) -> float | None:
    """The value in a numeric column: NaN for a null, None where it cannot be read."""
    match value.kind:
        case Kind.NULL:
            return math.nan
        case Kind.NUMBER:
            return _as_float(value.content)
        case Kind.TEXT:
            return of_text(value.content)
    return None


def read_seconds(value: Value, of_text: ReadText = seconds_of_text) -> float | None:
    """The value in a date or datetime column, in seconds: NaN for a null, None where it cannot be read."""
    match value.kind:
        case Kind.NULL:
            return math.nan
        case Kind.TEXT:
            return of_text(value.content)
        case Kind.DAY:
            return float(DAY_SECONDS * value.content)
        case Kind.MOMENT:
            return _as_float(value.content)
    return None


def read_truth(value: Value, own: TruthWords = NO_WORDS) -> float | None:
    """The value in a boolean column, as 1 or 0: NaN for a null, None where it cannot be read.

    `own` are the words that the schema adds.
    """
    match value.kind:
        case Kind.NULL:
            return math.nan
        case Kind.NUMBER:
            return float(value.content) if value.content in (0, 1) else None
        case Kind.TEXT:
            return truth_of_text(value.content, own)
    return None


_WORDS = dict.fromkeys((b"true", b"t", b"yes", b"y"), 1.0) | dict.fromkeys((b"false", b"f", b"no", b"n"), 0.0)


def truth_of_text(text: bytes, own: TruthWords = NO_WORDS) -> float | None:
    """1 for true, t, yes, y and every spelling of 1; 0 for their opposites; NaN for `nan`; None for other text.

    The schema's own words are added. It refuses those that mean something already.
    """
    word = text.strip().lower()
    if word in _WORDS or word in own:
        return _WORDS[word] if word in _WORDS else own[word]
    number = float_of_text(word)
    return number if number is None or number in (0, 1) or math.isnan(number) else None


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _read_bool(cell: object) -> Value:
    return Value(Kind.NUMBER, 1 if cell else 0)


def _read_int(cell: Any) -> Value:
    number = int.__add__(cell, 0)  # a plain int, whatever a subclass defines
    if abs(number) >= _BEYOND_FLOATS:
        return Value(Kind.NUMBER, math.inf if number > 0 else -math.inf)
    return Value(Kind.NUMBER, number)


def _read_float(cell: Any) -> Value:
    return normalize(float.__add__(cell, 0.0))


def _read_numpy_number(cell: Any) -> Value:
    number = np.generic.item(cell)
    return _read_long_double(number) if type(number) is np.longdouble else value_of(number)


def _read_numpy_complex(cell: Any) -> Value:
    return _read_numpy_number(real_part(cell)) if np.generic.imag.__get__(cell) == 0 else OTHER


def real_part(cell: Any) -> Any:
    """The real part of any of numpy's numbers, of the same width."""
    return np.generic.real.__get__(cell)


def _read_long_double(number: np.longdouble) -> Value:
    if np.isfinite(number) and number == np.floor(number):
        return _read_int(int(number))
    with np.errstate(all="ignore"):
        return normalize(float(number))


def _read_decimal(cell: Any) -> Value:
    number = decimal.Decimal(cell)
    if number.is_nan():
        return NULL
    if not number:
        return Value(Kind.NUMBER, 0)
    if not number.is_finite() or number.adjusted() > _LARGEST_EXPONENT:
        return Value(Kind.NUMBER, -math.inf if number.is_signed() else math.inf)
    if number.adjusted() >= -_LARGEST_EXPONENT and number == number.to_integral_value():
        return _read_int(int(number))
    return normalize(float(number))


def _read_complex(cell: Any) -> Value:
    real, imaginary = complex.real.__get__(cell), complex.imag.__get__(cell)
    return normalize(real) if imaginary == 0 else OTHER


def _read_str(cell: Any) -> Value:
    return Value(Kind.TEXT, str.encode(cell, "utf-8", "surrogatepass"))


def _read_bytes(cell: Any) -> Value:
    return Value(Kind.TEXT, bytes.__getitem__(cell, slice(None)))


def _read_bytearray(cell: Any) -> Value:
    return Value(Kind.TEXT, bytes(bytearray.__getitem__(cell, slice(None))))


def _read_memoryview(cell: Any) -> Value:
    return Value(Kind.TEXT, memoryview.tobytes(cell))


def _read_date(cell: Any) -> Value:
    return Value(Kind.DAY, dt.date.toordinal(cell) - _EPOCH)


def _read_datetime(cell: Any) -> Value:
    return Value(Kind.MOMENT, _seconds_of_datetime(cell))


def _seconds_of_datetime(cell: Any) -> int:
    """In universal time where it has a zone, rounded down. By the methods of `datetime` itself."""
    hour, minute, second, micro = (
        int(field.__get__(cell))
        for field in (dt.datetime.hour, dt.datetime.minute, dt.datetime.second, dt.datetime.microsecond)
    )
    seconds = DAY_SECONDS * (dt.date.toordinal(cell) - _EPOCH) + 3_600 * hour + 60 * minute + second
    offset = dt.datetime.utcoffset(cell) or dt.timedelta()
    return (seconds * _MICROSECONDS + micro - offset // dt.timedelta(microseconds=1)) // _MICROSECONDS


ATTOSECONDS = 10**18  # in a second
CYCLE_DAYS = 146_097  # of the calendar: 400 years
_SECONDS_OF_UNIT = {"W": 604_800, "D": DAY_SECONDS, "h": 3_600, "m": 60, "s": 1}
_DIGITS_OF_UNIT = {"ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}
_ATTOSECONDS_OF_UNIT: dict[str, int] = {
    **{unit: seconds * ATTOSECONDS for unit, seconds in _SECONDS_OF_UNIT.items()},
    **{unit: ATTOSECONDS // 10**digits for unit, digits in _DIGITS_OF_UNIT.items()},
}
_MONTHS_OF_UNIT = {"Y": 12, "M": 1}
_NOT_A_TIME = -(2**63)


def _read_datetime64(cell: Any) -> Value:
    return NULL if _ticks(cell) == _NOT_A_TIME else Value(Kind.MOMENT, attoseconds_of(cell) // ATTOSECONDS)


def attoseconds_of(cell: Any) -> int:
    """The attoseconds from 1970-01-01 to a datetime64 of any unit that is not NaT, none of them rounded."""
    unit, multiple = np.datetime_data(np.generic.dtype.__get__(cell))
    ticks = _ticks(cell) * multiple
    if unit in _MONTHS_OF_UNIT:
        return _first_of_month(ticks * _MONTHS_OF_UNIT[unit]) * DAY_SECONDS * ATTOSECONDS
    return ticks * _ATTOSECONDS_OF_UNIT[unit]


def _ticks(cell: Any) -> int:
    return int(np.generic.view(cell, np.int64))


def _first_of_month(months: int) -> int:
    """Days from 1970-01-01 to the first day of the month that is so many months later."""
    cycles, rest = divmod(months, 400 * 12)
    return CYCLE_DAYS * cycles + dt.date(1970 + rest // 12, rest % 12 + 1, 1).toordinal() - _EPOCH


def _read_timedelta64(cell: Any) -> Value:
    return NULL if _ticks(cell) == _NOT_A_TIME else OTHER


def _read_other(_cell: object) -> Value:
    return OTHER


Reader = Callable[[Any], Value]
_PLAIN: dict[type, Reader] = {
    bool: _read_bool,
    np.bool_: _read_bool,
    int: _read_int,
    float: _read_float,
    complex: _read_complex,
    decimal.Decimal: _read_decimal,
    str: _read_str,
    bytes: _read_bytes,
    bytearray: _read_bytearray,
    dt.date: _read_date,
}
_READERS = {id(cls): reader for cls, reader in _PLAIN.items()}  # a metaclass may define what is equal to its classes
_BASES: tuple[tuple[type, Reader], ...] = (  # the first that a class comes from; numpy's float64 is a float
    (np.datetime64, _read_datetime64),
    (np.timedelta64, _read_timedelta64),
    *((base, _PLAIN[base]) for base in (float, complex, str, bytes)),
    (np.complexfloating, _read_numpy_complex),
    (np.number, _read_numpy_number),
    (np.bool_, _read_numpy_number),
    (dt.datetime, _read_datetime),
    *((base, _PLAIN[base]) for base in (int, decimal.Decimal, bytearray, dt.date)),
    (memoryview, _read_memoryview),
)


def _reader_of_class(cls: type) -> Reader:
    """How objects of a class are read. `issubclass` asks the bases here, never the class itself."""
    if (pandas := sys.modules.get("pandas")) is not None:
        if cls is type(pandas.NA) or cls is type(pandas.NaT):
            return lambda _: NULL
        if issubclass(cls, pandas.Timestamp):  # beyond the years that datetime knows it tells its own fields alone
            return lambda cell: _read_datetime64(pandas.Timestamp.to_datetime64(cell))
    return next((reader for base, reader in _BASES if issubclass(cls, base)), _read_other)
