"""The choices of the three parts, and which a request means."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.errors import RequestError
from sfumato.fitting.devices import torch_or_error
from sfumato.fitting.mechanisms.rules_refused import refuse_rules
from sfumato.trusted.schema import Schema

CHOICES: Mapping[str, tuple[str, ...]] = {
    "anonymize": ("tables", "slices", "kernel"),
    "approximate": ("mixture", "generator"),
    "adapt": ("gradients", "leaves", "released", "none"),
}
"""Of each part; the first is what nobody has to ask for."""
PAID = ("gradients", "leaves")
"""What of `adapt` goes through the curator, and needs a share of the budget."""


@dataclass(frozen=True)
class Parts:
    """One choice of each part.

    anonymize     what of the records leaves the curator, with noise
    approximate   the model of their distribution that is fitted to it
    adapt         what makes that model better at predicting the target
    """

    anonymize: str
    approximate: str
    adapt: str

    def __post_init__(self) -> None:
        for part, choice in asdict(self).items():
            if choice not in CHOICES[part]:
                raise RequestError(f"{part} is {choice!r}; use one of {', '.join(CHOICES[part])}")


def choose_parts(settings: Mapping[str, Any], schema: Schema, *, predictable: bool) -> Parts:
    """What the settings ask for, of a table whose target is `predictable` or not.

    Edge cases
        Parts that do not go together, a share of what costs nothing: `RequestError`, before anything is spent.
    """
    chosen = {part: settings.get(part) or choices[0] for part, choices in CHOICES.items()}
    if not predictable and settings.get("adapt") is None:
        chosen["adapt"] = "none"
    parts = Parts(**chosen)
    if not predictable and parts.adapt != "none":
        raise RequestError(
            f"adapt is {parts.adapt!r}, but there is no target with few enough classes to predict; use none, or name "
            "such a target in the schema"
        )
    share = settings.get("share")
    if share is not None and parts.adapt not in PAID:
        raise RequestError(f"adapt {parts.adapt} costs nothing; leave out share, or use one of {', '.join(PAID)}")
    if share is not None and not (isinstance(share, float | int) and 0 < share < 1):
        raise RequestError(f"share is {share!r}; it must be above 0 and below 1: adapt's part of the budget")
    if (parts.anonymize, parts.approximate) != ("tables", "mixture"):
        refuse_rules(schema, f"mechanism 3a by {parts.anonymize} and {parts.approximate}")
    if parts.approximate == "generator":
        torch_or_error()
    return parts
