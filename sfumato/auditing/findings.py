"""What an attack found: a lower bound on mu beside the mu that is claimed."""

import math
from dataclasses import dataclass
from typing import Any

from sfumato.trusted.budget import epsilon_of

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Finding:
    """The outcome of one attack.

    claim        the mu that must not be exceeded
    bound        mu is not below this, with the stated confidence; infinite where two neighbours never look alike
    confidence   1 where the bound is computed and not estimated
    detail       how it was found, in a few words
    failure      what is wrong besides, where no number says it
    """

    attack: str
    claim: float
    bound: float
    confidence: float
    detail: str
    failure: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim stands."""
        return not self.failure and self.bound <= self.claim * (1 + _ROUNDING)

    def epsilon(self, delta: float) -> float:
        """The least epsilon that a mechanism with this bound on mu can promise at delta."""
        if math.isinf(self.bound):
            return math.inf
        return epsilon_of(self.bound, delta) if self.bound > 0 else 0.0

    def to_dict(self, delta: float) -> dict[str, Any]:
        """Plain values; an infinite bound is the text "infinite", which JSON can hold."""
        return {
            "attack": self.attack,
            "claimed mu": self.claim,
            "lower bound on mu": _plain(self.bound),
            "lower bound on epsilon": _plain(self.epsilon(delta)),
            "confidence": self.confidence,
            "holds": self.holds,
            "detail": self.detail,
            **({"failure": self.failure} if self.failure else {}),
        }


@dataclass(frozen=True)
class NotRun:
    """An attack that could show nothing here, and why."""

    attack: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"attack": self.attack, "not run": self.reason}


def worst(findings: "list[Finding]") -> Finding:
    """The finding that exceeds its claim most, or comes nearest to it."""
    return max(findings, key=lambda one: (bool(one.failure), one.bound / one.claim))


def _plain(number: float) -> float | str:
    return "infinite" if math.isinf(number) else number
