"""What a release costs is in the ledger before anything is read, by record or by person."""

import json

import pytest

from sfumato.errors import BudgetExceededError, LedgerError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.ledger import Ledger
from sfumato.trusted.reservation import Reservation

BUDGET = Budget(1.0, 1e-6)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "l.sqlite")


@pytest.mark.parametrize("unit", [None, "patient"])
@pytest.mark.parametrize("seeded", [True, False])
def test_the_whole_budget_is_entered(ledger, unit, seeded):
    with Reservation(ledger, "d", BUDGET) as reservation:
        reservation.enter(Adjacency.REPLACE, "tables", seeded, unit)
        (entry,) = ledger.entries()
        assert reservation.hash == entry.hash
    assert (entry.dataset, entry.units, entry.currency.adjacency) == ("d", BUDGET.units, Adjacency.REPLACE)
    assert entry.currency.unit == unit
    detail = json.loads(entry.detail)
    assert (detail["seeded"], detail["epsilon"], detail["mechanism"]) == (seeded, 1.0, "tables")


def test_a_limit_by_person_holds_a_reservation_by_person(ledger):
    ledger.set_limit("d", BUDGET, Adjacency.ADD_REMOVE, "patient")
    for allowed in (True, False):
        with Reservation(ledger, "d", BUDGET) as reservation:
            if allowed:
                reservation.enter(Adjacency.ADD_REMOVE, "tables", False, "patient")
            else:
                with pytest.raises(BudgetExceededError):
                    reservation.enter(Adjacency.ADD_REMOVE, "tables", False, "patient")
    assert len(ledger.entries()) == 2


def test_an_error_after_the_entry_says_that_it_counts(ledger):
    def fail(entered: bool) -> None:
        with Reservation(ledger, "d", BUDGET) as reservation:
            if entered:
                reservation.enter(Adjacency.ADD_REMOVE, "tables", False)
            raise RuntimeError

    with pytest.raises(RuntimeError) as caught:
        fail(entered=True)
    assert "counts epsilon 1" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError) as caught:
        fail(entered=False)
    assert not hasattr(caught.value, "__notes__")


def test_an_error_while_the_entry_is_written_says_that_it_counts(ledger, monkeypatch):
    """Ctrl-C when the entry is on disk and `reserve` has not returned."""
    reserve = Ledger.reserve

    def cut_off(self, *args, **more):
        reserve(self, *args, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "reserve", cut_off)
    with pytest.raises(KeyboardInterrupt) as caught, Reservation(ledger, "d", BUDGET) as reservation:
        reservation.enter(Adjacency.ADD_REMOVE, "tables", False)
    assert "counts epsilon 1" in caught.value.__notes__[0]


@pytest.mark.parametrize(("error", "says_so"), [(KeyboardInterrupt, True), (LedgerError, False)])
def test_where_the_ledger_cannot_be_read_any_more_it_is_taken_as_written(ledger, monkeypatch, error, says_so):
    """Ctrl-C while the entry is written, and the server is gone; an error of the ledger itself says what is known."""

    def cut_off(self, *_, **__):
        raise error

    def gone(self):
        raise LedgerError("gone")

    monkeypatch.setattr(Ledger, "reserve", cut_off)
    monkeypatch.setattr(Ledger, "entries", gone)
    with pytest.raises(error) as caught, Reservation(ledger, "d", BUDGET) as reservation:
        reservation.enter(Adjacency.ADD_REMOVE, "tables", False)
    assert hasattr(caught.value, "__notes__") == says_so
