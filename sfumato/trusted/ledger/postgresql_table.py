"""Entries in a table of a PostgreSQL database, for several machines; made when it is first written to."""

import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from sfumato.errors import LedgerError
from sfumato.trusted.ledger.entries import Entry
from sfumato.trusted.redaction import public_name
from sfumato.trusted.server_address import refuse_secrets

R = TypeVar("R")

_HOST = r"(?:[\w.%-]+|\[[0-9A-Fa-f:.%]+\])(?::\d*)?"
_ADDRESS = re.compile(
    rf"postgres(?:ql)?://(?:[^@/:?#]*@)?(?P<host>{_HOST}(?:,{_HOST})*)?/(?P<database>[^/?@:#]+)(?:\?(?P<options>.*))?"
)
_WHERE = ("host", "hostaddr", "port")
_OTHER_DATABASE = {"dbname", "service", "servicefile"}
_SELECT = """select number, time, kind, dataset, adjacency, units, detail, previous, hash
  from only sfumato.entries order by number"""
_INSERT = """insert into sfumato.entries (number, time, kind, dataset, adjacency, units, detail, previous, hash)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning hash"""
# The table has one name for all users: with a name that each user's search path resolves, there could be two ledgers.
_MARK = "sfumato ledger: entries are never changed or removed"
_MAKE = (
    "create schema if not exists sfumato",
    """create table sfumato.entries (
      number bigint primary key, time text not null, kind text not null, dataset text not null,
      adjacency text not null, units bigint not null, detail text not null, previous text not null,
      hash text not null)""",
    """create function sfumato.refuse_change() returns trigger language plpgsql as $$
      begin raise exception 'entries are never changed or removed'; end $$""",
    """create trigger never_changed before update or delete or truncate on sfumato.entries
      for each statement execute function sfumato.refuse_change()""",
    "alter table sfumato.entries enable always trigger never_changed",
    f"comment on table sfumato.entries is '{_MARK}'",
)
_FIND = """select c.relkind::text, c.relpersistence::text, coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '')
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = 'sfumato' and c.relname = 'entries'"""
_LOCK = "select 1 from pg_catalog.pg_advisory_xact_lock(6228592, 1)"  # 0x5F0A70, as in a SQLite file
_SETTINGS = {
    "client_encoding": "'UTF8'",
    "row_security": "'off'",  # a policy that hides rows is an error, not a shorter ledger
    "lock_timeout": "'60s'",
    "idle_in_transaction_session_timeout": "'60s'",  # a machine that vanished does not hold the lock for ever
    # stronger than `on` stays, anything else becomes `on`: when the commit returns, the entry is on disk
    "synchronous_commit": "case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' "
    "else 'on' end",
}
_CURES = {
    "42501": "you may not use it; ask its owner to grant usage on schema sfumato, and select and insert on "
    "sfumato.entries; the first entry needs somebody who may create that schema",
    "55P03": "another release has held it for a minute; try again",
    "25006": "the server is read-only, a replica perhaps; name the primary",
}
_UNKNOWN = "; whether the entry was written is not known: if `sfumato ledger export` has it, it counts"
_CURE = "check the address, that the server is up and that you are let in"


class PostgresqlTable:
    """See `Storage`.

    Formal guarantees
        Writers come one after another: each takes an advisory lock, which ends with its transaction, before it reads
        the entries, and reads them at level read committed, so that it sees all that were committed before. Even
        without that lock (a writer that is not this program) two entries cannot follow the same ones: both would have
        the same `number`, which is the primary key, so that the second fails and writes nothing. Therefore what
        `make_next` compared with the limit is all that was ever written.
        The entry is on disk when the commit returns: synchronous_commit is on, and a server without fsync is refused.
        A writer that is killed before its commit reaches the server leaves nothing, after it the whole entry.
        Update, delete and truncate are refused by a trigger that no session setting can switch off.
    Edge cases
        A connection that breaks while it commits: `LedgerError` that says that the entry may have been written.
        A table of this name that is another application's, a view, unlogged or partitioned: `LedgerError`.
        Messages quote nothing of what the driver says, and of the address neither the user nor options
        other than where the server is.
    """

    def __init__(self, address: str) -> None:
        refuse_secrets(address)
        parts = _ADDRESS.fullmatch(address)
        options = dict(parse_qsl(parts["options"] or "")) if parts else {}
        if parts is None or _OTHER_DATABASE & options.keys():
            raise LedgerError(
                "the ledger's address cannot be read; write postgresql://user@host:port/database, with the name of the "
                "database, which would otherwise be another one for each user"
            )
        self._address = address
        where = urlencode({name: options[name] for name in _WHERE if name in options}, safe="/,:")
        self.place = f"postgresql://{parts['host'] or ''}/{parts['database']}{'?' if where else ''}{where}"

    def read(self) -> list[Entry]:
        """See `Storage`."""
        with self._transaction("read only") as cursor:
            return self._entries(cursor) if self._is_made(cursor) else []

    def append(self, make_next: Callable[[Sequence[Entry]], Sequence[Entry]]) -> None:
        """See `Storage`."""
        with self._transaction("read write") as cursor:
            self._fetch(cursor, _LOCK)
            self._refuse_without_fsync(cursor)
            if not self._is_made(cursor):
                for statement in _MAKE:
                    self._execute(cursor, statement)
            for entry in make_next(self._entries(cursor)):
                if self._fetch(cursor, _INSERT, *astuple(entry)) != [(entry.hash,)]:
                    raise LedgerError(
                        f"{self.place} did not take an entry, by a rule or trigger of its own; remove that"
                    )

    @contextmanager
    def _transaction(self, access: str) -> Iterator[Any]:
        """A cursor inside a transaction that is committed at the end, and rolled back by closing on any error."""
        connect = _driver().connect
        with ExitStack() as stack:
            connection = self._quietly(lambda: connect(self._address, autocommit=True))
            stack.callback(_close, connection)
            cursor = self._quietly(connection.cursor)
            stack.callback(_close, cursor)
            self._execute(cursor, f"begin transaction isolation level read committed, {access}")
            settings = (f"pg_catalog.set_config('{name}', {value}, true)" for name, value in _SETTINGS.items())
            self._fetch(cursor, f"select {', '.join(settings)}")
            yield cursor
            self._quietly(
                lambda: cursor.execute("commit"),
                _UNKNOWN if access == "read write" else "",
            )

    def _is_made(self, cursor: Any) -> bool:
        """Whether the table is there; refuse one that is somebody else's, or that would not keep what it is given."""
        found = self._fetch(cursor, _FIND)
        if found and found != [("r", "p", _MARK)]:
            raise LedgerError(
                f"{self.place} has a table sfumato.entries that is not a ledger of this version; name another database"
            )
        return bool(found)

    def _refuse_without_fsync(self, cursor: Any) -> None:
        if self._fetch(cursor, "select pg_catalog.current_setting('fsync')") != [("on",)]:
            raise LedgerError(
                f"the server of {self.place} runs with fsync off, so that a power cut would lose entries; switch it on"
            )

    def _entries(self, cursor: Any) -> list[Entry]:
        return [Entry(*row) for row in self._fetch(cursor, _SELECT)]

    def _execute(self, cursor: Any, statement: str) -> None:
        self._quietly(lambda: cursor.execute(statement))

    def _fetch(self, cursor: Any, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        def run() -> list[tuple[Any, ...]]:
            cursor.execute(statement, values or None)
            return [tuple(row) for row in cursor.fetchall()]

        return self._quietly(run)

    def _quietly(self, work: Callable[[], R], consequence: str = "") -> R:
        """Replace any error of the driver by our own, raised where it has no context: a driver quotes addresses."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - the driver has its own, and those of Arrow
            state = str(getattr(error, "sqlstate", None) or "")
            kind = f"{public_name(type(error))}{f', SQLSTATE {state}' if state.isalnum() else ''}"
        raise LedgerError(f"the ledger {self.place} cannot be used ({kind}); {_CURES.get(state, _CURE)}{consequence}")


def _driver() -> Any:
    try:
        return importlib.import_module("adbc_driver_postgresql.dbapi")
    except ImportError:
        raise LedgerError("adbc-driver-postgresql is not installed; run: pip install 'sfumato[sql]'") from None


def _close(resource: Any) -> None:
    with suppress(Exception):
        resource.close()
