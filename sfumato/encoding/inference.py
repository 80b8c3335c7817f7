"""Which columns may come from a frame whose types a library inferred from the rows.

pandas and polars choose how they store a column by looking at all of its rows. Most of these choices leave every value
what it is, and then `values` reads it the same. Some change values before anybody else sees them, and one record can
decide whether that happens to all others:

- integers become floats where a value is missing: those of more than 53 bits are rounded;
- text that writes numbers becomes numbers where no other text stands in the column: "007" and "7" become one;
- text becomes dates, if it is asked for, where every row is a date: "01/02/2020" is a date then, and else it is none.

Formal guarantees
    A column that passes `check_inferred` reads the same whichever of these choices were made. Whether it passes depends
    on the schema alone: no row, and no type that was found, has a say.
"""

import datetime as dt

from sfumato.encoding.values import number_of_text
from sfumato.errors import DataError
from sfumato.schema import CategoryColumn, Column, Schema, text_of

_EXACT = 2**53  # integers below are not rounded as floats, and no other integer is rounded to them
_EXACT_DIGITS = 15  # decimals of so many digits are read alike by every parser


def check_inferred(schema: Schema, library: str) -> None:
    """Refuse a schema with a column that the inference of types could change; the frame itself is not looked at."""
    for name, column in schema.by_name.items():
        if harm := _harm(column):
            _refuse(name, library, harm)
    if schema.unit:
        _refuse(schema.unit.column, library, "ids may lose digits where one of them is missing")


def _refuse(name: str, library: str, harm: str) -> None:
    raise DataError(
        f"column {name!r} may not come from a {library} frame whose types {library} inferred from the rows: {harm}, so "
        "that one record could change how all others are read. Release the file itself, or set the type of every "
        'column yourself and say types="declared"'
    )


def _harm(column: Column) -> str | None:
    """What the inference of types may do to a column, in words; None where it does no harm."""
    match column.type:
        case "date" | "datetime":
            return "text becomes dates only where all rows are dates"
        case "category" if isinstance(column, CategoryColumn):
            return _harm_to_list([text_of(value) for value in column.values])
    return None


def _harm_to_list(texts: list[str]) -> str | None:
    seen: dict[int | float, str] = {}
    for text in texts:
        number = number_of_text(text.encode())
        if number is None:
            if _is_date(text):
                return f"{text!r} becomes a date only where all rows are dates"
            continue
        if number in seen:
            return f"{seen[number]!r} and {text!r} write the same number"
        if isinstance(number, int) and abs(number) >= _EXACT:
            return f"{text} is rounded where a value is missing"
        if isinstance(number, float) and sum(map(str.isdigit, text)) > _EXACT_DIGITS:
            return f"{text} has more than {_EXACT_DIGITS} digits"
        seen[number] = text
    return None


def _is_date(text: str) -> bool:
    try:
        dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True
