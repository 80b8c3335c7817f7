"""What was spent on a dataset and what is left, in sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.trusted.ledger import Account, Ledger


def describe_accounts(book: "Ledger", dataset: str) -> list[str]:
    """A sentence for each way in which the ledger counts a dataset; none where it holds nothing of it.

    Example
        >>> describe_accounts(sfumato.Ledger(folder / "empty.sqlite"), "clinic")
        []
    """
    accounts = book.accounts(dataset)
    return [_describe(book.place, account, accounts) for account in accounts]


def _describe(place: str, account: "Account", accounts: "Sequence[Account]") -> str:
    limit = f" of epsilon {account.limit_as_set[0]:g}" if account.limit_as_set else ""
    fits = what_fits(account, accounts)
    left = "; no limit is set" if fits is None else f"; the largest epsilon that still fits is {fits:g}"
    return (
        f"ledger {place}: under {account.currency} dataset {account.dataset} has spent epsilon "
        f"{account.epsilon_spent:.4g}{limit} at delta {account.at_delta:g} in {account.releases} "
        f"release{'s' * (account.releases != 1)}{describe_remarks(account)}{left}."
    )


def describe_remarks(account: "Account") -> str:
    """Releases that count and are not done, and those that promise nothing in this way of counting."""
    stopped = f", {account.unfinished} reserved and not finished" if account.unfinished else ""
    if not account.uncounted:
        return stopped
    return f"{stopped}, {account.uncounted} under an adjacency or unit that promises nothing here"


def what_fits(account: "Account", accounts: "Sequence[Account]") -> float | None:
    """The largest epsilon of one more release that all limits of the dataset allow; None where there is no limit."""
    from sfumato.trusted.ledger.accounts import epsilon_that_fits

    return epsilon_that_fits(accounts, account.currency, account.at_delta)
