"""Release the distribution of a private table under differential privacy, and never a record.

A custodian calls `release`; a receiver calls `open`. The rest are the nouns they meet.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato._version import __version__

if TYPE_CHECKING:
    from sfumato.custodian import release
    from sfumato.errors import SfumatoError
    from sfumato.measurement import Measurement
    from sfumato.privacy.accounting import Budget
    from sfumato.privacy.adjacency import Adjacency
    from sfumato.privacy.ledger import Ledger
    from sfumato.privacy.statement import PrivacyStatement
    from sfumato.receiver import Release
    from sfumato.receiver import open_release as open  # noqa: A004 - sfumato.open, as json.load
    from sfumato.schema import Schema
    from sfumato.sources.databases import Database

_HOMES = {
    "Adjacency": "sfumato.privacy.adjacency",
    "Budget": "sfumato.privacy.accounting",
    "Database": "sfumato.sources.databases",
    "Ledger": "sfumato.privacy.ledger",
    "Measurement": "sfumato.measurement",
    "PrivacyStatement": "sfumato.privacy.statement",
    "Release": "sfumato.receiver",
    "Schema": "sfumato.schema",
    "SfumatoError": "sfumato.errors",
    "open": "sfumato.receiver",
    "release": "sfumato.custodian",
}

__all__ = [
    "Adjacency",
    "Budget",
    "Database",
    "Ledger",
    "Measurement",
    "PrivacyStatement",
    "Release",
    "Schema",
    "SfumatoError",
    "__version__",
    "open",
    "release",
]


def __getattr__(name: str) -> Any:
    """Names are loaded when they are first used, so that a receiver never loads the private side."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), "open_release" if name == "open" else name)


def __dir__() -> list[str]:
    return __all__
