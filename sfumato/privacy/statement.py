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

if TYPE_CHECKING:
    from sfumato.privacy.accounting import Budget

_PROMISE = {
    Adjacency.ADD_REMOVE: "Whether any one record was in the table or not",
    Adjacency.REPLACE: "Whatever values any one record had",
    Adjacency.LABEL: "Whatever target value any one record had",
}

_ALWAYS_OPEN = (
    "What the records say together: that is what is released.",
    "The schema: column names, types, bounds, lists of values, and the target. It is public knowledge by definition.",
    "Somebody with several records: each record is protected, all of them together less so.",
    "Other releases from the same records: their costs add up, which is what the ledger is for.",
    "The machine on which the records lie, and how long the computation took on it.",
)
_ALSO_OPEN = {
    Adjacency.ADD_REMOVE: (),
    Adjacency.REPLACE: ("The number of records: this release treats it as public.",),
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
    ) -> "PrivacyStatement":
        """The statement of everything that came through the door."""
        items = tuple(item_of(measurement, adjacency) for measurement in measurements)
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
        )

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
        return (
            f"{_PROMISE[self.adjacency]}, the probability of anything that can be seen in this release changes by a "
            f"factor of at most e^{epsilon:g} = {factor:.4g}, but for an excess of at most {self.delta:g}: "
            f"({epsilon:g}, {self.delta:g})-differential privacy for one record, {self.adjacency} adjacency.{earlier}"
        )

    @property
    def remainder(self) -> str:
        """What the plan did not spend."""
        left = 1 - self.units_spent / self.units_budget
        if left < 0.001:
            return "The whole budget is spent."
        from sfumato.privacy.accounting import epsilon_of  # it needs scipy; a receiver need not

        spent = epsilon_of(self.mu, self.delta) if self.units_spent else 0.0
        return f"{left:.1%} of the budget is left: what was spent is epsilon {spent:.4g} at the same delta."

    @property
    def not_protected(self) -> tuple[str, ...]:
        """What this promise does not cover."""
        return (*_ALWAYS_OPEN, *_ALSO_OPEN[self.adjacency])

    @property
    def hash(self) -> str:
        """The statement's fingerprint, as the ledger keeps it."""
        return hashlib.sha256(json.dumps(self.to_content(), sort_keys=True).encode()).hexdigest()

    def to_content(self) -> dict[str, Any]:
        """Plain lists and dictionaries."""
        return self.model_dump(mode="json")

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> "PrivacyStatement":
        """The statement that `to_content` wrote; anything else is refused."""
        return cls.model_validate(content)


def item_of(measurement: Measurement, adjacency: Adjacency) -> Item:
    """The line of the statement that follows from a measurement, recomputed from its statistic and mu."""
    statistic = measurement.statistic
    sensitivity = statistic.sensitivity(adjacency)
    return Item(
        what=statistic.title,
        sensitivity=sensitivity,
        mu=measurement.mu,
        sigma=measurement.sigma,
        units=units_of(measurement.mu),
    )
