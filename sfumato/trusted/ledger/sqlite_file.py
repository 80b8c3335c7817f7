"""Entries in a SQLite file, made when it is first used."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from pathlib import Path

from sfumato.errors import LedgerError
from sfumato.trusted.ledger.entries import Entry

_WAIT = 60  # seconds for another writer
_OURS = 0x5F0A70  # SQLite's mark of whose file it is
_TABLE = f"""
pragma application_id = {_OURS};
create table entries (
  number integer primary key, time text not null, kind text not null, dataset text not null, adjacency text not null,
  units integer not null, detail text not null, previous text not null, hash text not null
);
create trigger never_changed before update on entries begin select raise(abort, 'entries are never changed'); end;
create trigger never_removed before delete on entries begin select raise(abort, 'entries are never removed'); end;
"""


class SqliteFile:
    """See `Storage`.

    Formal guarantees
        `begin immediate` takes the file's write lock before the entries are read, and the commit gives it back: no
        other process writes in between. With `synchronous = extra` the file and the removal of its journal are on disk
        when the commit returns; until the journal is gone, the next one who opens the file rolls back.
    Edge cases
        Another writer for more than a minute, a disk that is full, a file that is no database: `LedgerError`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()  # the same file, and the same words for it, wherever the program goes

    @property
    def place(self) -> str:
        """See `Storage`."""
        return str(self._path)

    def read(self) -> list[Entry]:
        """See `Storage`."""
        if not self._path.exists():
            return []
        with self._open() as connection:
            return _entries(connection)

    def append(self, make_next: Callable[[Sequence[Entry]], Sequence[Entry]]) -> None:
        """See `Storage`."""
        with self._open() as connection:
            connection.execute("begin immediate")
            for entry in make_next(_entries(connection)):
                connection.execute("insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(entry))
            connection.execute("commit")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None)) as connection:
                connection.execute("pragma synchronous = extra")  # even a journal's removal is on disk after a commit
                self._make_or_recognise(connection)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"the ledger {self._path} cannot be used ({error}); check the file and its folder"
            ) from error

    def _make_or_recognise(self, connection: sqlite3.Connection) -> None:
        """Make the table in a new file; refuse a database that is somebody else's."""
        if connection.execute("pragma application_id").fetchone() == (_OURS,):
            return
        connection.execute("begin immediate")
        (mark,) = connection.execute("pragma application_id").fetchone()
        (tables,) = connection.execute("select count(*) from sqlite_master").fetchone()
        if mark != _OURS and tables:
            raise LedgerError(f"{self._path} is a database, but not a ledger; name another file")
        if mark != _OURS:
            for statement in _statements(_TABLE):
                connection.execute(statement)
        connection.execute("commit")
        if mark != _OURS:
            _sync_folder(self._path.parent)


def _entries(connection: sqlite3.Connection) -> list[Entry]:
    return [Entry(*row) for row in connection.execute("select * from entries order by number")]


def _statements(script: str) -> list[str]:
    """The statements of a script, one by one: all of them belong to the transaction that is open."""
    parts, statement = [], ""
    for line in script.strip().splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            parts.append(statement)
            statement = ""
    return parts


def _sync_folder(folder: Path) -> None:
    """A new file is safe only when its folder is on disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
