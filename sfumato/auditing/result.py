"""What an audit found, for a person, a notebook or a program."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from sfumato.auditing.chart import audit_chart
from sfumato.auditing.faults import Fault
from sfumato.auditing.findings import Finding, NotRun
from sfumato.fitting.stored_plan import describe_mechanism
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.schema.display import BOX


@dataclass(frozen=True)
class Trial:
    """An attack on the library with a fault in it. A check that cannot fail is no check."""

    fault: Fault
    found: Finding | NotRun

    @property
    def caught(self) -> bool:
        """Whether the attack saw the fault."""
        return isinstance(self.found, Finding) and not self.found.holds

    @property
    def missed(self) -> bool:
        """Whether the attack ran and saw nothing."""
        return isinstance(self.found, Finding) and self.found.holds


@dataclass(frozen=True, repr=False)
class AuditResult:
    """Lower bounds beside claims, and faults that were caught or not.

    settings   what was chosen of the mechanism, by name
    claim      the mu that a release with this budget promises, for one record, or one person where `by_person`
    findings   of each attack on the library as it is
    trials     of the same attacks with a fault injected
    """

    dataset: str
    mechanism: str
    settings: Mapping[str, Any]
    adjacency: Adjacency
    epsilon: float
    delta: float
    claim: float
    by_person: bool
    quick: bool
    seconds: float
    findings: tuple[Finding | NotRun, ...]
    trials: tuple[Trial, ...]

    @property
    def mechanism_words(self) -> str:
        """The mechanism with what was chosen of it."""
        return describe_mechanism(self.mechanism, self.settings)

    @property
    def made(self) -> tuple[Finding, ...]:
        """The findings of attacks that were run."""
        return tuple(one for one in self.findings if isinstance(one, Finding))

    @property
    def not_run(self) -> tuple[NotRun, ...]:
        """The attacks that could show nothing here."""
        return tuple(one for one in self.findings if isinstance(one, NotRun))

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that exceed their claims."""
        return tuple(one for one in self.made if not one.holds)

    @property
    def missed(self) -> tuple[Trial, ...]:
        """The faults that an attack did not see."""
        return tuple(one for one in self.trials if one.missed)

    @property
    def caught(self) -> tuple[Trial, ...]:
        """The faults that were seen."""
        return tuple(one for one in self.trials if one.caught)

    @property
    def tried(self) -> tuple[Trial, ...]:
        """The faults that an attack was run against: one that cannot show anything here is no test of it."""
        return tuple(one for one in self.trials if isinstance(one.found, Finding))

    @property
    def passes(self) -> bool:
        """Whether every bound is below its claim, and every fault that was injected is seen."""
        return not self.broken and not self.missed

    @property
    def false_alarm(self) -> float:
        """The probability, at most, that an honest library fails this audit: what the estimated bounds leave open."""
        return math.fsum(1 - one.confidence for one in self.made)

    @property
    def verdict(self) -> str:
        """The outcome in a sentence or two."""
        whose = "one person" if self.by_person else "one record"
        if self.broken:
            return (
                f"FAILS: {len(self.broken)} of {len(self.made)} lower bounds exceed what is claimed for {whose}. Do "
                "not release with this installation."
            )
        if self.missed:
            return (
                f"FAILS: {len(self.missed)} of {len(self.tried)} injected faults went unseen, so that this audit "
                "shows nothing about them."
            )
        tried = len(self.tried)
        return (
            f"PASSES: none of {len(self.made)} lower bounds exceeds the claim for {whose}, and the attacks caught "
            f"{tried} of {tried} injected faults."
        )

    def __repr__(self) -> str:
        return f"<AuditResult of {self.dataset} at epsilon {self.epsilon:g}: {self.verdict.split('.')[0]}>"

    def _repr_html_(self) -> str:
        page = Markup('<div style="{}"><p>{}</p>{}{}</div>')
        return page.format(BOX, self.verdict, self.picture, self.fault_picture)

    @property
    def picture(self) -> Markup:
        """Every lower bound as a share of its claim."""
        rows = [(one.attack, _share(one)) for one in self.made]
        return audit_chart(rows, "Lower bounds of the attacks as shares of the claim")

    @property
    def fault_picture(self) -> Markup:
        """The same where a fault was injected."""
        rows = [(one.fault.name, _share(one.found)) for one in self.trials if isinstance(one.found, Finding)]
        return audit_chart(rows, "Lower bounds with a fault injected, as shares of the claim")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries, as `--json` prints them."""
        return {
            "sfumato audit": 1,
            "dataset": self.dataset,
            "mechanism": self.mechanism,
            "settings": dict(self.settings),
            "adjacency": str(self.adjacency),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "claimed mu": self.claim,
            "protects": "person" if self.by_person else "record",
            "quick": self.quick,
            "seconds": round(self.seconds, 1),
            "false alarm probability at most": self.false_alarm,
            "passes": self.passes,
            "verdict": self.verdict,
            "attacks": [self._written(one) for one in self.findings],
            "faults": [
                {"fault": one.fault.name, "in": one.fault.place, "caught": one.caught, **self._written(one.found)}
                for one in self.trials
            ],
        }

    def _written(self, one: Finding | NotRun) -> dict[str, Any]:
        return one.to_dict(self.delta) if isinstance(one, Finding) else one.to_dict()


def _share(one: Finding) -> float:
    """Of the claim; a failure that no number says counts as one without limit."""
    return math.inf if one.failure and one.bound <= one.claim else one.bound / one.claim
