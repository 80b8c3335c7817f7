"""Bounds and lists that the custodian does not know, and has bought with a part of the budget.

In a file they are a word, `bounds: estimate` or `values: discover`. In memory they are `Unknown`: the public value that
stands in their place until a release has measured something better, and that stays where nothing stands out from noise.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

from pydantic import SerializerFunctionWrapHandler, ValidatorFunctionWrapHandler

ESTIMATE, DISCOVER = "estimate", "discover"
OTHER = "other"  # where values go that a discovered list does not name


class Unknown(tuple[Any, ...]):
    """A public fallback: bounds, or a list of values. Written as the word by which it was asked for."""

    __slots__ = ()

    @property
    def word(self) -> str:
        """How a file says it."""
        return DISCOVER if self == UNLISTED else ESTIMATE

    def __repr__(self) -> str:
        return f"Unknown{super().__repr__()}"

    def __eq__(self, other: object) -> bool:
        """What is written down is another thing, even where it says the same."""
        return isinstance(other, Unknown) and super().__eq__(other)

    __hash__ = tuple.__hash__


WIDE = Unknown((-1_000_000, 1_000_000))
DAYS = Unknown((dt.date(1900, 1, 1), dt.date(2100, 12, 31)))
SECONDS = Unknown((dt.datetime(1900, 1, 1), dt.datetime(2100, 12, 31, 23, 59, 59)))
UNLISTED = Unknown((OTHER,))


def or_word(word: str, fallback: Unknown) -> Callable[[Any, ValidatorFunctionWrapHandler], Any]:
    """A validator that takes the word as well."""

    def validate(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        asked = isinstance(value, Unknown) or (isinstance(value, str) and value == word)
        return fallback if asked else handler(value)

    return validate


def write_unknown(value: Any, handler: SerializerFunctionWrapHandler) -> Any:
    """The word for what is unknown, and anything else as it is."""
    return value.word if isinstance(value, Unknown) else handler(value)


def may_be_estimated(content: dict[str, Any]) -> None:
    """For editors: bounds, or the word."""
    described, known = content.pop("description", None), dict(content)
    content.clear()
    content.update({"anyOf": [known, {"const": ESTIMATE}]} | ({"description": described} if described else {}))
