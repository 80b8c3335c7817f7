import json
import shutil
import sqlite3
import threading

import pytest

from sfumato.errors import LedgerError, OverBudget
from sfumato.privacy.accounting import Budget
from sfumato.privacy.ledger import Ledger, default_path


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "books" / "ledger.sqlite")


def test_a_release_is_reserved_then_committed(ledger):
    reservation = ledger.reserve("clinic", 500, {"mechanism": "tables"})
    assert (ledger.account("clinic").spent, ledger.account("clinic").unfinished) == (500, 1)
    commit = ledger.commit(reservation, "abc")
    account = ledger.account("clinic")
    assert (account.spent, account.releases, account.unfinished, account.limit) == (500, 1, 0, None)
    assert json.loads(commit.detail) == {"reservation": reservation.hash, "statement": "abc"}


def test_a_limit_refuses_and_writes_nothing(ledger):
    limit = Budget(1.0, 1e-6)
    ledger.set_limit("clinic", limit)
    ledger.reserve("clinic", limit.units, {})
    before = ledger.entries()
    with pytest.raises(OverBudget, match="'clinic' leaves 0 ") as refusal:
        ledger.reserve("clinic", 1, {})
    assert refusal.value.remaining == 0
    assert ledger.entries() == before
    ledger.reserve("another", 10**15, {})


def test_the_last_limit_counts(ledger):
    ledger.set_limit("clinic", Budget(1.0, 1e-6))
    ledger.set_limit("clinic", Budget(3.0, 1e-6))
    assert ledger.account("clinic").limit_as_set == (3.0, 1e-6)
    ledger.reserve("clinic", Budget(2.5, 1e-6).units, {})


def test_nothing_is_made_by_looking(ledger):
    assert ledger.entries() == []
    assert not ledger.path.exists()


def test_every_changed_swapped_or_lost_field_breaks_the_chain(ledger):
    for number in range(4):
        ledger.reserve("clinic", 100 + number, {"number": number})
    good = ledger.path.read_bytes()
    columns = ("number", "time", "kind", "dataset", "units", "detail", "previous", "hash")
    for row in range(1, 5):
        for column in columns:
            ledger.path.write_bytes(good)
            value = "77" if column in ("number", "units") else "'limit'"
            _tamper(ledger.path, f"update entries set {column} = {value} where number = {row}")
            with pytest.raises(LedgerError):
                ledger.entries()
    for row in range(1, 4):
        ledger.path.write_bytes(good)
        _tamper(ledger.path, f"delete from entries where number = {row}")
        with pytest.raises(LedgerError, match="chain"):
            ledger.entries()


def _tamper(path, statement):
    with sqlite3.connect(path) as connection:
        connection.execute("drop trigger never_changed")
        connection.execute("drop trigger never_removed")
        connection.execute(statement)
    connection.close()


def test_a_rollback_shows_against_the_last_known_hash(ledger):
    ledger.reserve("clinic", 1, {})
    old = shutil.copy(ledger.path, ledger.path.with_name("old.sqlite"))
    last = ledger.reserve("clinic", 1, {})
    assert last.hash not in [entry.hash for entry in Ledger(old).entries()]


def test_sql_cannot_change_or_remove_an_entry(ledger):
    ledger.reserve("clinic", 1, {})
    for statement in ("update entries set units = 0", "delete from entries"):
        with sqlite3.connect(ledger.path) as connection, pytest.raises(sqlite3.Error, match="never"):
            connection.execute(statement)
        connection.close()


def test_an_unknown_kind_of_entry_is_refused(ledger):
    ledger.reserve("clinic", 1, {})
    _tamper(ledger.path, "update entries set kind = 'refund'")
    with pytest.raises(LedgerError, match="'refund', unknown to this version"):
        ledger.reserve("clinic", 1, {})


def test_what_is_no_ledger_is_refused(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to be looked at " * 30)
    with pytest.raises(LedgerError, match=r"notes\.txt"):
        Ledger(file).reserve("clinic", 1, {})
    with pytest.raises(LedgerError):
        Ledger(file / "below" / "ledger").reserve("clinic", 1, {})


def test_threads_at_once_do_not_overspend(ledger):
    ledger.set_limit("clinic", Budget(1.0, 1e-6))
    share = Budget(1.0, 1e-6).units // 5
    outcomes = []

    def spend():
        try:
            ledger.reserve("clinic", share, {})
            outcomes.append(True)
        except OverBudget:
            outcomes.append(False)

    threads = [threading.Thread(target=spend) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(True) == 5
    assert ledger.account("clinic").spent == 5 * share


def test_the_default_place_can_be_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "mine"))
    assert default_path() == tmp_path / "mine"
    monkeypatch.delenv("SFUMATO_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "sfumato" / "ledger.sqlite"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert default_path().parts[-4:] == (".local", "share", "sfumato", "ledger.sqlite")
