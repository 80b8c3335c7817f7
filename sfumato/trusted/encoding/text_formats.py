"""Numbers and dates as the schema's `text:` says that they are written: 1.234,50 EUR, 24.09.2021.

Formal guarantees
    What a text is read as depends on the text and on the schema alone. Nothing here raises for any bytes.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from sfumato.trusted.encoding.values import ReadText, float_of_text, nan_of_text, seconds_of_fields
from sfumato.trusted.schema import TextFormat
from sfumato.trusted.schema.text import SHORT_YEARS

_SPACES = (b" ", "\u00a0".encode(), "\u202f".encode(), "\u2009".encode())  # plain, of no break, narrow, thin
_BLANK = b"".join(_SPACES).decode() + "\t\n\r\v\f"
_MEANT = {" ": _SPACES, "'": (b"'", "\u2019".encode())}
_WIDTHS = {"d": b"1,2", "m": b"1,2", "Y": b"4", "y": b"2", "H": b"1,2", "M": b"2", "S": b"2"}
_NAMES = {"d": "day", "m": "month", "Y": "year", "y": "year", "H": "hour", "M": "minute", "S": "second"}
_DIRECTIVE = re.compile(r"%([dmYyHMS])")


def reader_of(column_type: str, text: TextFormat) -> ReadText | None:
    """How a column of this type reads text; None where the schema says nothing about it."""
    if column_type in ("integer", "number"):
        return NumberFormat(text.decimal.encode(), text.thousands, text.units) if text.changes_numbers else None
    written = text.format_of(column_type)
    return DateFormat(written) if written else None


@dataclass(frozen=True)
class NumberFormat:
    """Numbers with a decimal sign, groups of three digits and a unit before or after them.

    Edge cases
        A sign for thousands that does not stand between groups of three digits, a point where the decimal sign is a
        comma, two units: no number. `nan`, `inf`, `true` and hexadecimal digits are read as without a format.
    """

    decimal: bytes
    thousands: str | None
    units: tuple[str, ...]

    def __call__(self, text: bytes) -> float | None:
        """The number that a text writes as the nearest float64; NaN where it says so; None where it is no number."""
        word = self._without_thousands(self._without_unit(_stripped(text)))
        if word is None or (self.decimal != b"." and b"." in word):
            return None
        return float_of_text(word.replace(self.decimal, b"."))

    def _without_unit(self, word: bytes) -> bytes:
        """Of units that end alike the longest is meant. A sign may stand before a unit: -€ 5."""
        for unit in self._longest_first:
            if word.endswith(unit):
                return _stripped(word.removesuffix(unit))
            if word.startswith(unit):
                return _stripped(word.removeprefix(unit))
            if word[:1] in (b"+", b"-") and word.startswith(unit, 1):
                return word[:1] + _stripped(word[1 + len(unit) :])
        return word

    def _without_thousands(self, word: bytes) -> bytes | None:
        """None where a sign for thousands stands elsewhere than between groups of three digits."""
        for sign, grouped in self._signs.items():
            if sign in word:
                return word.replace(sign, b"") if grouped.fullmatch(word) else None
        return word

    @cached_property
    def _longest_first(self) -> tuple[bytes, ...]:
        return tuple(sorted((unit.encode() for unit in self.units), key=lambda unit: (-len(unit), unit)))

    @cached_property
    def _signs(self) -> dict[bytes, re.Pattern[bytes]]:
        """The signs that may stand for thousands, each with the numbers that have it in its places."""
        signs = _MEANT.get(self.thousands, (self.thousands.encode(),)) if self.thousands else ()
        rest = b"(?:%b[0-9]*)?(?:[eE][+-]?[0-9]+)?" % re.escape(self.decimal)
        return {sign: re.compile(b"[+-]?[0-9]{1,3}(?:%b[0-9]{3})+%b" % (re.escape(sign), rest)) for sign in signs}


@dataclass(frozen=True)
class DateFormat:
    """Days and moments in one format, in universal time.

    Days, months and hours may lack their leading zero, unless two parts stand side by side as in %d%m%Y. %y means the
    years 1969 to 2068.

    Edge cases
        Another format, a day that is in no calendar, the second 60: no date. `nan` is a null.
    """

    written: str

    def __call__(self, text: bytes) -> float | None:
        """The seconds since 1970-01-01; NaN where the text says so; None where it is no date."""
        found = self._pattern.fullmatch(_stripped(text))
        if found is None:
            return nan_of_text(text)
        fields = {name: int(digits) for name, digits in found.groupdict().items()}
        if "%y" in self.written:
            fields["year"] += 1900 if fields["year"] >= SHORT_YEARS[0] % 100 else 2000
        return seconds_of_fields(**fields)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        side_by_side = re.search(r"%\w%", self.written) is not None
        parts = _DIRECTIVE.split(self.written.strip())  # sign, letter, sign, letter, ..., sign
        pattern = re.escape(parts[0].encode())
        for letter, sign in zip(parts[1::2], parts[2::2], strict=True):
            width = _WIDTHS[letter][-1:] if side_by_side else _WIDTHS[letter]
            pattern += b"(?P<%b>[0-9]{%b})" % (_NAMES[letter].encode(), width) + re.escape(sign.encode())
        return re.compile(pattern)


def _stripped(text: bytes) -> bytes:
    """Without spaces of any kind around it."""
    if text.isascii():
        return text.strip()
    return text.decode("utf-8", "surrogateescape").strip(_BLANK).encode("utf-8", "surrogateescape")
