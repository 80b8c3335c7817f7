"""What a ledger says, on a terminal: a sentence after a release, tables for those who look after datasets."""

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from sfumato.bookkeeping.accounts import describe_accounts, describe_remarks, what_fits
from sfumato.bookkeeping.lines import Line, lines_of
from sfumato.cli.terminal import print_wrapped, printable, say

if TYPE_CHECKING:
    from sfumato.trusted.ledger import Account, Ledger

_WIDEST = {"what": 16, "one change": 24}  # so that there is room for who and why on a narrow terminal
_NOTE = (
    "Spent, limit, left and still fits are epsilons at the delta beside them. They do not add up: several releases "
    "spend less together than the sum of their epsilons. Left is what a limit allows one more release to spend, still "
    "fits is the largest epsilon that all limits of the dataset allow it. A release that is not finished counts. Dates "
    "are UTC."
)


def print_accounts(book: "Ledger", dataset: str) -> None:
    """What was spent on a dataset, and what is left, in a sentence for each way of counting."""
    for words in describe_accounts(book, dataset):
        say(f"\n{words}")


def print_ledger(book: "Ledger", dataset: str | None) -> None:
    """Tables of one dataset, or of all: what was spent and what is left, then every release and limit."""
    from sfumato.trusted.ledger.entries import moved_to

    entries = book.entries()
    if place := moved_to(entries):
        say(f"{book.place} was moved and is closed; it goes on as {place}", "bold")
    lines = [line for line in lines_of(entries) if dataset in (None, line.dataset)]
    if not lines:
        say(f"{book.place} has no entries{f' for {dataset}' if dataset else ''} yet.")
        return
    say(f"ledger {book.place}")
    for name in sorted({line.dataset for line in lines}):
        say(f"\n{name}", "bold")
        print_wrapped(_table_of_accounts(book.accounts(name)))
        say("")
        print_wrapped(_table_of_lines([line for line in lines if line.dataset == name]))
    print_wrapped(Text(f"\n{_NOTE}"))


def _table_of_accounts(accounts: "Sequence[Account]") -> Table:
    table = _table("one change", "*delta", "*spent", "*limit", "*left", "*still fits", "releases")
    for account in accounts:
        fits = what_fits(account, accounts)
        limit = account.limit_as_set[0] if account.limit_as_set else None
        table.add_row(
            _plain(str(account.currency)),
            f"{account.at_delta:g}",
            f"{account.epsilon_spent:.4g}",
            "none" if limit is None else f"{limit:g}",
            _number(account.epsilon_left),
            "any" if fits is None else f"{fits:g}",
            f"{account.releases} done{describe_remarks(account)}",
        )
    return table


def _table_of_lines(lines: Sequence[Line]) -> Table:
    table = _table("date", "what", "*epsilon", "*delta", "one change", "who: why")
    for line in lines:
        table.add_row(
            f"{dt.datetime.fromisoformat(line.time):%Y-%m-%d}",
            _plain(_what(line)),
            _number(line.epsilon),
            _number(line.delta),
            _plain(f"{line.adjacency} by {line.unit}" if line.unit else line.adjacency),
            _plain(f"{line.who or 'unknown'}: {line.purpose}" if line.purpose else line.who or "-"),
        )
    return table


def _table(*names: str) -> Table:
    """A table without lines between its rows; numbers, marked by a star, stand to the right and never wrap."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in names:
        if name.startswith("*"):
            table.add_column(name[1:], justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold", max_width=_WIDEST.get(name))
    return table


def _what(line: Line) -> str:
    if line.kind == "limit":
        return "limit"
    words = ["release", *([line.mechanism] if line.mechanism else [])]
    words += ["not finished"] * (not line.finished) + ["seeded: not private"] * line.seeded
    return ", ".join(words)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _plain(words: str) -> Text:
    return Text(printable(words))
