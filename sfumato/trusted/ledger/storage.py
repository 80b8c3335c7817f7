"""Where entries are kept: what is asked of such a place, and which place an address names."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from sfumato.errors import LedgerError
from sfumato.trusted.ledger.entries import Entry
from sfumato.trusted.ledger.postgresql_table import PostgresqlTable
from sfumato.trusted.ledger.sqlite_file import SqliteFile
from sfumato.trusted.server_address import is_server

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # also what is left of "scheme://" in a path


class Storage(Protocol):
    """A place that keeps entries. It does not judge them: chain, sums and limits are the ledger's.

    Formal guarantees that a class must keep
        `append` reads all entries, calls `make_next` with them and writes what it returns, all or nothing, in one
        transaction that no other writer can come between. When it returns, that is on disk; when it raises, it may be
        there only if the error says that this is not known. Entries are never changed or removed by it.
    Edge cases
        What is not a ledger, or cannot be reached: `LedgerError`, and nothing is written.
    """

    @property
    def place(self) -> str:
        """Where it is, in words for people: without a user's name or a password."""

    def read(self) -> list[Entry]:
        """All entries in their order; none where nothing was made yet. Looking makes nothing."""

    def append(self, make_next: Callable[[Sequence[Entry]], Sequence[Entry]]) -> None:
        """Write the entries that `make_next` makes of all entries so far, or nothing if it raises."""


def open_storage(address: str | Path) -> Storage:
    """The place that a path or a `postgresql://` address names. Nothing is opened yet.

    Edge cases
        An address of another kind, or one that went through `pathlib`, would name a new folder here and hide what was
        spent: `LedgerError`.
    """
    if isinstance(address, str) and is_server(address):
        return PostgresqlTable(address)
    if _SCHEME.match(str(address)):
        raise LedgerError(
            "the ledger's address is neither a file nor postgresql://; name a file, or a server as text such as "
            "postgresql://host/database"
        )
    return SqliteFile(Path(address))
