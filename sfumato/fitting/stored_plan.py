"""A plan as a bundle holds it: plain content, which is read when the release is fitted anew."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.errors import EarlierDesignError
from sfumato.trusted.schema.display import shorten


def check_design(stored: int, current: int) -> None:
    """Refuse a plan whose questions follow from answers in another way than this version's."""
    if stored != current:
        raise EarlierDesignError(
            "it was made by a version that asks other questions; fit or verify it with that version of sfumato"
        )


def describe_mechanism(name: str, choices: Mapping[str, Any]) -> str:
    """A mechanism with what was chosen of it: "3a (anonymize kernel, approximate mixture, adapt leaves, share 0.2)"."""
    words = ", ".join(f"{setting} {choice}" for setting, choice in choices.items())
    return f"{name} ({words})" if words else name


@dataclass(frozen=True)
class StoredPlan:
    """What was to be measured and what each question could spend.

    settings    what the custodian asked for beside schema, budget and adjacency
    constants   those of the version that planned it
    asked       the schema before bounds and lists of values were bought, None where it was complete
    """

    plan: Mapping[str, Any]
    settings: Mapping[str, Any]
    constants: Mapping[str, Mapping[str, Any]]
    asked: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        settings = shorten(str(dict(self.settings)), 120)
        return f"<StoredPlan: settings {settings}, {len(self.constants)} sets of constants>"

    @property
    def choices(self) -> dict[str, Any]:
        """What was chosen of the mechanism, by name: every setting that was asked for, and parts that were not, too."""
        return {**self.plan.get("parts", {}), **self.settings}

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        content = {"plan": self.plan, "settings": self.settings, "constants": self.constants}
        return content if self.asked is None else {**content, "asked": self.asked}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "StoredPlan":
        """The plan that `to_dict` wrote."""
        if set(content) - {"asked"} != {"plan", "settings", "constants"} or not all(
            isinstance(part, dict) for part in content.values()
        ):
            raise ValueError("the plan has parts that are not known")
        if not all(isinstance(values, dict) for values in content["constants"].values()):
            raise ValueError("the constants of the plan are not names and numbers")
        if not all(isinstance(value, str | int | float | None) for value in content["settings"].values()):
            raise ValueError("the settings of the plan are not plain values")
        parts = content["plan"].get("parts", {})
        if not isinstance(parts, dict) or not all(isinstance(choice, str) for choice in parts.values()):
            raise ValueError("the parts of the plan are not names")
        return cls(**content)
