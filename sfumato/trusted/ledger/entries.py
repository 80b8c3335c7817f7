"""One line of a ledger, and the chain of hashes that ties each line to all before it."""

import datetime as dt
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from sfumato.errors import LedgerError
from sfumato.trusted.adjacency import Adjacency

BY_PERSON = " by person"  # such an entry names the column that tells persons apart in its detail
AND_DELTA = "reserve with delta"  # such an entry has the delta in its detail
MOVED = "moved"  # the last entry of a ledger that goes on elsewhere, which its detail names
KINDS = (
    *("limit", "reserve", "commit", "limit" + BY_PERSON, "reserve" + BY_PERSON),
    *(AND_DELTA, AND_DELTA + BY_PERSON, MOVED),
)
_BEGINNING = "0" * 64


class PrivacyUnit(NamedTuple):
    """What is spent: whose change nobody may notice, one record's or that of a person whom the column `unit` names."""

    adjacency: Adjacency
    unit: str | None = None

    def __str__(self) -> str:
        return f"{self.adjacency} by {self.unit}" if self.unit else str(self.adjacency)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; units are 1e-12 of mu squared. It holds nothing that depends on a record."""

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

    @property
    def is_limit(self) -> bool:
        """Whether it sets a limit."""
        return self.kind.startswith("limit")

    @property
    def is_reservation(self) -> bool:
        """Whether it spends."""
        return self.kind.startswith("reserve")

    def computed_hash(self) -> str:
        """The hash that the other fields give."""
        content = {key: value for key, value in asdict(self).items() if key != "hash"}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def next_entry(
    entries: Sequence[Entry], kind: str, dataset: str, currency: PrivacyUnit, units: int, detail: dict[str, Any]
) -> Entry:
    """The entry that follows these, with its place in the chain."""
    if currency.unit is not None:
        kind, detail = kind + BY_PERSON, {**detail, "unit": currency.unit}
    previous = entries[-1].hash if entries else _BEGINNING
    content = json.dumps(detail, sort_keys=True)
    adjacency = currency.adjacency.value
    entry = Entry(len(entries) + 1, _current_time(), kind, dataset, adjacency, units, content, previous, "")
    return replace(entry, hash=entry.computed_hash())


def check_chain(entries: Sequence[Entry], place: str) -> None:
    """Raise `LedgerError` if an entry is of an unknown kind, or is not the one that was written after those before it.

    Formal guarantees
        Each hash covers the one before it. Entries that pass are, up to collisions of SHA-256, the very entries that
        led to the last hash, all of them and in this order.
    Edge cases
        Entries cut off at the end pass: only somebody who knows the last hash can tell.
    """
    previous = _BEGINNING
    for number, entry in enumerate(entries, start=1):
        if entry.kind not in KINDS:
            raise LedgerError(
                f"entry {number} of {place} is of kind {entry.kind!r}, unknown to this version; update sfumato"
            )
        if entry.number != number or entry.previous != previous or entry.computed_hash() != entry.hash:
            raise LedgerError(
                f"the chain of {place} is broken at entry {number}: the ledger was changed; restore a copy"
            )
        previous = entry.hash


def moved_to(entries: Sequence[Entry]) -> str | None:
    """Where a ledger goes on, if it was moved."""
    return str(json.loads(entries[-1].detail)["to"]) if entries and entries[-1].kind == MOVED else None


def _current_time() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
