"""What was ever spent on a dataset: on disk, never under-counted.

A SQLite file with one append-only list of entries, each holding the hash of the one before it. A release writes two: it
*reserves* its whole budget before a record is touched, and *commits* with the hash of its statement when it is done.
What is spent is what was reserved, so a crash in between over-counts and never under-counts.

Compatibility: entries are never changed or removed, a kind of entry never changes its meaning, and an entry of a kind
that this version does not know makes it refuse the ledger.
"""

import datetime as dt
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError, OverBudget
from sfumato.privacy.accounting import Budget
from sfumato.privacy.spending import UNITS_PER_MU_SQUARED

KINDS = ("limit", "reserve", "commit")
_BEGINNING = "0" * 64
_TABLE = """
create table if not exists entries (
  number integer primary key, time text not null, kind text not null, dataset text not null, units integer not null,
  detail text not null, previous text not null, hash text not null
); create trigger if not exists never_changed before update on entries begin select raise(abort, 'entries are never
changed'); end; create trigger if not exists never_removed before delete on entries begin select raise(abort, 'entries
are never removed'); end;
"""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; units are 1e-12 of mu squared."""

    number: int
    time: str
    kind: str
    dataset: str
    units: int
    detail: str
    previous: str
    hash: str

    def computed_hash(self) -> str:
        """The hash that the other fields give."""
        content = {key: value for key, value in asdict(self).items() if key != "hash"}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Account:
    """What a ledger says of one dataset, in units; `limit` is None where nobody set one."""

    dataset: str
    spent: int
    limit: int | None
    limit_as_set: tuple[float, float] | None
    releases: int
    unfinished: int


class Ledger:
    """The ledger in a file, made when it is first used.

    Formal guarantees
        `reserve` adds up, compares with the limit and writes in one exclusive transaction that is on disk when it
        returns: two releases at once, or a crash at any moment, cannot spend more than the limit or spend unrecorded.
    Edge cases
        Not a ledger, a broken chain, an unknown kind of entry: `LedgerError`, nothing is written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def reserve(self, dataset: str, units: int, detail: dict[str, Any]) -> Entry:
        """Write down that `units` are spent on the dataset, or raise `OverBudget` and write nothing."""

        def allowed(entries: Sequence[Entry]) -> None:
            account = _account(entries, dataset)
            if account.limit is not None and account.spent + units > account.limit:
                requested, remaining = (u / UNITS_PER_MU_SQUARED for u in (units, account.limit - account.spent))
                raise OverBudget(
                    f"the limit of dataset {dataset!r} leaves {remaining:.4g} of mu squared and this release asks for "
                    f"{requested:.4g}; nothing was read",
                    requested=requested,
                    remaining=remaining,
                )

        return self._append("reserve", dataset, units, detail, allowed)

    def commit(self, reservation: Entry, statement_hash: str) -> Entry:
        """Write down that the release of a reservation is done, with the hash of its statement."""
        detail = {"reservation": reservation.hash, "statement": statement_hash}
        return self._append("commit", reservation.dataset, 0, detail)

    def set_limit(self, dataset: str, limit: Budget) -> Entry:
        """Refuse, from now on, what would take the dataset's total beyond this budget."""
        return self._append("limit", dataset, limit.units, asdict(limit))

    def accounts(self) -> list[Account]:
        """Every dataset with its spending, by name."""
        entries = self.entries()
        return [_account(entries, dataset) for dataset in sorted({entry.dataset for entry in entries})]

    def account(self, dataset: str) -> Account:
        """One dataset's spending; zero for a name that the ledger has never seen."""
        return _account(self.entries(), dataset)

    def entries(self) -> list[Entry]:
        """All entries, their chain checked; none where there is no file yet."""
        if not self.path.exists():
            return []
        with self._open() as connection:
            return _checked(connection, self.path)

    def _append(
        self,
        kind: str,
        dataset: str,
        units: int,
        detail: dict[str, Any],
        allowed: Callable[[Sequence[Entry]], None] = lambda _: None,
    ) -> Entry:
        with self._open() as connection:
            connection.execute("begin immediate")
            entries = _checked(connection, self.path)
            allowed(entries)
            now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
            previous = entries[-1].hash if entries else _BEGINNING
            bare = Entry(len(entries) + 1, now, kind, dataset, units, json.dumps(detail, sort_keys=True), previous, "")
            entry = Entry(**{**asdict(bare), "hash": bare.computed_hash()})
            connection.execute("insert into entries values (?, ?, ?, ?, ?, ?, ?, ?)", tuple(asdict(entry).values()))
            connection.execute("commit")
            return entry

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=60, isolation_level=None)) as connection:
                connection.execute(
                    "pragma synchronous = extra"
                )  # the journal's removal is on disk, too, when a commit returns
                connection.executescript(_TABLE)
                _sync_folder(self.path.parent)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be used ({error}); check the file and its folder"
            ) from error


def _checked(connection: sqlite3.Connection, path: Path) -> list[Entry]:
    previous, entries = _BEGINNING, []
    for number, row in enumerate(connection.execute("select * from entries order by number"), start=1):
        entry = Entry(*row)
        if entry.kind not in KINDS:
            raise LedgerError(
                f"entry {number} of {path} is of kind {entry.kind!r}, unknown to this version; update sfumato"
            )
        if entry.number != number or entry.previous != previous or entry.computed_hash() != entry.hash:
            raise LedgerError(f"the chain of {path} is broken at entry {number}: the file was changed; restore a copy")
        entries.append(entry)
        previous = entry.hash
    return entries


def _account(entries: Sequence[Entry], dataset: str) -> Account:
    own = [entry for entry in entries if entry.dataset == dataset]
    limits = [entry for entry in own if entry.kind == "limit"]
    reserved = [entry for entry in own if entry.kind == "reserve"]
    done = [entry for entry in own if entry.kind == "commit"]
    last = json.loads(limits[-1].detail) if limits else None
    return Account(
        dataset=dataset,
        spent=sum(entry.units for entry in reserved),
        limit=limits[-1].units if limits else None,
        limit_as_set=(last["epsilon"], last["delta"]) if last else None,
        releases=len(done),
        unfinished=len(reserved) - len(done),
    )


def _sync_folder(folder: Path) -> None:
    """A new file is safe only when its folder is on disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def default_path() -> Path:
    """Where the ledger lies unless another place is named: the user's data folder, or $SFUMATO_LEDGER."""
    if named := os.environ.get("SFUMATO_LEDGER"):
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "sfumato" / "ledger.sqlite"
