import contextlib
import json
import shutil
import sqlite3
import threading
from itertools import combinations_with_replacement, product

import pytest

from sfumato.errors import BudgetExceededError, LedgerError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.ledger import Ledger, PrivacyUnit, default_path, held_against
from sfumato.trusted.ledger.sqlite_file import SqliteFile

ADD_REMOVE, REPLACE, LABEL = Adjacency


@pytest.fixture
def path(tmp_path):
    return tmp_path / "books" / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    return Ledger(path)


def test_a_release_is_reserved_then_committed(ledger):
    reservation = ledger.reserve("clinic", ADD_REMOVE, 500, {"mechanism": "tables"})
    (account,) = ledger.accounts("clinic")
    assert (account.spent, account.unfinished) == (500, 1)
    commit = ledger.commit(reservation, "abc")
    (account,) = ledger.accounts()
    assert (account.spent, account.releases, account.unfinished, account.limit) == (500, 1, 0, None)
    assert json.loads(commit.detail) == {"reservation": reservation.hash, "statement": "abc"}


def test_a_limit_refuses_and_writes_nothing(ledger):
    limit = Budget(1.0, 1e-6)
    ledger.set_limit("clinic", limit)
    ledger.reserve("clinic", ADD_REMOVE, limit.units, {})
    before = ledger.entries()
    with pytest.raises(
        BudgetExceededError,
        match=r"the add-remove limit of dataset 'clinic' does not allow.*nothing is left",
    ) as refusal:
        ledger.reserve("clinic", ADD_REMOVE, 1, {})
    assert refusal.value.remaining == 0
    assert ledger.entries() == before
    ledger.reserve("another", ADD_REMOVE, 10**15, {})


def test_the_last_limit_counts(ledger):
    ledger.set_limit("clinic", Budget(1.0, 1e-6))
    ledger.set_limit("clinic", Budget(3.0, 1e-6))
    assert ledger.accounts("clinic")[0].limit_as_set == (3.0, 1e-6)
    ledger.reserve("clinic", ADD_REMOVE, Budget(2.5, 1e-6).units, {})


def test_nothing_is_made_by_looking(ledger, path):
    assert ledger.entries() == []
    assert not path.exists()


def test_every_changed_swapped_or_lost_field_breaks_the_chain(ledger, path):
    for number in range(4):
        ledger.reserve("clinic", ADD_REMOVE, 100 + number, {"number": number})
    good = path.read_bytes()
    columns = ("number", "time", "kind", "dataset", "adjacency", "units", "detail", "previous", "hash")
    for row in range(1, 5):
        for column in columns:
            path.write_bytes(good)
            value = "77" if column in ("number", "units") else "'limit'"
            _tamper(path, f"update entries set {column} = {value} where number = {row}")
            with pytest.raises(LedgerError):
                ledger.entries()
    for row in range(1, 4):
        path.write_bytes(good)
        _tamper(path, f"delete from entries where number = {row}")
        with pytest.raises(LedgerError, match="chain"):
            ledger.entries()


def _tamper(path, statement):
    with sqlite3.connect(path) as connection:
        connection.execute("drop trigger never_changed")
        connection.execute("drop trigger never_removed")
        connection.execute(statement)
    connection.close()


def test_a_rollback_shows_against_the_last_known_hash(ledger, path):
    ledger.reserve("clinic", ADD_REMOVE, 1, {})
    old = shutil.copy(path, path.with_name("old.sqlite"))
    last = ledger.reserve("clinic", ADD_REMOVE, 1, {})
    assert last.hash not in [entry.hash for entry in Ledger(old).entries()]


def test_sql_cannot_change_or_remove_an_entry(ledger, path):
    ledger.reserve("clinic", ADD_REMOVE, 1, {})
    for statement in ("update entries set units = 0", "delete from entries"):
        with sqlite3.connect(path) as connection, pytest.raises(sqlite3.Error, match="never"):
            connection.execute(statement)
        connection.close()


def test_an_unknown_kind_of_entry_is_refused(ledger, path):
    ledger.reserve("clinic", ADD_REMOVE, 1, {})
    _tamper(path, "update entries set kind = 'refund'")
    with pytest.raises(LedgerError, match="'refund', unknown to this version"):
        ledger.reserve("clinic", ADD_REMOVE, 1, {})


def test_what_is_no_ledger_is_refused(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to be looked at " * 30)
    with pytest.raises(LedgerError, match=r"notes\.txt"):
        Ledger(file).reserve("clinic", ADD_REMOVE, 1, {})
    with pytest.raises(LedgerError):
        Ledger(file / "below" / "ledger").reserve("clinic", ADD_REMOVE, 1, {})


def test_a_database_of_somebody_else_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "theirs.sqlite") as connection:
        connection.execute("create table entries (x)")
    connection.close()
    before = (tmp_path / "theirs.sqlite").read_bytes()
    for work in (Ledger.entries, lambda ledger: ledger.reserve("clinic", ADD_REMOVE, 1, {})):
        with pytest.raises(LedgerError, match="not a ledger"):
            work(Ledger(tmp_path / "theirs.sqlite"))
    assert (tmp_path / "theirs.sqlite").read_bytes() == before


def test_a_release_costs_something(ledger):
    for units in (0, -5):
        with pytest.raises(LedgerError, match="costs something"):
            ledger.reserve("clinic", ADD_REMOVE, units, {})


class TestAdjacencies:
    """Releases under different adjacencies are different currencies."""

    @pytest.mark.parametrize("unit", [None, "patient_id"])
    def test_what_a_release_gives_under_another_adjacency(self, unit):
        assert exchange(unit, unit) == [[1, 4, 4], [None, 1, 1], [None, None, 1]]

    def test_add_remove_counts_fourfold_against_a_replace_limit(self, ledger):
        limit = Budget(1.0, 1e-6)
        ledger.set_limit("clinic", limit, REPLACE)
        ledger.reserve("clinic", ADD_REMOVE, limit.units // 8, {})
        ledger.reserve("clinic", REPLACE, limit.units // 4, {})
        with pytest.raises(BudgetExceededError, match="the replace limit"):
            ledger.reserve("clinic", ADD_REMOVE, limit.units // 8, {})
        ledger.reserve("clinic", ADD_REMOVE, limit.units // 16, {})
        spent = {account.currency.adjacency: account.spent for account in ledger.accounts("clinic")}
        assert spent[REPLACE] == 4 * (limit.units // 8) + limit.units // 4 + 4 * (limit.units // 16)

    def test_a_release_that_promises_nothing_under_the_limit_is_refused(self, ledger):
        ledger.set_limit("clinic", Budget(100.0, 1e-6))
        for adjacency in (REPLACE, LABEL):
            with pytest.raises(BudgetExceededError, match="gives no guarantee for it"):
                ledger.reserve("clinic", adjacency, 1, {})
        ledger.reserve("clinic", ADD_REMOVE, 1, {})

    def test_a_limit_that_comes_too_late_refuses_everything(self, ledger):
        ledger.reserve("clinic", LABEL, 1, {})
        ledger.set_limit("clinic", Budget(100.0, 1e-6))
        with pytest.raises(BudgetExceededError, match="gives no guarantee for it"):
            ledger.reserve("clinic", ADD_REMOVE, 1, {})
        add_remove, label = ledger.accounts("clinic")
        assert (add_remove.uncounted, label.uncounted) == (1, 0)


def exchange(release_unit, limit_unit):
    """What releases count against limits, for every two adjacencies."""
    return [
        [held_against(PrivacyUnit(release, release_unit), PrivacyUnit(limit, limit_unit)) for limit in Adjacency]
        for release in Adjacency
    ]


HAVING = [labels for count in range(3) for labels in combinations_with_replacement("01", count)]
SMALL = list(product(HAVING, repeat=2))  # of each of two persons the labels of their records


def by_record(one, other, adjacency):
    """Whether two small tables are neighbours by record; a record is an id and a label."""
    records = [sorted((who, label) for who, labels in enumerate(table) for label in labels) for table in (one, other)]
    gone, come = list(records[0]), list(records[1])
    for record in records[0]:
        if record in come:
            gone.remove(record)
            come.remove(record)
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return len(gone) + len(come) == 1
        case Adjacency.REPLACE:
            return len(gone) == len(come) == 1
        case Adjacency.LABEL:
            return len(gone) == len(come) == 1 and gone[0][0] == come[0][0]


def by_person(one, other, adjacency):
    """Whether two small tables are neighbours by person; nobody is there without a record."""
    changed = [(mine, theirs) for mine, theirs in zip(one, other, strict=True) if mine != theirs]
    match adjacency:
        case Adjacency.ADD_REMOVE:  # somebody comes or goes
            return len(changed) == 1 and () in changed[0]
        case Adjacency.REPLACE:  # other records, more or fewer or none; or one goes and somebody new comes
            swapped = len(changed) == 2 and [() in pair for pair in changed] == [True, True]
            return len(changed) == 1 or (swapped and changed[0].index(()) != changed[1].index(()))
        case Adjacency.LABEL:
            return len(changed) == 1 and len(changed[0][0]) == len(changed[0][1])


def apart(one, other, adjacency):
    """How many changes by person lead from one table to another, found step by step; None where none do."""
    reached, steps = {one}, 0
    while other not in reached:
        further = reached | {table for table in SMALL for here in reached if by_person(here, table, adjacency)}
        if further == reached:
            return None
        reached, steps = further, steps + 1
    return steps


class TestPersons:
    """A person's promise is worth something to a record, a record's nothing to a person."""

    def test_what_a_release_by_person_gives_to_records(self):
        """One record more or less replaces the records of its person; one that is replaced may take another id."""
        assert exchange("patient_id", None) == [[4, 16, 4], [None, 4, 1], [None, None, 1]]

    @pytest.mark.parametrize("limit", Adjacency)
    @pytest.mark.parametrize("release", Adjacency)
    def test_it_is_the_square_of_the_persons_who_change(self, release, limit):
        """On all small tables: the most changes of persons that lie between two neighbours by record."""
        most = max(
            (apart(one, other, release) for one in SMALL for other in SMALL if by_record(one, other, limit)),
            key=lambda changes: float("inf") if changes is None else changes,
        )
        held = held_against(PrivacyUnit(release, "patient_id"), PrivacyUnit(limit))
        assert held == (most and most**2) or (held, release, limit) == (None, REPLACE, ADD_REMOVE)  # stricter

    def test_other_persons_are_not_protected(self):
        nothing = [[None] * 3] * 3
        assert exchange(None, "patient_id") == exchange("household", "patient_id") == nothing

    def test_a_limit_by_person_refuses_releases_by_record(self, ledger):
        limit = Budget(1.0, 1e-6)
        ledger.set_limit("clinic", limit, unit="patient_id")
        with pytest.raises(
            BudgetExceededError, match=r"the add-remove by patient_id limit of .* gives no guarantee for it"
        ):
            ledger.reserve("clinic", ADD_REMOVE, 1, {})
        ledger.reserve("clinic", ADD_REMOVE, limit.units, {}, "patient_id")
        with pytest.raises(
            BudgetExceededError,
            match=r"the add-remove by patient_id limit of dataset 'clinic' does not allow.*nothing is left",
        ):
            ledger.reserve("clinic", ADD_REMOVE, 1, {}, "patient_id")
        (account,) = ledger.accounts("clinic")
        assert (account.currency, account.spent) == (PrivacyUnit(ADD_REMOVE, "patient_id"), limit.units)

    def test_a_release_by_person_counts_fourfold_against_records(self, ledger):
        limit = Budget(1.0, 1e-6)
        ledger.set_limit("clinic", limit)
        ledger.reserve("clinic", ADD_REMOVE, limit.units // 4, {}, "patient_id")
        with pytest.raises(BudgetExceededError, match="the add-remove limit"):
            ledger.reserve("clinic", ADD_REMOVE, 4, {})

    def test_it_counts_sixteenfold_against_records_that_are_replaced(self, ledger):
        limit = Budget(1.0, 1e-6)
        ledger.set_limit("clinic", limit, REPLACE)
        ledger.reserve("clinic", ADD_REMOVE, limit.units // 32, {}, "patient_id")
        ledger.reserve("clinic", REPLACE, limit.units // 8, {}, "patient_id")
        with pytest.raises(BudgetExceededError, match="the replace limit"):
            ledger.reserve("clinic", REPLACE, 20, {})

    def test_entries_by_person_are_of_their_own_kinds(self, ledger):
        """So that a version that does not know persons refuses the ledger rather than counting them as records."""
        ledger.set_limit("clinic", Budget(1.0, 1e-6), unit="patient_id")
        reservation = ledger.reserve("clinic", ADD_REMOVE, 1, {"mechanism": "tables"}, "patient_id")
        ledger.commit(reservation, "abc")
        assert [entry.kind for entry in ledger.entries()] == ["limit by person", "reserve by person", "commit"]
        assert [account.releases for account in ledger.accounts()] == [1]


def test_threads_at_once_do_not_overspend(ledger):
    ledger.set_limit("clinic", Budget(1.0, 1e-6))
    share = Budget(1.0, 1e-6).units // 5
    outcomes = []

    def spend():
        try:
            ledger.reserve("clinic", ADD_REMOVE, share, {})
            outcomes.append(True)
        except BudgetExceededError:
            outcomes.append(False)

    threads = [threading.Thread(target=spend) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(True) == 5
    assert ledger.accounts("clinic")[0].spent == 5 * share


def test_the_default_place_can_be_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "mine"))
    assert Ledger(default_path()).place == str(tmp_path / "mine")
    monkeypatch.setenv("SFUMATO_LEDGER", "postgresql://somebody@books.example:5433/ledgers?sslmode=require")
    assert Ledger(default_path()).place == "postgresql://books.example:5433/ledgers"
    monkeypatch.delenv("SFUMATO_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "sfumato" / "ledger.sqlite"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert default_path().parts[-4:] == (".local", "share", "sfumato", "ledger.sqlite")


def test_what_is_written_is_on_disk(tmp_path, monkeypatch):
    """SQLite syncs the file and the removal of its journal; a new file is safe when its folder is synced as well."""
    synced = []
    monkeypatch.setattr("sfumato.trusted.ledger.sqlite_file._sync_folder", synced.append)
    file = SqliteFile(tmp_path / "l.sqlite")
    with file._open() as connection:
        assert connection.execute("pragma synchronous").fetchone() == (3,)
    assert synced == [tmp_path]
    with file._open():
        assert synced == [tmp_path]


def test_nobody_else_writes_between_the_sum_and_the_entry(tmp_path):
    """The lock is taken before the entries are read: else two could each see room for one."""
    ledger = Ledger(tmp_path / "l.sqlite")
    ledger.set_limit("d", Budget(1.0, 1e-6))
    asked = []

    def look(_entries):
        other = sqlite3.connect(ledger.place, timeout=0, isolation_level=None)
        with contextlib.closing(other), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("begin immediate")
        asked.append(True)

    ledger._append("reserve", "d", PrivacyUnit(Adjacency.ADD_REMOVE), 1, {}, look)
    assert asked == [True]


class TestDeltas:
    """Releases that discover lists of values, and cost a delta besides."""

    LIMIT = Budget(2.0, 1e-6)

    def reserve(self, ledger, share=0.25, delta=1e-7, adjacency=ADD_REMOVE, unit=None):
        units = int(share * self.LIMIT.units)
        return ledger.reserve("clinic", adjacency, units, {"delta": 1e-6}, unit, delta=delta)

    def test_a_release_of_the_whole_limit_fits(self, ledger):
        ledger.set_limit("clinic", self.LIMIT)
        asked = Budget(2.0, 1e-6, delta_keys=1e-7)
        entry = ledger.reserve("clinic", ADD_REMOVE, asked.units, {"delta": 1e-6}, delta=1e-7)
        assert (entry.kind, entry.delta) == ("reserve with delta", 1e-7)
        (account,) = ledger.accounts()
        assert (account.spent, account.limit, account.delta) == (asked.units, asked.units, 1e-7)
        with pytest.raises(BudgetExceededError):
            ledger.reserve("clinic", ADD_REMOVE, 1, {})

    def test_one_unit_more_does_not(self, ledger):
        ledger.set_limit("clinic", self.LIMIT)
        asked = Budget(2.0, 1e-6, delta_keys=1e-7)
        with pytest.raises(BudgetExceededError):
            ledger.reserve("clinic", ADD_REMOVE, asked.units + 1, {"delta": 1e-6}, delta=1e-7)
        assert len(ledger.entries()) == 1

    def test_deltas_add_up(self, ledger):
        ledger.set_limit("clinic", self.LIMIT)
        for _ in range(2):
            self.reserve(ledger, 0.01, 4.9e-7)
        with pytest.raises(BudgetExceededError, match="nothing is left"):
            self.reserve(ledger, 0.01, 4.9e-7)
        assert ledger.accounts()[0].delta == pytest.approx(9.8e-7)

    def test_a_delta_says_nothing_of_two_changes(self, ledger):
        ledger.set_limit("clinic", self.LIMIT, REPLACE)
        with pytest.raises(BudgetExceededError, match="another adjacency"):
            self.reserve(ledger, 0.01)
        ledger.reserve("clinic", ADD_REMOVE, self.LIMIT.units // 8, {})  # without a delta it counts fourfold
        self.reserve(ledger, 0.01, adjacency=REPLACE)

    def test_by_person(self, ledger):
        ledger.set_limit("clinic", self.LIMIT, unit="who")
        assert self.reserve(ledger, unit="who").kind == "reserve with delta by person"
        (account,) = ledger.accounts()
        assert (account.currency.unit, account.delta) == ("who", 1e-7)

    def test_without_a_limit_it_is_counted(self, ledger):
        self.reserve(ledger)
        assert ledger.accounts()[0].delta == 1e-7
        assert ledger.accounts()[0].limit is None
