"""The ledger: reserve, commit, limit, look."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import DEFAULT_DELTA, Budget
from sfumato.trusted.ledger.accounts import (
    Account,
    Request,
    accounts_of,
    epsilon_that_fits,
    refuse_beyond,
)
from sfumato.trusted.ledger.entries import AND_DELTA, MOVED, Entry, PrivacyUnit, check_chain, moved_to, next_entry
from sfumato.trusted.ledger.purpose import UNSAID, Purpose
from sfumato.trusted.ledger.storage import open_storage


class Ledger:
    """The ledger in a file, or in a PostgreSQL database for several machines; made when it is first written to.

    `address` is the path of a SQLite file, or `postgresql://user@host:port/database`, which holds no password:
    PGPASSWORD or ~/.pgpass does. `place` is where it is, in words for people.

    Formal guarantees
        `reserve` adds up, compares with the limit and writes in one exclusive transaction that is on disk when it
        returns: two releases at once, or a crash at any moment, cannot spend more than the limit or spend unrecorded.
    Edge cases
        Not a ledger, a server that cannot be reached, a broken chain, an unknown kind of entry: `LedgerError`, nothing
        is written. A connection that breaks while an entry is committed: `LedgerError`, and the entry may count.
    Example
        >>> ledger = sfumato.Ledger(folder / "ledger.sqlite")
        >>> [account.dataset for account in ledger.accounts()]
        []
    """

    def __init__(self, address: str | Path) -> None:
        self._storage = open_storage(address)

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    @property
    def place(self) -> str:
        """Where it is: a path, or a server and a database without the user."""
        return self._storage.place

    def reserve(
        self,
        dataset: str,
        adjacency: Adjacency,
        units: int,
        detail: dict[str, Any],
        unit: str | None = None,
        *,
        delta: float = 0.0,
    ) -> Entry:
        """Write down that `units`, and a delta beside them, are spent on the dataset.

        Or raise `BudgetExceededError` and write nothing.
        """
        if units < 1:
            raise LedgerError(f"{units} units cannot be reserved; a release costs something")
        currency = PrivacyUnit(adjacency, unit)
        request = Request(currency, units, delta, detail.get("epsilon"), detail.get("delta", DEFAULT_DELTA))

        def check_limits(entries: Sequence[Entry]) -> None:
            refuse_beyond(accounts_of(entries, dataset), request)

        kind, known = (AND_DELTA, {**detail, "delta_keys": delta}) if delta else ("reserve", detail)
        return self._append(kind, dataset, currency, units, known, check_limits)

    def commit(self, reservation: Entry, statement_hash: str) -> Entry:
        """Write down that the release of a reservation is done, with the hash of its statement."""
        detail = {"reservation": reservation.hash, "statement": statement_hash}
        return self._append("commit", reservation.dataset, PrivacyUnit(Adjacency(reservation.adjacency)), 0, detail)

    def set_limit(
        self,
        dataset: str,
        limit: Budget,
        adjacency: Adjacency = Adjacency.ADD_REMOVE,
        unit: str | None = None,
        purpose: Purpose = UNSAID,
    ) -> Entry:
        """Refuse, from now on, what would take the dataset's total beyond this budget under this adjacency and unit."""
        given = {"epsilon": limit.epsilon, "delta": limit.delta, **purpose.to_dict()}
        return self._append("limit", dataset, PrivacyUnit(adjacency, unit), limit.units, given)

    def accounts(self, dataset: str | None = None) -> list[Account]:
        """The accounts of one dataset, or of all by name: one for each currency that was ever used or limited."""
        entries = self.entries()
        names = sorted({entry.dataset for entry in entries if entry.kind != MOVED}) if dataset is None else [dataset]
        return [account for name in names for account in accounts_of(entries, name)]

    def epsilon_that_fits(
        self,
        dataset: str,
        delta: float = DEFAULT_DELTA,
        adjacency: Adjacency = Adjacency.ADD_REMOVE,
        unit: str | None = None,
    ) -> float | None:
        """The largest epsilon, of four digits, of one more release that all limits allow; None where there is none.

        For a release that discovers no lists of values.
        """
        return epsilon_that_fits(self.accounts(dataset), PrivacyUnit(adjacency, unit), delta)

    def move_to(self, other: "Ledger") -> None:
        """Go on in another, empty ledger: all entries are copied there, hashes and all, and this one is closed.

        Formal guarantees
            No entry can be written here once the copy is made, and none there before it is complete: the last entry
            here, after which nothing is written, is on disk before the copy is committed, in one transaction that no
            other writer there can come between. So no two ledgers ever count the same dataset side by side, as long as
            one address names one place: an address without a host names another where PGHOST says so.
        Edge cases
            The other has entries, is this one, or cannot be opened: `LedgerError`, and this one stays open. A crash,
            or an error of the other, after this one is closed: do the same again, to the same place. A release that
            runs meanwhile has its reservation copied and cannot be finished: it counts, and gives no bundle.
        """
        if other.place == self.place:
            raise LedgerError(f"{self.place} cannot be moved to itself; name another, empty ledger")

        def copy(existing: Sequence[Entry]) -> Sequence[Entry]:
            if existing:
                raise LedgerError(f"{other.place} has entries of its own; name an empty ledger")
            return self._close(other.place)

        other._storage.append(copy)

    def _close(self, to: str) -> Sequence[Entry]:
        """Write the last entry, unless a move to the same place has written it; the entries before it."""

        def make_last(entries: Sequence[Entry]) -> Sequence[Entry]:
            check_chain(entries, self.place)
            if moved_to(entries) == to:
                return ()
            self._refuse_moved(entries)
            return (next_entry(entries, MOVED, "", PrivacyUnit(Adjacency.ADD_REMOVE), 0, {"to": to}),)

        self._storage.append(make_last)
        return self.entries()[:-1]

    def _refuse_moved(self, entries: Sequence[Entry]) -> None:
        if (place := moved_to(entries)) is not None:
            raise LedgerError(f"the ledger {self.place} was moved and is closed; use {place}")

    def entries(self) -> list[Entry]:
        """All entries, their chain checked; none where nothing was written yet."""
        entries = self._storage.read()
        check_chain(entries, self.place)
        return entries

    def _append(
        self,
        kind: str,
        dataset: str,
        currency: PrivacyUnit,
        units: int,
        detail: dict[str, Any],
        check: Callable[[Sequence[Entry]], None] = lambda _: None,
    ) -> Entry:
        """Write an entry if the chain holds and `check`, which sees all entries so far, does not raise."""

        written: list[Entry] = []

        def make_next(entries: Sequence[Entry]) -> Sequence[Entry]:
            check_chain(entries, self.place)
            self._refuse_moved(entries)
            check(entries)
            written.append(next_entry(entries, kind, dataset, currency, units, detail))
            return written

        self._storage.append(make_next)
        return written[0]


def default_path() -> str | Path:
    """Where the ledger is unless another place is named: $SFUMATO_LEDGER, or a file in the user's data folder."""
    if named := os.environ.get("SFUMATO_LEDGER"):
        return named
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "sfumato" / "ledger.sqlite"
