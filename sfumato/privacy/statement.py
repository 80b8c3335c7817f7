"""The claim that a release carries.

What is promised to whom, in numbers and in words, itemised to the last measurement.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveFloat, PositiveInt

from sfumato.measurement import Measurement
from sfumato.privacy.adjacency import Adjacency
from sfumato.privacy.spending import UNITS_PER_MU_SQUARED, units_of
from sfumato.schema import Unit

if TYPE_CHECKING:
    from sfumato.privacy.accounting import Budget

_PROMISE = {
    Adjacency.ADD_REMOVE: "Whether any one record was in the table or not",
    Adjacency.REPLACE: "Whatever values any one record had",
    Adjacency.LABEL: "Whatever target value any one record had",
}

_PROMISE_TO_A_PERSON = {
    Adjacency.ADD_REMOVE: "Whether any one person was in the table or not, with all of their records",
    Adjacency.REPLACE: "Whatever records any one person had",
    Adjacency.LABEL: "Whatever target values the records of any one person had",
}

_OPEN_BY_RECORD = "Somebody with several records: each record is protected, all of them together less so."
_OPEN_BY_PERSON = "Somebody under several ids: each id is protected, all of them together less so."
_ALWAYS_OPEN = (
    "What the records say together: that is what is released.",
    "The schema: column names, types, bounds, lists of values, and the target. It is public knowledge by definition.",
    "Other releases from the same records: their costs add up, which is what the ledger is for.",
    "The machine on which the records lie, and how long the computation took on it.",
)
_ALSO_OPEN = {
    Adjacency.ADD_REMOVE: (),
    Adjacency.REPLACE: ("The number of records or of persons: this release treats it as public.",),
    Adjacency.LABEL: (
        "Everything but the target: this release treats all other columns and the number of records as public.",
    ),
}


class _Content(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Item(_Content):
    """One measurement as the statement lists it."""

    what: str
    sensitivity: PositiveFloat
    mu: PositiveFloat
    sigma: PositiveFloat
    units: PositiveInt


class Before(_Content):
    """What the same records had already paid for, and the release shows: its units, and the epsilon of all together."""

    what: str
    units: PositiveInt
    epsilon: PositiveFloat


class PrivacyStatement(_Content):
    """What is promised.

    `units` are 1e-12 of mu squared; `reservation` is the hash of the ledger's entry, if there is one. Where something
    was paid for `before`, epsilon is that of the items alone, and the promise is for all together.
    """

    dataset: str
    mechanism: str
    adjacency: Adjacency
    epsilon: PositiveFloat
    delta: PositiveFloat
    seeded: bool
    items: tuple[Item, ...]
    units_budget: PositiveInt
    units_spent: NonNegativeInt
    reservation: str | None
    before: Before | None = None
    unit: Unit | None = None

    @classmethod
    def of(
        cls,
        measurements: Sequence[Measurement],
        *,
        dataset: str,
        mechanism: str,
        adjacency: Adjacency,
        budget: "Budget",
        seeded: bool,
        reservation: str | None,
        unit: Unit | None = None,
    ) -> "PrivacyStatement":
        """The statement of everything that came through the door."""
        items = tuple(item_of(measurement, adjacency, unit) for measurement in measurements)
        return cls(
            dataset=dataset,
            mechanism=mechanism,
            adjacency=adjacency,
            epsilon=budget.epsilon,
            delta=budget.delta,
            seeded=seeded,
            items=items,
            units_budget=budget.units,
            units_spent=sum(item.units for item in items),
            reservation=reservation,
            unit=unit,
        )

    @property
    def budget(self) -> "Budget":
        """The budget as it was given."""
        from sfumato.privacy.accounting import Budget  # it needs scipy; a receiver need not

        return Budget(self.epsilon, self.delta, self.unit.records if self.unit else 1)

    @property
    def protects(self) -> str:
        """Whom the promise is for."""
        return "one person, all of their records" if self.unit else "one record"

    @property
    def mu(self) -> float:
        """The mu of everything that was spent."""
        return math.sqrt(self.units_spent / UNITS_PER_MU_SQUARED)

    @property
    def label(self) -> str:
        """`proven`, or why it is not private at all."""
        return "seeded: not private" if self.seeded else "proven"

    @property
    def promise(self) -> str:
        """The promise in one sentence."""
        if self.seeded:
            return (
                "This release is NOT PRIVATE: its noise came from a seed, so whoever knows or guesses the seed can "
                "take the noise off. It is for tests and studies and must not leave the custodian."
            )
        epsilon = self.before.epsilon if self.before else self.epsilon
        factor = math.exp(min(epsilon, 700.0))
        earlier = f" It takes in {self.before.what}, paid for before what is listed here." if self.before else ""
        promise = _PROMISE_TO_A_PERSON if self.unit else _PROMISE
        return (
            f"{promise[self.adjacency]}, the probability of anything that can be seen in this release changes by a "
            f"factor of at most e^{epsilon:g} = {factor:.4g}, but for an excess of at most {self.delta:g}: "
            f"({epsilon:g}, {self.delta:g})-differential privacy for {self.protects}, {self.adjacency} adjacency."
            f"{self._whose}{earlier}"
        )

    @property
    def _whose(self) -> str:
        if self.unit is None:
            return ""
        records = self.unit.records
        count = "1 record of each counts" if records == 1 else f"{records} records of each count"
        return f" Column {self.unit.column} tells persons apart; {count} at most."

    @property
    def remainder(self) -> str:
        """What the plan did not spend."""
        left = 1 - self.units_spent / self.units_budget
        if left < 0.001:
            return "The whole budget is spent."
        from sfumato.privacy.accounting import epsilon_of

        spent = epsilon_of(self.mu, self.delta) if self.units_spent else 0.0
        return f"{left:.1%} of the budget is left: what was spent is epsilon {spent:.4g} at the same delta."

    @property
    def not_protected(self) -> tuple[str, ...]:
        """What this promise does not cover."""
        whose = _OPEN_BY_PERSON if self.unit else _OPEN_BY_RECORD
        return (*_ALWAYS_OPEN, whose, *_ALSO_OPEN[self.adjacency])

    @property
    def hash(self) -> str:
        """The statement's fingerprint, as the ledger keeps it."""
        return hashlib.sha256(json.dumps(self.to_content(), sort_keys=True).encode()).hexdigest()

    def to_content(self) -> dict[str, Any]:
        """Plain lists and dictionaries; where there is no unit, as it was before there were any: hashes stay."""
        return self.model_dump(mode="json", exclude=None if self.unit else {"unit"})

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> "PrivacyStatement":
        """The statement that `to_content` wrote; anything else is refused."""
        return cls.model_validate(content)


def item_of(measurement: Measurement, adjacency: Adjacency, unit: Unit | None) -> Item:
    """The line of the statement that follows from a measurement, recomputed from its statistic and mu.

    Of a person so many records count as the unit says, so all but the noise is that many times what it is for one.
    """
    statistic, records = measurement.statistic, unit.records if unit else 1
    return Item(
        what=statistic.title,
        sensitivity=records * statistic.sensitivity(adjacency),
        mu=records * measurement.mu,
        sigma=measurement.sigma,
        units=records**2 * units_of(measurement.mu),
    )
