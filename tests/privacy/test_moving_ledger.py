"""A ledger goes on elsewhere: never two that count side by side."""

import shutil
import sqlite3

import pytest

from sfumato.errors import BudgetExceededError, LedgerError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.ledger import Ledger
from tests.privacy.test_ledger_places import EARLIER
from tests.privacy.test_postgresql_ledger import empty
from tests.test_cli import flat, run

ADD_REMOVE = Adjacency.ADD_REMOVE


@pytest.fixture
def old(tmp_path):
    return Ledger(shutil.copy(EARLIER, tmp_path / "old.sqlite"))


@pytest.fixture
def new(tmp_path):
    return Ledger(tmp_path / "new.sqlite")


def test_all_entries_go_with_their_hashes_and_the_limits_hold(old, new):
    entries, accounts = old.entries(), old.accounts()
    old.move_to(new)
    assert new.entries() == entries
    assert new.accounts() == old.accounts() == accounts
    with pytest.raises(BudgetExceededError):
        new.reserve("clinic", ADD_REMOVE, Budget(3.0, 1e-6).units, {})
    assert new.reserve("clinic", ADD_REMOVE, 1, {}).previous == entries[-1].hash


def test_nothing_is_written_to_the_old_one(old, new):
    running = old.reserve("clinic", ADD_REMOVE, 1, {})
    old.move_to(new)
    for write in (
        lambda: old.reserve("clinic", ADD_REMOVE, 1, {}),
        lambda: old.commit(running, "statement"),
        lambda: old.set_limit("clinic", Budget(9.0, 1e-6)),
        lambda: old.move_to(Ledger(new.place + "2")),
    ):
        with pytest.raises(LedgerError, match=f"was moved and is closed; use {new.place}"):
            write()
    assert [entry.kind for entry in old.entries()][-1] == "moved"
    assert new.accounts("clinic")[0].unfinished == 2
    assert Ledger(new.place + "2").entries() == []


def test_a_ledger_with_entries_is_no_place_to_move_to(old, new):
    new.reserve("clinic", ADD_REMOVE, 1, {})
    with pytest.raises(LedgerError, match="entries of its own"):
        old.move_to(new)
    with pytest.raises(LedgerError, match="to itself"):
        old.move_to(Ledger(old.place))
    old.reserve("clinic", ADD_REMOVE, 1, {})  # still open
    assert len(new.entries()) == 1


def test_a_move_that_breaks_off_is_done_again(old, new, monkeypatch):
    close = Ledger._close

    def crash(self, to):
        close(self, to)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "_close", crash)
    with pytest.raises(KeyboardInterrupt):
        old.move_to(new)
    monkeypatch.undo()
    assert new.entries() == []
    with pytest.raises(LedgerError, match="was moved"):
        old.reserve("clinic", ADD_REMOVE, 1, {})
    old.move_to(new)
    assert new.entries() == old.entries()[:-1]


def test_the_same_words_in_another_folder_are_another_place(old, tmp_path, monkeypatch):
    """Else a second move would make a second ledger that is open."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        moved = run("ledger", "move", "new.sqlite", "--ledger", old.place)
        assert moved.exit_code == (0 if folder == "a" else 2)
    assert Ledger("new.sqlite").entries() == []


def test_nobody_writes_there_while_the_old_one_is_closed(old, new, monkeypatch):
    """The copy and the check that the place is empty are one transaction."""
    close, seen = Ledger._close, []

    def look(self, to):
        monkeypatch.setattr("sfumato.trusted.ledger.sqlite_file._WAIT", 0)
        with pytest.raises(LedgerError, match="locked"):
            new.reserve("clinic", ADD_REMOVE, 1, {})
        seen.append(True)
        return close(self, to)

    monkeypatch.setattr(Ledger, "_close", look)
    old.move_to(new)
    assert seen == [True]


def test_a_broken_chain_is_not_moved(old, new):
    with sqlite3.connect(old.place) as connection:
        connection.execute("drop trigger never_changed")
        connection.execute("update entries set units = 1 where number = 3")
    connection.close()
    with pytest.raises(LedgerError, match="chain"):
        old.move_to(new)
    assert new.entries() == []


def test_from_a_file_to_a_server_by_command(old, server):
    address = empty(server)
    moved = run("ledger", "move", address, "--ledger", old.place)
    assert moved.exit_code == 0
    assert f"{Ledger(address).place} has all 8 entries; {old.place} is closed" in flat(moved.output)
    assert Ledger(address).entries() == old.entries()[:-1]
    shown = flat(run("ledger", "show", "--ledger", old.place).output)
    assert f"was moved and is closed; it goes on as {Ledger(address).place}" in shown
    lines = run("ledger", "export", "--format", "csv", "--ledger", old.place).output
    assert lines == run("ledger", "export", "--format", "csv", "--ledger", address).output
    again = run("ledger", "move", address, "--ledger", old.place)
    assert again.exit_code == 2
