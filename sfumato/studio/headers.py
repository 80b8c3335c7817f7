"""What choosing a table reads: the names and declared types of its columns, and whether they are names at all.

A text file or a sheet declares nothing: what stands in its first line is taken for names, and could be a record. A page
shows it only if it reads like names. Words alone cannot be told from names without reading rows, and stay the user's
care.
"""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from sfumato.drafting.draft import Column, read_header
from sfumato.drafting.family import files_of
from sfumato.errors import DataError
from sfumato.studio.locations import Location, open_location

_LONGEST = 200  # letters of a name
_LETTERS_OF_NUMBERS = re.compile(r"nan|[+-]?inf(inity)?|[+-]?\d[\d.,]*e[+-]?\d+", re.IGNORECASE)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[t ].*", re.IGNORECASE)
_OF_LINES = ("Cc", "Zl", "Zp")  # line ends of every kind, and control characters


def read_columns(location: Location) -> dict[str, list[Column]]:
    """The names and declared types of the columns of each table; one table has no name. Headers alone are read.

    Edge cases
        A table that cannot be opened, a first line that holds more than a line: `DataError`, which quotes none of it.
    """
    if location.family:
        tables = {name: read_header(path)[1] for name, path in files_of(Path(location.address)).items()}
    else:
        tables = {"": read_header(open_location(location.to_dict()))[1]}
    for columns in tables.values():
        _refuse_more_than_line(_undeclared(columns))
    return tables


def names_and_types(tables: dict[str, list[Column]]) -> tuple[tuple[str, str], ...]:
    """The columns of all tables, those of a family as `table.column`, with their declared types."""
    return tuple(
        (f"{table}.{column.name}" if table else column.name, column.kind)
        for table, columns in tables.items()
        for column in columns
    )


def looks_like_record(columns: Sequence[Column]) -> bool:
    """Whether a header that declares no types has a number, a date or an address of mail in it, or says nothing."""
    names = _undeclared(columns)
    said = [name for name in names if name.strip()]
    return any(map(_is_value, said)) or len(names) > len(said) == 0


def _undeclared(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns if column.kind == "nothing"]


def _is_value(name: str) -> bool:
    text = name.strip()
    no_word = not any(map(str.isalpha, text))
    return no_word or "@" in text or bool(_LETTERS_OF_NUMBERS.fullmatch(text) or _MOMENT.fullmatch(text))


def _refuse_more_than_line(names: Sequence[str]) -> None:
    """A quote that is never closed, or line ends of an unusual kind, and rows would stand in the names."""
    for name in names:
        if len(name) > _LONGEST or any(unicodedata.category(letter) in _OF_LINES for letter in name):
            raise DataError(
                "the first line of this table does not end where its names do: it has a quote that is not closed, line "
                f"ends or signs of an unusual kind, or a name of more than {_LONGEST} letters. Rows could stand in it, "
                "so nothing of it is shown; correct the first line of the file"
            )
