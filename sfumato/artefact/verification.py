"""The outcome of a verification: every check, whether all of them hold, and what a notebook shows of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from sfumato.trusted.schema.display import BOX, html_table, list_some, shorten

if TYPE_CHECKING:
    from sfumato.artefact.check import Check

_LONGEST_DETAIL = 160


@dataclass(frozen=True)
class Verification:
    """The checks of a release, in order. It is true where everything was checked and nothing fails.

    What this version of the library would do otherwise ("differs") is no fault.
    """

    checks: tuple["Check", ...]

    @property
    def failed(self) -> list[str]:
        """What does not hold."""
        return [check.what for check in self.checks if check.outcome == "fails"]

    @property
    def unchecked(self) -> list[str]:
        """What could not be recomputed here."""
        return [check.what for check in self.checks if check.outcome == "not checked"]

    def __bool__(self) -> bool:
        return not self.failed and not self.unchecked

    def __iter__(self) -> Iterator["Check"]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    @property
    def verdict(self) -> str:
        """In one sentence."""
        if self.failed:
            return f"The release does not keep its claim: {list_some(self.failed)}."
        if self.unchecked:
            return f"Nothing was found wrong, but this could not be checked: {list_some(self.unchecked)}."
        return f"The release keeps its claim: all of {len(self.checks)} checks were made and hold."

    def __repr__(self) -> str:
        return f"<Verification: {shorten(self.verdict, 300)}>"

    def _repr_html_(self) -> str:
        rows = [(check.outcome, check.what, shorten(check.detail, _LONGEST_DETAIL)) for check in self.checks]
        return f'<div style="{BOX}"><b>{escape(self.verdict)}</b>{html_table(("", "check", "detail"), rows)}</div>'
