"""Everything that a custodian is told of one private table before it is released."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from sfumato.evaluation.checking import NOTICE, ColumnCheck, check_table
from sfumato.evaluation.file_formats import check_encoding, check_separator
from sfumato.evaluation.unreleased import Unreleased, unreleased_columns
from sfumato.trusted.schema import Schema


class TableCheck(NamedTuple):
    """What of a table is not as the schema says: how its text is written, its columns, and columns left undecided."""

    format_hints: tuple[str, ...]
    columns: tuple[ColumnCheck, ...]
    undecided: Unreleased

    @property
    def strange(self) -> list[ColumnCheck]:
        """The columns that are not taken as they are, the worst first."""
        return sorted((one for one in self.columns if one.is_told), key=lambda one: -one.misread)

    def to_json(self) -> str:
        """The content of the private JSON file."""
        content = {"notice": NOTICE, "columns": [one.to_dict() for one in self.columns], **self.undecided._asdict()}
        return json.dumps(content, indent=1)


def look_at_format(private: Any, schema: Schema) -> tuple[str, ...]:
    """What to write into the schema where a CSV file is separated or encoded in another way."""
    hints: Iterable[str | None] = (check_encoding(private, schema.text), check_separator(private, schema.text))
    return tuple(hint for hint in hints if hint)


def look_at_table(private: Any, schema: Schema) -> TableCheck:
    """Read a private table, and say what of it the schema does not take as it is. Spends nothing; it is not private."""
    hints = look_at_format(private, schema)
    return TableCheck(hints, tuple(check_table(private, schema)), unreleased_columns(private, schema))
