"""One thing that `verify` recomputes, and what became of it."""

from dataclasses import dataclass
from enum import StrEnum

SAME = 0.02  # total variation that the last digits of another processor may add up to


class Outcome(StrEnum):
    """What became of a check.

    What could not be recomputed is neither right nor wrong, and never counts as right. What differs from what this
    version would do is said apart, and is no fault.
    """

    HOLDS = "holds"
    FAILS = "fails"
    DIFFERS = "differs"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Check:
    """One thing to recompute, whether it agrees, and the numbers, or why it could not be recomputed."""

    what: str
    outcome: Outcome
    detail: str

    @classmethod
    def of(cls, what: str, holds: bool, detail: str) -> "Check":
        """A check that was made."""
        return cls(what, Outcome.HOLDS if holds else Outcome.FAILS, detail)

    @property
    def holds(self) -> bool:
        """Whether it was made, and agrees."""
        return self.outcome == Outcome.HOLDS
