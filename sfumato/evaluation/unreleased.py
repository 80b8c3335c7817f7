"""Which columns of a table a schema neither describes nor leaves out. Headers alone are read."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.trusted.encoding.frames import kind_of, names_of
from sfumato.trusted.schema import Schema, TextFormat
from sfumato.trusted.schema.constraints import Key
from sfumato.trusted.sources import databases, excel_files, files
from sfumato.trusted.sources.array_files import is_array_file
from sfumato.trusted.sources.databases import Database
from sfumato.trusted.sources.excel_files import is_workbook


class Unreleased(NamedTuple):
    """Columns that nobody decided on.

    forgotten   columns of the table that the schema neither describes nor leaves out: they are not released
    absent      columns that the schema leaves out and that the table does not have
    """

    forgotten: tuple[str, ...]
    absent: tuple[str, ...]

    def hints(self) -> Iterable[str]:
        """What to tell the custodian."""
        if self.forgotten:
            yield (
                f"not released: {', '.join(self.forgotten)}. Describe them, or name them in leave_out if that is meant"
            )
        if self.absent:
            yield f"leave_out names {', '.join(self.absent)}, which the table does not have; check the spelling"


def unreleased_columns(data: Any, schema: Schema) -> Unreleased:
    """The columns of a table, in any form that `check_table` takes, that the schema says nothing of.

    Arrays of numpy files are matched with whole runs of columns and are not looked at. Raises `DataError` where the
    header cannot be read.
    """
    names = _names(data, schema.text)
    if names is None:
        return Unreleased((), ())
    keys = {one.key for one in schema.constraints if isinstance(one, Key)}
    said = {*schema.read, *schema.leave_out, *keys}
    forgotten = tuple(name for name in names if name not in said)
    return Unreleased(forgotten, tuple(name for name in schema.leave_out if name not in set(names)))


def _names(data: Any, text: TextFormat) -> list[str] | None:
    if isinstance(data, Database):
        return list(databases.header_types(data))
    if isinstance(data, str | Path):
        if is_workbook(data):
            return list(excel_files.header_types(data))
        return None if is_array_file(data) else list(files.header_types(data, text))
    if files.is_dataset(data):
        return list(data.schema.names)
    return names_of(data) if kind_of(data) is not None else None
