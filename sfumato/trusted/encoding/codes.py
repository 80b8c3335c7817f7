"""The integer codes of one column: every value has one, and a code stands for a value or a small interval of values.

Codes are a public map, a function of the schema alone:
    a list        one code for each value
    a number      2**20 steps of its scale, then a code for each atom; a short range of whole numbers, or of multiples
                  of the schema's step: a code for each
    missing       one code more, the last, where the schema allows it
    unknown       see `unknown`: bounds or lists that a release has yet to buy
"""

from functools import lru_cache
from typing import Protocol

import pyarrow as pa

from sfumato.trusted.arrays import CodeArray, FloatArray
from sfumato.trusted.encoding.code_arrays import Limits
from sfumato.trusted.encoding.lists import CategoricalCodec
from sfumato.trusted.encoding.scales import NumericCodec
from sfumato.trusted.encoding.unknown import UnboundedCodec, UnlistedCodec
from sfumato.trusted.identity import ByIdentity
from sfumato.trusted.schema import BooleanColumn, CategoryColumn, Column, TextFormat, is_unknown


class Codes(Protocol):
    """The codes of one column."""

    @property
    def size(self) -> int:
        """How many codes there are, the one for missing included."""

    @property
    def missing(self) -> int | None:
        """The code of a null, where the schema allows it."""

    def encode(self, array: pa.Array) -> CodeArray:
        """The code of each value. Never raises for what the values are."""

    def code_of(self, value: object) -> int | None:
        """The code of one public value, None for missing; None where it is not listed, out of bounds or unreadable."""

    def decode(self, codes: CodeArray, inside: FloatArray, limits: Limits = (None, None)) -> pa.Array:
        """A value for each code; where it stands for an interval, the one at `inside` (0 to 1) of it, within limits."""

    def width(self, codes: CodeArray) -> FloatArray:
        """How much of the column's range each code stands for; 1 for a single value."""


def codes_of(column: Column, text: TextFormat = TextFormat()) -> Codes:  # noqa: B008 - it is frozen
    """The codes that the schema gives a column, whose texts are written so.

    Columns that differ in their names alone share them.
    """
    return _codes_of_object(ByIdentity(column), text)


@lru_cache(maxsize=1_024)
def _codes_of_object(key: ByIdentity[Column], text: TextFormat) -> Codes:
    nameless = key.value.model_copy(update={"name": "any"})
    return _codes_like(nameless, repr(nameless), text)


@lru_cache(maxsize=1_024)
def _codes_like(column: Column, written: str, text: TextFormat) -> Codes:  # noqa: ARG001 - 1 and 1.0 are equal, and written apart
    if is_unknown(column):
        return UnlistedCodec(column.missing) if column.type == "category" else UnboundedCodec.of(column, text)
    if isinstance(column, CategoryColumn | BooleanColumn):
        return CategoricalCodec.of(column)
    return NumericCodec.of(column, text)


def listed_values(column: Column) -> tuple[str | int | float | bool, ...]:
    """The values of a listed column in one type; none for an ordered column."""
    codes = codes_of(column)
    return codes.plain if isinstance(codes, CategoricalCodec) else ()
