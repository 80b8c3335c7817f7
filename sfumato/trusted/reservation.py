"""A budget that is entered in a ledger before the first record is read, and says so whatever stops what it pays for."""

from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from uuid import uuid4

from sfumato.errors import LedgerError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.budget import Budget
from sfumato.trusted.ledger import Entry, Ledger, default_path
from sfumato.trusted.ledger.purpose import UNSAID, Purpose

LedgerLike = Ledger | str | Path | Literal["default"] | None
"""Where spending is written down: a ledger, its path or `postgresql://` address, the user's own, or nowhere."""


class Reservation:
    """What a release costs, in a ledger or in none.

    As a context: what ends it by force once it is entered - an error, Ctrl-C, the end of the process - carries a note
    that it counts.
    """

    def __init__(self, book: LedgerLike, dataset: str, budget: Budget) -> None:
        address = default_path() if book == "default" else book
        self._book = Ledger(address) if isinstance(address, str | Path) else address
        self._dataset, self._budget = dataset, budget
        self._entry: Entry | None = None
        self._mark = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._book and error and (self._entry or self._may_be_written(error)):
            error.add_note(spent_note(self._book, self._dataset, self._budget))

    def enter(
        self,
        adjacency: Adjacency,
        mechanism: str,
        seeded: bool,
        unit: str | None = None,
        purpose: Purpose = UNSAID,
    ) -> None:
        """Write it down, or raise `BudgetExceededError` and write nothing."""
        self._mark = uuid4().hex
        budget = self._budget
        spent = {"epsilon": budget.epsilon, "delta": budget.delta, "records": budget.records}
        detail = {**spent, "mechanism": mechanism, "seeded": seeded, "release": self._mark, **purpose.to_dict()}
        if self._book:
            self._entry = self._book.reserve(
                self._dataset, adjacency, budget.units, detail, unit, delta=budget.delta_keys
            )

    @property
    def hash(self) -> str | None:
        """Of the entry, where there is one."""
        return self._entry.hash if self._entry else None

    def commit(self, statement_hash: str) -> None:
        """Write down that the release is done."""
        if self._book and self._entry:
            self._book.commit(self._entry, statement_hash)

    def _may_be_written(self, error: BaseException) -> bool:
        """Ctrl-C may come when the entry is written and not yet known here.

        Without a mark nothing was entered, and the ledger, which another may hold, is not waited for. Where it cannot
        be read any more, the entry is taken as written; an error of the ledger itself says what is known of that.
        """
        if not self._book or not self._mark:
            return False
        try:
            return any(self._mark in entry.detail for entry in self._book.entries())
        except LedgerError:
            return not isinstance(error, LedgerError)


def spent_note(book: Ledger, dataset: str, budget: Budget) -> str:
    """What a custodian must know when a release was reserved and came to nothing."""
    return (
        f"No bundle was written, and the ledger {book.place} counts epsilon {budget.epsilon:g} at delta "
        f"{budget.delta:g} of dataset {dataset} as spent: it was reserved before the first record was read."
    )
