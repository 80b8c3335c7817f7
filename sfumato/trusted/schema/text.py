"""How text is written in the files: separator, encoding, decimal sign, units, dates. Public, as all of a schema is."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

SHORT_YEARS = (1969, 2068)  # what %y can mean: 69 to 99 are of the last century, 00 to 68 of this one
_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
_NO_SEPARATOR = '"\r\n\0\\'
_NO_UNIT = re.compile(r"[\d+.,'’-]")


def _one_sign(text: str) -> str:
    if len(text) != 1 or not text.isascii() or text.isalnum() or text in _NO_SEPARATOR:
        raise ValueError(f'{text!r} cannot separate fields; write one ASCII sign, such as ";", "|" or "\\t"')
    return text


def _unit(text: str) -> str:
    if not text or text != text.strip() or _NO_UNIT.search(text):
        raise ValueError(
            f"{text!r} is no unit; write a word such as EUR, %, kg, without digits, signs and spaces around"
        )
    return text


def _format(text: str) -> str:
    found = _DIRECTIVE.findall(text)
    if unknown := [letter for letter in found if letter not in "dmYyHMS" or not letter]:
        raise ValueError(f"%{unknown[0]} in {text!r} is not known; use %d %m %Y %y %H %M %S and the signs between them")
    if len(set(found)) < len(found) or ("Y" in found) == ("y" in found) or not {"d", "m"} <= set(found):
        raise ValueError(f"{text!r} must have %d, %m and one of %Y and %y, each once; such as %d.%m.%Y")
    if ("S" in found and "M" not in found) or ("M" in found and "H" not in found):
        raise ValueError(f"{text!r} has minutes without hours, or seconds without minutes; write %H:%M:%S or %H:%M")
    if re.search(r"[\d\r\n\0]", text):
        raise ValueError(f"{text!r} has a digit or a line end of its own; write signs between the parts alone")
    return text


Format = Annotated[str, AfterValidator(_format)]


class TextFormat(BaseModel):
    """How text is written: in CSV files, and wherever numbers and dates are stored as text.

    Edge cases
        An unknown key or encoding, a separator of more than one sign, thousands as the decimal sign, a date format
        without day, month or year: `SchemaError`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    separator: Annotated[str, AfterValidator(_one_sign)] | None = Field(
        default=None, description="between the fields of a CSV file; by default a comma, in .tsv files a tabulator"
    )
    encoding: Literal["utf-8", "utf-16", "latin-1", "iso-8859-15", "cp1252"] = Field(
        default="utf-8", description="of CSV files"
    )
    decimal: Literal[".", ","] = Field(default=".", description="the sign before the fraction of a number")
    thousands: Literal[".", ",", " ", "'"] | None = Field(
        default=None, description="the sign between groups of three digits; a space stands for every kind of space"
    )
    units: tuple[Annotated[str, AfterValidator(_unit)], ...] = Field(
        default=(), description="words that may stand before or after a number, such as EUR, %, kg; they are dropped"
    )
    dates: Format | None = Field(
        default=None, description="how days are written, such as %d.%m.%Y; by default as 2022-12-31 (ISO 8601)"
    )
    datetimes: Format | None = Field(
        default=None, description="how moments are written, such as %d.%m.%Y %H:%M; by default ISO 8601"
    )

    @model_validator(mode="after")
    def _signs_differ(self) -> Self:
        if self.thousands == self.decimal:
            raise ValueError(f"thousands: {self.thousands!r} is the decimal sign too; leave one of them out")
        return self

    @property
    def changes_numbers(self) -> bool:
        """Whether a number may be written otherwise than in Python."""
        return self.decimal != "." or self.thousands is not None or self.units != ()

    def format_of(self, column_type: str) -> str | None:
        """How values of a column type are written, where the schema says so."""
        return {"date": self.dates, "datetime": self.datetimes}.get(column_type)
