"""Python objects, of which a column may hold any kinds at once: as text to be encoded, and as ids of persons."""

import datetime as dt
import decimal
import uuid
from typing import Any

import numpy as np

_OUT_OF_REACH = 10**19  # every whole number beyond is clamped like this one; Python refuses to print the longest
_LONGEST = 4_000  # digits of a number that is written out
_TOO_LONG = 10**_LONGEST


def text_of_object(value: object) -> str | None:
    """A Python object as text that encoding can read; None for a null.

    An object of another kind says nothing: it is not even asked for its `str`.
    """
    if value is None or _is_missing(value):
        return None
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case bytes():
            return value.decode(errors="replace")
        case bool() | np.bool_():
            return "true" if value else "false"
        case int() | np.integer():
            return str(min(max(int(value), -_OUT_OF_REACH), _OUT_OF_REACH))
        case float() | np.floating() | decimal.Decimal():
            number = float(value)
            return str(int(number)) if number.is_integer() and abs(number) < _OUT_OF_REACH else str(number)
        case dt.date() | dt.time():
            return _iso(value)
    return ""


def id_of_object(value: object) -> bytes | None:
    """A Python object as the id of a person; None where it names nobody: a null, or an object of another kind.

    Formal guarantees
        Objects of one kind that differ have different ids: nothing is rounded, clamped or replaced. A whole number is
        its digits, of whatever kind it is; a float with a fraction is the shortest digits that name it in its kind.
    """
    if value is None or _is_missing(value):
        return None
    match value:
        case bytes():
            return bytes(value)
        case str():
            return value.encode(errors="surrogatepass")
        case bool() | np.bool_():
            return b"true" if value else b"false"
        case int() | np.integer():
            return _digits(int(value)).encode()
        case float() | np.floating():
            return _id_of_float(value).encode()
        case decimal.Decimal():
            return _id_of_decimal(value).encode()
        case uuid.UUID():
            return str(value).encode()
        case dt.date() | dt.time():
            return _iso(value).encode()
    return None


def _digits(number: int) -> str:
    return str(number) if abs(number) < _TOO_LONG else hex(number)


def _id_of_float(number: "float | np.floating[Any]") -> str:
    if number.is_integer():
        return _digits(int(number))
    if float(number) != number:  # a long double that lies between two floats
        return "/".join(map(_digits, number.as_integer_ratio()))
    return _id_of_decimal(decimal.Decimal(str(number)))  # of a float32 0.1 it is 0.1


def _id_of_decimal(number: decimal.Decimal) -> str:
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


def _is_missing(value: object) -> bool:
    """NaN, NaT and the missing value of pandas."""
    if isinstance(value, decimal.Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return type(value).__name__ in ("NAType", "NaTType")


def _iso(value: dt.date | dt.time) -> str:
    try:
        return value.isoformat()
    except Exception:  # noqa: BLE001 - a time zone may be any code; what it raises is no business of ours
        return ""
