"""What the plan says in words at one epsilon: the slider shows those of the place where it stands."""

from dataclasses import dataclass, replace
from typing import Any

from sfumato.artefact.risk import Risk
from sfumato.artefact.verdict import judge
from sfumato.artefact.warnings import warn_of
from sfumato.planning.curve import Point
from sfumato.planning.families import FamilyPoint, PlannedFamily
from sfumato.planning.plan import Plan
from sfumato.planning.risk_words import explain_risk
from sfumato.trusted.families.views import PERSONS
from sfumato.trusted.privacy_filter import mu_of_units


@dataclass(frozen=True)
class Words:
    """All words that change with epsilon.

    headline    what the release would be good for, in a sentence; of a family none
    good, bad   the same as lists, and what it would not be good for
    gains       what an attacker gains, the sentence for a board first
    warnings    what should make somebody stop
    """

    headline: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    gains: tuple[str, ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain content, as people read it."""
        return {
            "headline": self.headline,
            "sentence": self.gains[0],
            "lists": {"good": self.good, "bad": self.bad, "gains": self.gains, "warnings": self.warnings},
        }


def words_at(point: Point, made: Plan) -> Words:
    """Of one table."""
    verdict, request = judge(point.quality), made.request
    risk = request.at(point.epsilon).risk
    return Words(
        verdict.headline,
        verdict.good_for,
        verdict.not_for,
        explain_risk(risk, request.adjacency, request.schema.unit),
        warn_of(point.epsilon, made.delta, made.rows, point.quality.smallest_group),
    )


def words_of_family_at(point: FamilyPoint, made: PlannedFamily) -> Words:
    """Of several tables, for which no errors are forecast."""
    risk = Risk(mu_of_units(replace(made.budget, epsilon=point.epsilon).units))
    return Words(
        "",
        (),
        (),
        explain_risk(risk, made.adjacency, made.schema.unit),
        warn_of(point.epsilon, made.budget.delta, made.persons, point.groups[PERSONS], "person"),
    )
