"""Release the distribution of a private table under differential privacy, and never a record.

A custodian calls `release` and `evaluate`; a receiver calls `open`, `verify` and `report`. The rest are the nouns they
meet.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato._version import __version__

if TYPE_CHECKING:
    from sfumato.api import release
    from sfumato.artefact.bundle import open_release as open  # noqa: A004 - sfumato.open, as json.load
    from sfumato.artefact.families.release import FamilyRelease
    from sfumato.artefact.release import Release
    from sfumato.artefact.statement import PrivacyStatement
    from sfumato.artefact.verify import verify
    from sfumato.auditing.audit import audit
    from sfumato.auditing.result import AuditResult
    from sfumato.errors import SfumatoError
    from sfumato.evaluation import evaluate
    from sfumato.planning.plan import Plan, plan
    from sfumato.progress import ProgressBar
    from sfumato.reports.write import report
    from sfumato.trusted.adjacency import Adjacency
    from sfumato.trusted.budget import Budget
    from sfumato.trusted.ledger import Ledger
    from sfumato.trusted.measurement import Measurement
    from sfumato.trusted.schema import FamilySchema, Schema
    from sfumato.trusted.sources.databases import Database

_HOMES = {
    "Adjacency": "sfumato.trusted.adjacency",
    "AuditResult": "sfumato.auditing.result",
    "Budget": "sfumato.trusted.budget",
    "Database": "sfumato.trusted.sources.databases",
    "FamilyRelease": "sfumato.artefact.families.release",
    "FamilySchema": "sfumato.trusted.schema",
    "Ledger": "sfumato.trusted.ledger",
    "Measurement": "sfumato.trusted.measurement",
    "Plan": "sfumato.planning.plan",
    "PrivacyStatement": "sfumato.artefact.statement",
    "ProgressBar": "sfumato.progress",
    "Release": "sfumato.artefact.release",
    "Schema": "sfumato.trusted.schema",
    "SfumatoError": "sfumato.errors",
    "evaluate": "sfumato.evaluation",
    "audit": "sfumato.auditing.audit",
    "open": "sfumato.artefact.bundle",
    "plan": "sfumato.planning.plan",
    "release": "sfumato.api",
    "report": "sfumato.reports.write",
    "verify": "sfumato.artefact.verify",
}

__all__ = [
    "Adjacency",
    "AuditResult",
    "Budget",
    "Database",
    "FamilyRelease",
    "FamilySchema",
    "Ledger",
    "Measurement",
    "Plan",
    "PrivacyStatement",
    "ProgressBar",
    "Release",
    "Schema",
    "SfumatoError",
    "__version__",
    "audit",
    "evaluate",
    "open",
    "plan",
    "release",
    "report",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Names are loaded when they are first used, so that a receiver never loads the private side."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), "open_release" if name == "open" else name)


def __dir__() -> list[str]:
    return __all__
