"""What every page knows: the folder of the tables, where state is kept, the ledger, the keys."""

from dataclasses import dataclass
from pathlib import Path

from sfumato.studio.security import Keys
from sfumato.trusted.ledger import Ledger


@dataclass(frozen=True)
class Studio:
    """One running studio.

    folder   tables are chosen below it
    state    where drafts, jobs and results are
    ledger   the address of the ledger
    """

    folder: Path
    state: Path
    ledger: str
    keys: Keys

    def path(self, *parts: str) -> str:
        """The path of a page."""
        return "/" + "/".join((self.keys.place, *parts))

    def open_ledger(self) -> Ledger:
        """The ledger of all releases that are made here."""
        return Ledger(self.ledger)
