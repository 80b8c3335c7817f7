"""What a receiver asks for, checked before anything is computed: numbers of rows, seeds, names of columns."""

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from sfumato.errors import RequestError
from sfumato.trusted.schema.display import shorten

_NEAR = 0.8  # of two names: twice the letters that they share in order, over the letters of both


def check_whole(value: Any, what: str) -> int:
    """An integer from 0 on: 10, a numpy integer, or a float that is one, such as 1e4.

    Raises `RequestError` for anything else; True and "10" are more often mistakes than numbers.
    """
    number = isinstance(value, float | np.floating) and math.isfinite(value)
    whole = isinstance(value, Integral) or (number and value == math.floor(value))
    if not whole or isinstance(value, bool):
        raise RequestError(f"{what} is {value!r}, a {type(value).__name__}; it must be an integer from 0 on")
    if value < 0:
        raise RequestError(f"{what} is {value!r}; it must not be below 0")
    return int(value)


def refuse_misspelt(there: Sequence[str], known: Iterable[str], needed: Iterable[str]) -> None:
    """Raise `RequestError` where a column that is not known has nearly the name of one that is needed and not there.

    A column that is left out is summed out, so that a slip of the pen would change the answer without a word. Names
    that differ in their digits are other columns: x_1 is no misspelt x_2. Of the table nothing is quoted but a name
    that is all but public.
    """
    absent: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for name in sorted(set(needed) - set(there)):
        letters, digits = _letters(name)
        absent.setdefault(digits, []).append((letters, name))
    strangers = set(there) - set(known) if absent else set()
    for name in sorted(strangers):
        letters, digits = _letters(name)
        for others, other in absent.get(digits, ()):
            if _near(letters, others):
                raise RequestError(
                    f"the table has no column {shorten(other)!r}, but one named {shorten(name)!r}; rename it, or drop "
                    "it if it is something else"
                )


def _near(one: str, other: str) -> bool:
    """Whether the letters of one name may be a slip of the other's: one too many or too few, or two swapped."""
    alike = difflib.SequenceMatcher(None, one, other, autojunk=False)
    if not one or not other or alike.real_quick_ratio() < _NEAR or alike.quick_ratio() < _NEAR:
        return False
    swapped = sorted(one) == sorted(other) and one[0] == other[0]
    return swapped or alike.ratio() >= _NEAR


def _letters(name: str) -> tuple[str, tuple[str, ...]]:
    """The letters of a name in lower case, and its numbers: capitals, blanks and dashes make no difference."""
    text = name.casefold()
    return re.sub(r"[\W\d_]", "", text), tuple(re.findall(r"\d+", text))
