"""The little SQL that PostgreSQL, SQLite and DuckDB understand alike, and what is asked of a connection to one."""

import importlib
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from sfumato.errors import DataError, RequestError

# Blanks, semicolons and comments are nothing; quotes of all kinds, and words, may hold what looks like them.
_TOKEN = re.compile(
    r"""(?P<nothing>\s+ | ; | --[^\r\n]* | /\*.*?\*/)
    | [eE]'(?:[^'\\] | \\. | '')*' | '[^']*' | "[^"]*" | `[^`]*` | \[[^]'"]*\]
    | (?P<tag>\$(?:[^\W\d]\w*)?\$).*?(?P=tag) | \w[\w$]* | .""",
    re.DOTALL | re.VERBOSE,
)
_NAME = r'"(?:[^"]|"")+"|[^".]+'


class Connection(Protocol):
    """A connection to some rows of a database, opened by an address, the rows as SQL, and the columns that are ids.

    Formal guarantees that a class must keep
        After `begin` every read sees the same snapshot of the rows, and nothing can be written. Names and types of
        columns come from declarations, never from rows. Ids come without loss.
    """

    def begin(self) -> None:
        """Pin the snapshot."""

    @property
    def columns(self) -> Sequence[tuple[str, pa.DataType]]:
        """All columns with their declared types; null where none is declared."""

    def read(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """The named columns of all rows, batch by batch. One reading at a time."""

    def beside(self, rows: str, ids: Collection[str]) -> "Connection":
        """Other rows by the same connection and snapshot; closing one closes both, and one reads at a time."""

    def close(self) -> None:
        """Let go, whatever has happened; never raises."""


def driver(module: str) -> Any:
    """The library that speaks to a database."""
    try:
        return importlib.import_module(module)
    except ImportError:
        library = module.split(".")[0].replace("_", "-")
        raise DataError(f"{library} is not installed; run: pip install 'sfumato[sql]'") from None


def quote(name: str) -> str:
    """A name as SQL writes it, whatever letters it has."""
    return '"' + name.replace('"', '""') + '"'


def rows_of_table(table: str) -> str:
    """The rows of `table`, `schema.table` or `"a name with a . in it"`, as SQL. Names are taken as they are stored."""
    if not re.fullmatch(rf"(?:{_NAME})(?:\.(?:{_NAME}))*", table):
        raise RequestError(f'table: {table!r} is no name; write table or schema.table, with "" around odd names')
    return ".".join(name if name.startswith('"') else quote(name) for name in re.findall(_NAME, table))


def rows_of_query(query: str) -> str:
    """What a query finds, as SQL. A byte order mark may begin it, semicolons and comments may end it."""
    query = query.removeprefix("\ufeff")
    end = max((token.end() for token in _TOKEN.finditer(query) if token["nothing"] is None), default=0)
    return f"(\n{query[:end]}\n) as sfumato_rows"


def select(expressions: Sequence[str], rows: str) -> str:
    """The statement that reads expressions from rows."""
    return f"select {', '.join(expressions)} from {rows}"  # noqa: S608 - names are quoted, and the query is the user's


def header(rows: str) -> str:
    """The statement that finds all columns and no row."""
    return f"{select(['*'], rows)} limit 0"
