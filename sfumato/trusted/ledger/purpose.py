"""Who spends, and why: words that a custodian leaves in the ledger for those who read it later."""

import getpass
from typing import NamedTuple

from sfumato.errors import RequestError

LONGEST_NAME = 100
LONGEST_PURPOSE = 500


class Purpose(NamedTuple):
    """Words of the custodian, who answers for them as for the schema: they must not come from the rows.

    They stand in the detail of an entry and nowhere else. The statement of a release holds the hash of that entry; the
    entry also holds a random mark of 122 bits, so that nobody can find out the words by trying.
    """

    who: str | None = None
    purpose: str | None = None

    def to_dict(self) -> dict[str, str]:
        """What goes into the detail of an entry; what was not said is left out."""
        return {name: words for name, words in self._asdict().items() if words is not None}


UNSAID = Purpose()


def check_purpose(who: str | None, purpose: str | None) -> Purpose:
    """Words that may be written down; without `who` it is the user who runs this.

    Raises
        `RequestError` for words that are empty, too long, or hold control characters such as line breaks.
    Example
        >>> from sfumato.trusted.ledger.purpose import check_purpose
        >>> check_purpose("Ada", "yearly report to the board").to_dict()
        {'who': 'Ada', 'purpose': 'yearly report to the board'}
    """
    _check_words("who", who, LONGEST_NAME)
    _check_words("purpose", purpose, LONGEST_PURPOSE)
    return Purpose(_user_name() if who is None else who, purpose)


def _check_words(name: str, words: str | None, longest: int) -> None:
    if words is not None and not isinstance(words, str):
        raise RequestError(f"{name} is of type {type(words).__name__}; say it in words, or leave it out")
    if words is not None and not words.strip():
        raise RequestError(f"{name} is empty; say it in words, or leave it out")
    if words is not None and len(words) > longest:
        raise RequestError(f"{name} has {len(words)} characters; the ledger takes {longest} at most")
    if words is not None and not words.isprintable():
        raise RequestError(f"{name} holds a line break or another control character; write it in one plain line")


def _user_name() -> str | None:
    """The name of the user; None where the system has none, or one that could not be written down."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None
    return name if name.isprintable() and 0 < len(name) <= LONGEST_NAME else None
