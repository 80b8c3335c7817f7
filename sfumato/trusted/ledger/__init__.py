"""What was ever spent on a dataset: written down before a record is read, never under-counted.

One append-only list of entries, each holding the hash of the one before it. A release writes two: it *reserves* its
whole budget before a record is touched, and *commits* with the hash of its statement when it is done. What is spent is
what was reserved, so a crash in between over-counts and never under-counts. A ledger that goes on elsewhere is closed
by a last entry that says where.

`entries` is what one line says, and the chain of hashes; `accounts` is what the lines add up to, and when a limit
refuses; `storage` is what is asked of a place that keeps them, `sqlite_file` and `postgresql_table` are two such
places; `ledger` puts these together.

Compatibility: entries are never changed or removed, a kind of entry never changes its meaning, and an entry of a kind
that this version does not know makes it refuse the ledger. Their details may hold more than a version knows.
"""

from sfumato.trusted.ledger.accounts import Account, held_against
from sfumato.trusted.ledger.entries import AND_DELTA, BY_PERSON, KINDS, Entry, PrivacyUnit
from sfumato.trusted.ledger.ledger import Ledger, default_path

__all__ = [
    "AND_DELTA",
    "BY_PERSON",
    "KINDS",
    "Account",
    "Entry",
    "Ledger",
    "PrivacyUnit",
    "default_path",
    "held_against",
]
