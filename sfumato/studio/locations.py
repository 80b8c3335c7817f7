"""Where a table is: a path below the studio's folder, an address, or a table of a database. Choosing reads no row."""

import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfumato.errors import DataError, RequestError, SfumatoError
from sfumato.trusted.redaction import public_name
from sfumato.trusted.server_address import is_server
from sfumato.trusted.sources.databases import Database, is_database
from sfumato.trusted.sources.duckdb_files import ALONE
from sfumato.trusted.sources.family_opening import ENDINGS
from sfumato.trusted.sources.locations import is_address, refuse_credentials
from sfumato.trusted.sources.sql import driver

_TABLES = (*ENDINGS, ".npz", ".npy")
_SQLITE = (".sqlite", ".sqlite3", ".db")
_SQLITE_TABLES = (
    "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by name"
)
_DATABASES = (".duckdb", ".ddb", *_SQLITE)
_CLOUDS = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
"""Kinds of address that lead away from this machine; `file:` would lead anywhere on it."""
_SHEET = re.compile(r"(?P<path>.+\.xlsx)#(?P<sheet>[^#/\\]+)", re.IGNORECASE | re.DOTALL)
_MOST_SHOWN = 500


@dataclass(frozen=True)
class Location:
    """A table that was chosen.

    address   a path from the root on, or an address as the command line takes it
    table     of a database, the table
    family    whether several tables that belong together are meant
    """

    address: str
    table: str | None = None
    family: bool = False

    @property
    def words(self) -> str:
        """As pages show it."""
        return f"{self.address}, table {self.table}" if self.table else self.address

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        return asdict(self)


@dataclass(frozen=True)
class Entry:
    """Something that may be chosen: `kind` is folder, table or database; `path` is below the studio's folder."""

    name: str
    path: str
    kind: str


def list_entries(root: Path, inside: str) -> list[Entry]:
    """What a folder below the studio's holds: folders first, then tables and databases. Names alone are looked at."""
    folder = find_below(root, inside)
    try:
        found = [_entry(root, path) for path in sorted(folder.iterdir()) if not path.name.startswith((".", "_"))]
    except OSError as error:
        raise DataError(f"{folder} cannot be listed ({type(error).__name__}); check it and your rights") from None
    order = ("folder", "table", "database")
    return sorted((one for one in found if one is not None), key=lambda one: order.index(one.kind))[:_MOST_SHOWN]


def list_database(root: Path, inside: str) -> list[str]:
    """The tables and views of a SQLite or DuckDB file, by name. No row is read.

    Edge cases
        A file that is none, or no driver: `DataError`, which quotes nothing of what the file says.
    """
    path = find_below(root, inside)
    is_sqlite = path.suffix.lower() in _SQLITE
    question = _SQLITE_TABLES if is_sqlite else "select table_name from information_schema.tables order by table_name"
    try:
        connection: Any = (
            sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
            if is_sqlite
            else driver("duckdb").connect(str(path), read_only=True, config=ALONE)
        )
        with closing(connection):
            return [str(name) for (name,) in connection.execute(question).fetchall()][:_MOST_SHOWN]
    except SfumatoError:
        raise
    except Exception as error:  # noqa: BLE001 - every driver has its own, and quotes what it met
        kind = public_name(type(error))
    raise DataError(f"{path.name} cannot be opened as a database ({kind}); check the file, or type the table's name")


def _entry(root: Path, path: Path) -> Entry | None:
    if not _is_below(root, path) or not _is_text(path.name):
        return None  # a link that leads elsewhere, or a name that no page can hold
    where, name = str(path.relative_to(root)), path.name.lower()
    if path.is_dir():
        return None if "=" in path.name else Entry(path.name, where, "folder")  # of partitions the names are values
    if name.endswith(_DATABASES):
        return Entry(path.name, where, "database")
    return Entry(path.name, where, "table") if name.endswith(_TABLES) else None


def _is_below(root: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links that lead round in a circle
        return False


def _is_text(name: str) -> bool:
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def find_below(root: Path, text: str) -> Path:
    """A path below the studio's folder; `RequestError` for any other, whether it is there or not."""
    try:
        path = (root / text).resolve()
    except (OSError, ValueError, RuntimeError):
        raise RequestError("this is no path; name a file or a folder") from None
    if not path.is_relative_to(root):
        raise RequestError(
            f"{text} is not below {root}, and the studio looks nowhere else; start it in a folder that holds the table"
        )
    return path


def find_location(root: Path, text: str, table: str, *, family: bool = False) -> Location:
    """What somebody typed or clicked: a path below the folder, or an address or database as the command line takes.

    Edge cases
        A path elsewhere, an address with a password, a database without the name of a table: `RequestError`.
    """
    text, table = text.strip(), table.strip()
    if not text:
        raise RequestError("nothing is named; choose a table, or type where it is")
    if is_server(text):
        address = text
    elif is_address(text):
        refuse_credentials(text)
        if text.partition("://")[0].lower() not in _CLOUDS:
            raise RequestError(
                f"addresses of this kind are not read here; type a path, or one of {', '.join(_CLOUDS)} with ://"
            )
        address = text
    else:
        sheet = _SHEET.fullmatch(text)
        path = find_below(root, sheet["path"] if sheet else text)
        _refuse_links_out(root, path)
        address = f"{path}#{sheet['sheet']}" if sheet else str(path)
    if family:
        return Location(address, family=True)
    if not is_database(address):
        return Location(address)
    if not table:
        raise RequestError("a database holds several tables; type the name of one")
    Database(address, table=table)  # an address with a password is refused here
    return Location(address, table)


def _refuse_links_out(root: Path, folder: Path) -> None:
    """A folder is read with all that is below it: no link in it may lead out, and none to a folder is followed."""
    for place, folders, files in os.walk(folder):
        links = [path for name in (*folders, *files) if (path := Path(place, name)).is_symlink()]
        if any(path.is_dir() or not _is_below(root, path) for path in links):
            raise RequestError(
                f"{folder} holds a link to a folder, or to a file that is not below {root}; put the files themselves "
                "there, or start the studio where they are"
            )


def open_location(content: Mapping[str, Any]) -> Any:
    """A table in a form that the library takes."""
    where = Location(**content)
    return Database(where.address, table=where.table) if where.table else where.address
