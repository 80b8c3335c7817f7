"""What was ever spent on a dataset: on disk, never under-counted.

A SQLite file with one append-only list of entries, each holding the hash of the one before it. A release writes two: it
*reserves* its whole budget before a record is touched, and *commits* with the hash of its statement when it is done.
What is spent is what was reserved, so a crash in between over-counts and never under-counts.

Compatibility: entries are never changed or removed, a kind of entry never changes its meaning, and an entry of a kind
that this version does not know makes it refuse the ledger.

Adjacencies are different currencies, and so are records and persons. A limit is set in one of them, and every release
is held against it by what it gives there (`held_against`); a release that gives nothing there is refused.

A release that discovers lists of values costs a delta besides its units (`thresholds`). Deltas add up, and what is
left of a limit's delta buys the units that may be spent. Such a delta says nothing of two changes at once, so that the
release is refused under a limit that would need that.
"""

import datetime as dt
import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, assert_never

from sfumato.errors import BudgetExceededError, LedgerError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import DEFAULT_DELTA, Budget, epsilon_of, units_bought
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED, mu_of_units

BY_PERSON = " by person"  # such an entry names the column that tells persons apart in its detail
AND_DELTA = "reserve with delta"  # such an entry has the delta in its detail
KINDS = (
    *("limit", "reserve", "commit", "limit" + BY_PERSON, "reserve" + BY_PERSON),
    *(AND_DELTA, AND_DELTA + BY_PERSON),
)
_BEGINNING = "0" * 64
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


class PrivacyUnit(NamedTuple):
    """What is spent: whose change nobody may notice, one record's or that of a person whom the column `unit` names."""

    adjacency: Adjacency
    unit: str | None = None

    def __str__(self) -> str:
        return f"{self.adjacency} by {self.unit}" if self.unit else str(self.adjacency)


def held_against(release: PrivacyUnit, limit: PrivacyUnit) -> int | None:
    """What a unit of mu squared in one currency counts in another; None where it promises nothing there.

    To replace a record is to remove one and add one, so mu-GDP for add-remove is 2 mu-GDP for replace (group privacy:
    Dong, Roth and Su 2019, theorem 2.14) and costs four times as much. To change a label is one way to replace.

    A release by person, and one record. One that comes or goes, or takes another label, is of one person, who may have
    others before and after: that person is replaced. One that is replaced may also take another id, and then two
    persons are: one loses a record and one gains it. So against a limit by record under replace mu doubles once more.
    A release by record bounds nobody's records, and promises nothing to persons.
    """
    if release == limit:
        return 1
    if limit.unit not in (None, release.unit):
        return None
    match limit.adjacency:
        case Adjacency.REPLACE:
            persons = 1 if release.unit == limit.unit else 2
        case Adjacency.ADD_REMOVE | Adjacency.LABEL:
            persons = 1
        case _:
            assert_never(limit.adjacency)
    match release.adjacency:
        case Adjacency.ADD_REMOVE:
            return (2 * persons) ** 2
        case Adjacency.REPLACE | Adjacency.LABEL:
            return persons**2 if limit.adjacency in (release.adjacency, Adjacency.LABEL) else None
        case _:
            assert_never(release.adjacency)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; units are 1e-12 of mu squared."""

    number: int
    time: str
    kind: str
    dataset: str
    adjacency: str
    units: int
    detail: str
    previous: str
    hash: str

    @property
    def currency(self) -> PrivacyUnit:
        """What was spent, or limited."""
        unit = json.loads(self.detail)["unit"] if self.kind.endswith(BY_PERSON) else None
        return PrivacyUnit(Adjacency(self.adjacency), unit)

    @property
    def delta(self) -> float:
        """What a release costs beside its units."""
        return float(json.loads(self.detail)["delta_keys"]) if self.kind.startswith(AND_DELTA) else 0.0

    def computed_hash(self) -> str:
        """The hash that the other fields give."""
        content = {key: value for key, value in asdict(self).items() if key != "hash"}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Account:
    """What a ledger says of one dataset in one currency, in units; `limit` is None where nobody set one.

    `uncounted` are releases in another currency that promise nothing in this one. `delta` is what lists of values cost
    besides; it makes the limit smaller.
    """

    dataset: str
    currency: PrivacyUnit
    spent: int
    limit: int | None
    limit_as_set: tuple[float, float] | None
    releases: int
    unfinished: int
    uncounted: int
    delta: float = 0.0

    def limit_with(self, delta: float) -> int:
        """The units that the limit allows where so much of its delta goes to lists of values."""
        return units_bought(*self.limit_as_set, delta) if self.limit_as_set else 0


class Ledger:
    """The ledger in a file, made when it is first used.

    Formal guarantees
        `reserve` adds up, compares with the limit and writes in one exclusive transaction that is on disk when it
        returns: two releases at once, or a crash at any moment, cannot spend more than the limit or spend unrecorded.
    Edge cases
        Not a ledger, a broken chain, an unknown kind of entry: `LedgerError`, nothing is written.
    Example
        >>> ledger = sfumato.Ledger(folder / "ledger.sqlite")
        >>> [account.dataset for account in ledger.accounts()]
        []
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

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

        def allowed(entries: Sequence[Entry]) -> None:
            for account in _accounts(entries, dataset):
                if account.limit is not None:
                    _refuse_beyond(account, currency, units, detail.get("delta", DEFAULT_DELTA), delta)

        kind, told = (AND_DELTA, {**detail, "delta_keys": delta}) if delta else ("reserve", detail)
        return self._append(kind, dataset, currency, units, told, allowed)

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
    ) -> Entry:
        """Refuse, from now on, what would take the dataset's total beyond this budget under this adjacency and unit."""
        given = {"epsilon": limit.epsilon, "delta": limit.delta}
        return self._append("limit", dataset, PrivacyUnit(adjacency, unit), limit.units, given)

    def accounts(self, dataset: str | None = None) -> list[Account]:
        """The accounts of one dataset, or of all by name: one for each currency that was ever used or limited."""
        entries = self.entries()
        names = sorted({entry.dataset for entry in entries}) if dataset is None else [dataset]
        return [account for name in names for account in _accounts(entries, name)]

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
        currency: PrivacyUnit,
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
            if currency.unit is not None:
                kind, detail = kind + BY_PERSON, {**detail, "unit": currency.unit}
            told = json.dumps(detail, sort_keys=True)
            bare = Entry(len(entries) + 1, now, kind, dataset, currency.adjacency.value, units, told, previous, "")
            entry = Entry(**{**asdict(bare), "hash": bare.computed_hash()})
            connection.execute("insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)", tuple(asdict(entry).values()))
            connection.execute("commit")
            return entry

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=60, isolation_level=None)) as connection:
                connection.execute("pragma synchronous = extra")  # even a journal's removal is on disk after a commit
                self._make_or_recognise(connection)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be used ({error}); check the file and its folder"
            ) from error

    def _make_or_recognise(self, connection: sqlite3.Connection) -> None:
        """Make the table in a new file; refuse a database that is somebody else's."""
        if connection.execute("pragma application_id").fetchone() == (_OURS,):
            return
        connection.execute("begin immediate")
        (mark,) = connection.execute("pragma application_id").fetchone()
        (tables,) = connection.execute("select count(*) from sqlite_master").fetchone()
        if mark != _OURS and tables:
            raise LedgerError(f"{self.path} is a database, but not a ledger; name another file")
        if mark != _OURS:
            for statement in _statements(_TABLE):
                connection.execute(statement)
        connection.execute("commit")
        if mark != _OURS:
            _sync_folder(self.path.parent)


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


def _accounts(entries: Sequence[Entry], dataset: str) -> list[Account]:
    own = [entry for entry in entries if entry.dataset == dataset]
    used = {entry.currency for entry in own if entry.kind != "commit"}
    order = list(Adjacency)
    in_order = sorted(used, key=lambda currency: (currency.unit or "", order.index(currency.adjacency)))
    return [_account(own, dataset, currency) for currency in in_order]


def _account(own: Sequence[Entry], dataset: str, currency: PrivacyUnit) -> Account:
    limits = [entry for entry in own if entry.kind.startswith("limit") and entry.currency == currency]
    reserved = [entry for entry in own if entry.kind.startswith("reserve")]
    done = [entry for entry in own if entry.kind == "commit"]
    factors = [_factor(entry.currency, currency, entry.delta) for entry in reserved]
    last = json.loads(limits[-1].detail) if limits else None
    delta = _sum_up(entry.delta for entry, factor in zip(reserved, factors, strict=True) if factor)
    found = Account(
        dataset=dataset,
        currency=currency,
        spent=sum(entry.units * (factor or 0) for entry, factor in zip(reserved, factors, strict=True)),
        limit=limits[-1].units if limits else None,
        limit_as_set=(last["epsilon"], last["delta"]) if last else None,
        releases=len(done),
        unfinished=len(reserved) - len(done),
        uncounted=factors.count(None),
        delta=delta,
    )
    return replace(found, limit=found.limit_with(delta)) if delta and limits else found


def _factor(release: PrivacyUnit, limit: PrivacyUnit, delta: float) -> int | None:
    """`held_against`; of a release with a delta only where one change here is one change there."""
    factor = held_against(release, limit)
    return factor if factor == 1 or not delta else None


def _sum_up(deltas: Iterable[float]) -> float:
    """The sum, rounded up."""
    exact = sum(map(Fraction, deltas), Fraction(0))
    return float(exact) if Fraction(float(exact)) >= exact else math.nextafter(float(exact), 1.0)


def _refuse_beyond(account: Account, currency: PrivacyUnit, units: int, delta: float, delta_keys: float) -> None:
    """Raise `BudgetExceededError` if a further release would go beyond a limit, or cannot be held against it."""
    factor, together = _factor(currency, account.currency, delta_keys), _sum_up((account.delta, delta_keys))
    limit = account.limit_with(together) if together else account.limit or 0
    left = max(0, limit - account.spent)
    name, remaining = f"the {account.currency} limit of dataset {account.dataset!r}", left / UNITS_PER_MU_SQUARED
    if factor is None or account.uncounted:
        raise BudgetExceededError(
            f"{name} does not cover a release under another adjacency or unit, which gives no guarantee for it; "
            "nothing was read",
            requested=units / UNITS_PER_MU_SQUARED,
            remaining=remaining,
        )
    requested = factor * units / UNITS_PER_MU_SQUARED
    if factor * units > left:
        raise BudgetExceededError(
            f"{name} does not allow this release: {_largest_that_fits(left // factor, delta)}; nothing was read",
            requested=requested,
            remaining=remaining,
        )


def _largest_that_fits(units: int, delta: float) -> str:
    """What a custodian could still ask for."""
    if not units:
        return "nothing is left; the largest epsilon that still fits is 0"
    return f"the largest epsilon that still fits is {epsilon_of(mu_of_units(units), delta):.4g} at delta {delta:g}"


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


def default_path() -> Path:
    """Where the ledger lies unless another place is named: the user's data folder, or $SFUMATO_LEDGER."""
    if named := os.environ.get("SFUMATO_LEDGER"):
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "sfumato" / "ledger.sqlite"
