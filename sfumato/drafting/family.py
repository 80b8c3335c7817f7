"""A first draft of a family's schema, from the headers of a folder; which ids tie tables is told by their names."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sfumato.drafting.codebook import NOTHING_SAID
from sfumato.drafting.draft import Column, columns_in, draft_line, quoted
from sfumato.drafting.identifying import is_free_text, is_id
from sfumato.errors import DataError
from sfumato.evaluation.file_formats import format_of_header
from sfumato.trusted.sources.family_opening import ENDINGS

_HEAD = """\
# A draft from the headers in {name}: names and declared types, nothing of the rows.
# Replace every FILL from the code book or from what the column means. Reading it off the rows would leak.
# Types are category (which needs values), boolean, and integer, number, date and datetime (which need bounds).
# Keys and parents were told from the names of columns: check them. A table below another says so by parent and, where
# its column has another name than the parent's key, by foreign_key. `sfumato schema check` tells what is left to do.
sfumato: 2
name: {stem}
tables:
"""


_PLAIN = ("id", "uuid", "guid", "key", "no", "nr", "number")  # keys that do not say of what
_ENDS = re.compile(r"[_ .-]+(id|uuid|guid|no|nr|number|key)$|(?<=[a-z])(ID|Id|No|Nr|Key)$")


class _Table(NamedTuple):
    """A file: its columns, and those that are called like ids."""

    columns: list[Column]

    @property
    def ids(self) -> list[str]:
        """The columns that are called like ids, or like numbers of accounts or invoices."""
        return [column.name for column in self.columns if _is_key(column)]


def _is_key(column: Column) -> bool:
    may_be = column.kind in ("integer", "text", "nothing")
    return is_id(column.name, column.kind) or (may_be and _stem(column.name) != column.name.lower())


def _stem(name: str) -> str:
    """What an id is of: account for account_no."""
    return _ENDS.sub("", name).lower()


def draft_family(folder: str | Path) -> str:
    """The draft: a table for each file; `DataError` where there are not two at least."""
    tables = {name: _Table(columns_in(path, format_of_header(path))) for name, path in files_of(Path(folder)).items()}
    keys = {name: _own_key(name, table) for name, table in tables.items()}
    parents = {name: _parent(name, tables, keys) for name in tables}
    persons = [name for name, parent in parents.items() if parent is None]
    head = _HEAD.format(name=Path(folder).name, stem=quoted(Path(folder).name))
    return head + "".join(
        line
        for name in sorted(tables, key=lambda name: len(_path(name, parents)))
        for line in _lines(name, tables, keys, parents, of_several=len(persons) > 1)
    )


def files_of(folder: Path) -> dict[str, Path]:
    """The files of the tables by their names; `DataError` where there are not two at least."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; a family is drafted from a folder that holds a file for each table")
    found = {
        path.name.removesuffix(ending): path
        for path in sorted(folder.iterdir())
        for ending in ENDINGS
        if path.is_file() and path.name.endswith(ending)
    }
    if len(found) < 2:
        raise DataError(f"{folder} does not hold files of two tables, such as patients.parquet and stays.parquet")
    return found


def _own_key(name: str, table: _Table) -> str | None:
    """The id that is called like the table, stay_id in stays, or just id."""
    return next((column for column in table.ids if _is_of(column, name) or column.lower() in _PLAIN), None)


def _is_of(column: str, table: str) -> bool:
    return _stem(column) in (table.lower(), table.lower().removesuffix("s"))


def _link(name: str, other: str, tables: Mapping[str, _Table], keys: Mapping[str, str | None]) -> str | None:
    """The column by which a table names rows of another: patient_id of patients, whose own key may be just id."""
    key, ids = keys[other], tables[name].ids
    if key is None:
        return None
    if key.lower() not in _PLAIN:
        return key if key in ids else None
    return next((column for column in ids if _is_of(column, other)), None)


def _parent(name: str, tables: Mapping[str, _Table], keys: Mapping[str, str | None]) -> str | None:
    """The table whose key stands in this one, too; of several, the one that names another of them itself."""
    others = [other for other in tables if other != name and _link(name, other, tables, keys) is not None]
    others = [other for other in others if _link(other, name, tables, keys) is None]
    return max(others, key=lambda other: len(tables[other].ids), default=None)


def _path(name: str, parents: Mapping[str, str | None]) -> list[str]:
    path = [name]
    while (parent := parents[path[-1]]) is not None and parent not in path:
        path.append(parent)
    return path


def _lines(
    name: str,
    tables: Mapping[str, _Table],
    keys: Mapping[str, str | None],
    parents: Mapping[str, str | None],
    *,
    of_several: bool,
) -> Iterator[str]:
    table, parent, key, named = tables[name], parents[name], keys[name], set(parents.values())
    root = _path(name, parents)[-1]
    link = None if parent is None else _link(name, parent, tables, keys)
    person = None if parent in (None, root) else _link(name, root, tables, keys)
    yield f"  {quoted(name)}:\n"
    if parent is None:
        yield f"    key: {quoted(key or 'FILL')}  # names the person\n"
        if of_several:
            yield "    # parent: FILL  # instead, in all tables but the one of persons; and foreign_key: FILL\n"
    else:
        yield f"    parent: {quoted(parent)}  # by {quoted(link)}\n"
        if link != keys[parent]:
            yield f"    foreign_key: {quoted(link)}\n"
        if name in named:
            yield f"    key: {quoted(key)}\n"
            yield "    # unique_key: true  # if no two persons have the same\n"
        if person is not None:
            yield f"    person: {quoted(person)}\n"
        yield "    rows: [0, FILL]  # fewest and most of one parent row\n"
        yield "    # order: FILL  # the column by which they follow each other, if there is one\n"
    yield "    columns:\n"
    linking = {key if parent is None or name in named else None, link, person}
    left_out = [
        column
        for column in table.columns
        if column.name not in linking and (is_id(column.name, column.kind) or is_free_text(column.name, column.kind))
    ]
    for column in table.columns:
        if column not in left_out and column.name not in linking:
            yield f"    {draft_line(column, NOTHING_SAID)}"
    if left_out:
        names = ", ".join(quoted(column.name) for column in left_out)
        yield f"    leave_out: [{names}]  # called like ids or free text\n"
    yield "    # target: FILL\n"
