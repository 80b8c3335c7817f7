"""What a user asks for, such as 40 to 60, or F or M, as runs of codes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.encoding import Codes, Listed, Measured
from sfumato.errors import RequestError
from sfumato.schema_errors import did_you_mean

Runs = list[tuple[int, int]]


def parse_given(text: str) -> dict[str, Any]:
    """`age=40..60,sex=F|M,ward=` as a condition: a range, a set, a missing value."""
    wanted: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise RequestError(
                f"{part!r} is not a condition; write name=value, name=low..high, name=a|b, or name= for missing"
            )
        low, dots, high = value.partition("..")
        wanted[name.strip()] = (
            (low or None, high or None) if dots else set(value.split("|")) if "|" in value else value or None
        )
    return wanted


def runs_of(given: Mapping[str, Any], columns: Mapping[str, Codes]) -> dict[str, Runs]:
    """The codes that each condition allows.

    A value stands for itself, a tuple (low, high) for all values between, both included (None: no bound), a list or set
    for any of its values, None for missing.
    """
    for name in given:
        if name not in columns:
            raise RequestError(f"there is no column {name!r}{did_you_mean(name, columns)}; it has {', '.join(columns)}")
    return {name: _allowed(name, wanted, columns[name]) for name, wanted in given.items()}


def _allowed(name: str, wanted: object, codes: Codes) -> Runs:
    if isinstance(wanted, tuple):
        return _between(name, wanted, codes)
    values = wanted if isinstance(wanted, list | set | frozenset) else [wanted]
    places = sorted({_code(name, value, codes) for value in values})
    return [(place, place + 1) for place in places]


def _between(name: str, wanted: tuple[Any, ...], codes: Codes) -> Runs:
    if not isinstance(codes, Measured) or len(wanted) != 2:
        raise RequestError(f"column {name!r} has no order; give its values one by one")
    ends = [
        bound if end is None else codes.number_of(end)
        for end, bound in zip(wanted, (codes.low, codes.high), strict=True)
    ]
    low, high = ends
    if not (low <= high and low <= codes.high and high >= codes.low):
        raise RequestError(
            f"{wanted[0]} to {wanted[1]} is no range of column {name!r}; write two values, the lower first"
        )
    first, last = codes.steps_of(np.array(ends))
    atoms = [codes.steps + place for place, atom in enumerate(codes.atoms) if low <= atom <= high]
    return [(int(first), int(last) + 1), *((code, code + 1) for code in atoms)]


def _code(name: str, value: object, codes: Codes) -> int:
    code = codes.code_of(value)
    if code is None:
        listed = f"; it has {', '.join(codes.texts[:20])}" if isinstance(codes, Listed) else ""
        raise RequestError(
            f"column {name!r} has no {'missing values' if value is None else f'value {value!r}'}{listed}"
        )
    return code
