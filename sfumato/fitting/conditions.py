"""What a user asks for, such as 40 to 60, or F or M, as codes."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import RequestError
from sfumato.trusted.encoding import CategoricalCodec, Codes, NumericCodec
from sfumato.trusted.schema.display import list_some
from sfumato.trusted.schema.messages import did_you_mean

_MOST_LISTED = 20
Runs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Condition:
    """The codes that a column may have, as runs of (start, stop), and for a range of numbers its very ends."""

    column: str
    runs: Runs
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if not self.runs or not all(0 <= start < stop for start, stop in self.runs):
            raise ValueError("the runs of a condition must go up")
        if any(stop > start for (_, stop), (start, _) in itertools.pairwise(self.runs)):
            raise ValueError("the runs of a condition must not overlap")


def parse_given(*texts: str) -> dict[str, Any]:
    """`age=40..60,sex=F|M,ward=` as a condition: a range, a set, a missing value. Of several texts all must hold."""
    wanted: dict[str, Any] = {}
    for part in ",".join(texts).split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not name:
            raise RequestError(
                f"{part!r} is not a condition; write name=value, name=low..high, name=a|b, or name= for missing"
            )
        if name in wanted:
            raise RequestError(
                f"column {name!r} stands in two conditions; write one for each column: {name}=low..high, or "
                f"{name}=a|b for one of several values"
            )
        low, dots, high = value.partition("..")
        several = set(value.split("|")) if "|" in value else value or None
        wanted[name] = (low or None, high or None) if dots else several
    return wanted


def check_column(name: object, columns: Mapping[str, Any]) -> None:
    """Raise `RequestError`, with the nearest name, where there is no such column."""
    if isinstance(name, list | tuple):
        raise RequestError("one column is asked at a time; for two, ask for one under a condition on the other")
    if not isinstance(name, str) or name not in columns:
        hint = did_you_mean(str(name), columns)
        raise RequestError(f"there is no column {name!r}{hint}; there are {list_some(columns, _MOST_LISTED)}")


def conditions_of(given: Mapping[str, Any], columns: Mapping[str, Codes]) -> tuple[Condition, ...]:
    """The codes that each condition allows.

    A value stands for itself, a tuple (low, high) for all values between, both included (None: no bound), a list or set
    for any of its values, None for missing.
    """
    if not isinstance(given, Mapping):
        raise RequestError(
            f"a condition is a dictionary such as {{'age': (40, 60), 'sex': 'F'}}; a {type(given).__name__} was given"
        )
    for name in given:
        check_column(name, columns)
    return tuple(_condition(name, wanted, columns[name]) for name, wanted in given.items())


def _condition(name: str, wanted: object, codes: Codes) -> Condition:
    if isinstance(wanted, tuple):
        return _between(name, wanted, codes)
    values = wanted if isinstance(wanted, list | set | frozenset) else [wanted]
    if not values:
        raise RequestError(f"no value of column {name!r} is given; name at least one")
    places = sorted({_code(name, value, codes) for value in values})
    runs = tuple((place, place + 1) for place in places)
    if isinstance(codes, NumericCodec) and len(values) == 1 and wanted is not None:
        number = codes.number_of(wanted)
        return Condition(name, runs, number, number)
    return Condition(name, runs)


def _between(name: str, wanted: tuple[Any, ...], codes: Codes) -> Condition:
    if not isinstance(codes, NumericCodec) or len(wanted) != 2:
        raise RequestError(f"column {name!r} has no order; give its values one by one")
    bounds = (codes.low, codes.high)
    low, high = (bound if end is None else codes.number_of(end) for end, bound in zip(wanted, bounds, strict=True))
    if codes.whole and math.isfinite(low) and math.isfinite(high):
        low, high = math.ceil(low), math.floor(high)
    if low > codes.high or high < codes.low:
        raise RequestError(f"{wanted[0]} to {wanted[1]} lies outside of the bounds of column {name!r}")
    if not low <= high:
        raise RequestError(
            f"{wanted[0]} to {wanted[1]} is no range of column {name!r}; write two values, the lower first"
        )
    first, last = codes.steps_of(np.array([low, high], dtype=np.float64))
    atoms = [codes.steps + place for place, atom in enumerate(codes.atoms) if low <= atom <= high]
    return Condition(
        name, ((int(first), int(last) + 1), *((code, code + 1) for code in atoms)), float(low), float(high)
    )


def _code(name: str, value: object, codes: Codes) -> int:
    code = codes.code_of(value)
    if code is None:
        listed = f"; it has {', '.join(codes.texts[:_MOST_LISTED])}" if isinstance(codes, CategoricalCodec) else ""
        raise RequestError(
            f"column {name!r} has no {'missing values' if value is None else f'value {value!r}'}{listed}"
        )
    return code
