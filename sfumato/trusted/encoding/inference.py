"""Which columns may come from a frame whose types a library inferred from the rows.

pandas and polars choose how they store a column by looking at all of its rows. Most of these choices leave every value
what it is, and then `values` reads it the same. Some change values before anybody else sees them, and one record can
decide whether that happens to all others:

- integers become floats where a value is missing: those of more than 53 bits are rounded;
- text that writes numbers becomes numbers where no other text stands in the column: "007" and "7" become one;
- text becomes dates, if it is asked for, where every row is a date: "01/02/2020" is a date then, and else it is none;
  one reader does so with times of day without being asked;
- words such as "NA" become nulls where the other rows are numbers that fit into 64 bits, and else stay text;
- where the schema says that numbers are written otherwise than in Python, "1.234" becomes the number 1.234 or stays
  text, which may mean 1234.

Formal guarantees
    A column that passes `check_inferred` reads the same whichever of these choices were made. Whether it passes depends
    on the schema alone: no row, and no type that was found, has a say.
"""

import datetime as dt

import pyarrow as pa

from sfumato.errors import DataError
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.encoding.values import number_of_text
from sfumato.trusted.fixed_point import EXACT
from sfumato.trusted.schema import BooleanColumn, CategoryColumn, Column, Schema, TextFormat, is_unknown, text_of

_EXACT_DIGITS = 15  # decimals of so many digits are read alike by every parser
_FRAMES = {"arrow": "an Arrow table", "pandas": "a pandas frame", "polars": "a polars frame"}
_NULL_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
    *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)  # what the parsers of pandas and Arrow take for a null


def check_inferred(schema: Schema, library: str) -> None:
    """Refuse a schema with a column that the inference of types could change; the frame itself is not looked at."""
    for name, column in schema.by_name.items():
        if harm := _harm(column, schema.text):
            _refuse(name, library, harm)
    for name in schema.ids:
        _refuse(name, library, "ids may lose digits where one of them is missing")


def _refuse(name: str, library: str, harm: str) -> None:
    raise DataError(
        f"column {name!r} may not come from {_FRAMES[library]} whose types were inferred from rows: {harm}, so that "
        "one record could change how all others are read. Release the file itself, or set the type of every column "
        'yourself and say types="declared"'
    )


def _harm(column: Column, text: TextFormat) -> str | None:
    """What the inference of types may do to a column, in words; None where it does no harm."""
    match column.type:
        case "date" | "datetime":
            return "text becomes dates only where all rows are dates"
        case "category" if is_unknown(column):
            return "text that writes numbers becomes numbers where no other text stands beside it"
        case "category" if isinstance(column, CategoryColumn):
            if harm := _harm_to_list([text_of(value) for value in column.values]):
                return harm
        case "boolean" if isinstance(column, BooleanColumn):
            if harm := _harm_to_list([text_of(word) for word in column.listed]):
                return harm
        case "integer" | "number" if text.changes_numbers:
            return (
                "text such as 1.234 becomes a number only where all rows do, and is else what the schema's `text:` says"
            )
    return _harm_to_nulls(column)


def _harm_to_nulls(column: Column) -> str | None:
    """Words for a null must count as one, whether they arrive as text or as null."""
    null, *words = codes_of(column).encode(pa.array([None, *_NULL_WORDS], pa.string()))
    for text, word in zip(_NULL_WORDS, words, strict=True):
        if word != null:
            return f"{text!r} becomes a null or stays text, which count differently here"
    return None


def _harm_to_list(texts: list[str]) -> str | None:
    seen: dict[int | float, str] = {}
    for text in texts:
        number = number_of_text(text.encode())
        if number is None:
            if _is_date(text):
                return f"{text!r} becomes a date or a time only where all rows are such"
            continue
        if number in seen:
            return f"{seen[number]!r} and {text!r} write the same number"
        if isinstance(number, int) and abs(number) >= EXACT:
            return f"{text} is rounded where a value is missing"
        if isinstance(number, float) and sum(map(str.isdigit, text)) > _EXACT_DIGITS:
            return f"{text} has more than {_EXACT_DIGITS} digits"
        seen[number] = text
    return None


def _is_date(text: str) -> bool:
    for kind in (dt.datetime, dt.time):
        try:
            kind.fromisoformat(text.strip())
        except ValueError:
            continue
        return True
    return False
