"""Python objects as ids of persons: a column of them may hold any kinds at once."""

import datetime as dt
import decimal
import sys
import uuid
from typing import Any

import numpy as np

from sfumato.trusted.encoding.values import (
    ATTOSECONDS,
    CYCLE_DAYS,
    DAY_SECONDS,
    Kind,
    attoseconds_of,
    real_part,
    runs_no_code,
    value_of,
)

_LONGEST = 4_000  # digits of a number that is written out
_TOO_LONG = 10**_LONGEST


def id_of_object(cell: object) -> bytes | None:
    """A Python object as the id of a person; None where it names nobody: a null, or an object of another kind.

    Formal guarantees
        It depends on the value alone. Objects of one kind that differ have different ids: nothing is rounded, clamped
        or replaced. A number is its digits, of whatever kind it is; a fraction is the shortest digits that name it as a
        float64, or all of them where it is a decimal. A moment has every digit of its second, and the offset of its
        zone. As in `values`, no method of a strange class is called.
    """
    if runs_no_code(cell):
        return _id(cell)
    try:
        return _id(cell)
    except BaseException:  # noqa: BLE001 - see `value_of`
        return None


def _id(cell: Any) -> bytes | None:
    kind, content = value_of(cell)
    if kind == Kind.NULL:
        return None
    if kind == Kind.TEXT:
        text: bytes = content
        return text
    if kind == Kind.NUMBER:
        return _digits_of_number(cell).encode()
    if kind == Kind.DAY:
        return dt.date.isoformat(cell).encode()
    return _id_of_other(cell)


def _id_of_other(cell: Any) -> bytes | None:
    cls = type(cell)
    if cls is uuid.UUID:
        return str(cell).encode()
    if issubclass(cls, np.datetime64):
        return _text_of_moment(attoseconds_of(cell)).encode()
    if (pandas := sys.modules.get("pandas")) is not None and issubclass(cls, pandas.Timestamp):
        return str(pandas.Timestamp.isoformat(cell)).encode()
    if issubclass(cls, dt.datetime):
        return dt.datetime.isoformat(cell).encode()
    return dt.time.isoformat(cell).encode() if issubclass(cls, dt.time) else None


def _text_of_moment(attoseconds: int) -> str:
    """As `datetime` writes it, in any year, with as many more groups of three digits as the fraction needs."""
    seconds, fraction = divmod(attoseconds, ATTOSECONDS)
    cycles, rest = divmod(seconds, CYCLE_DAYS * DAY_SECONDS)
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=rest)
    written = f"{moment.year + 400 * cycles:04d}{moment.isoformat()[4:]}"
    if not fraction:
        return written
    digits = f"{fraction:018d}"
    groups = -(-len(digits.rstrip("0")) // 3)
    return f"{written}.{digits[: 3 * max(2, groups)]}"


def _digits_of_number(cell: Any) -> str:
    """All digits: of integers and decimals of any size, and of floats of any size."""
    cls = type(cell)
    if issubclass(cls, np.complexfloating):
        return _digits_of_number(real_part(cell))
    if issubclass(cls, np.longdouble):
        return _digits_of_long_double(np.generic.item(cell))
    if issubclass(cls, decimal.Decimal):
        return _digits_of_decimal(decimal.Decimal(cell))
    number = value_of(cell).content if not issubclass(cls, int) else int.__add__(cell, 0)
    return _digits(number) if isinstance(number, int) else _digits_of_decimal(decimal.Decimal(repr(number)))


def _digits(number: int) -> str:
    return str(number) if abs(number) < _TOO_LONG else hex(number)


def _digits_of_long_double(number: np.longdouble) -> str:
    if number.is_integer():
        return _digits(int(number))
    if np.isfinite(number) and float(number) != number:  # it lies between two float64
        return "/".join(map(_digits, number.as_integer_ratio()))
    return _digits_of_decimal(decimal.Decimal(repr(float(number))))


def _digits_of_decimal(number: decimal.Decimal) -> str:
    """All its digits, without zeros at the end of its fraction."""
    if not number.is_finite():
        return str(float(number))
    sign, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits))
    shorter = written.rstrip("0")
    places = int(exponent) + len(written) - len(shorter)
    if not shorter:
        return "0"
    if abs(places) > _LONGEST:
        return f"{'-' * sign}{shorter}e{places}"
    if places < 0:
        padded = shorter.rjust(1 - places, "0")
        shorter = f"{padded[:places]}.{padded[places:]}"
    return "-" * sign + shorter + "0" * places
