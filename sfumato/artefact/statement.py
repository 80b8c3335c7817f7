"""The claim that a release carries.

What is promised to whom, in numbers and in words, itemised to the last measurement.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, assert_never

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator

from sfumato.fitting.stored_plan import StoredPlan
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Header
from sfumato.trusted.measurement import Measurement
from sfumato.trusted.privacy_filter import UNITS_PER_MU_SQUARED, units_of
from sfumato.trusted.schema import FamilySchema, Schema, Unit
from sfumato.trusted.schema.display import shorten

if TYPE_CHECKING:
    from sfumato.trusted.budget import Budget

_OPEN_BY_RECORD = "Somebody with several records: each record is protected, all of them together less so."
_OPEN_BY_FAMILY = (
    "Somebody under several keys: each is protected, all of them together less so.",
    "Whoever is named in rows of others, such as a doctor: they are protected as a part of those rows alone.",
    "Rows that lead to several persons, by a key that these share. The schema says that there are none.",
)
_OPEN_BY_PERSON = "Somebody under several ids: each id is protected, all of them together less so."
_ALWAYS_OPEN = (
    "What the records say together: that is what is released.",
    "The schema as it was written: column names, types, bounds, lists of values, target. It is public by definition.",
    "Other releases from the same records: their costs add up, which is what the ledger is for.",
    "The machine on which the records lie, and how long the computation took on it.",
)


class _Words(NamedTuple):
    """How a statement speaks of an adjacency: to one record, to one person, of a family, and what it leaves open."""

    record: str
    person: str
    family: str
    open: tuple[str, ...]


def _words_for(adjacency: Adjacency) -> _Words:
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return _Words(
                "Whether any one record was in the table or not",
                "Whether any one person was in the table or not, with all of their records",
                "Whether any one person was in the database or not, with all of their rows in all tables",
                (),
            )
        case Adjacency.REPLACE:
            return _Words(
                "Whatever values any one record had",
                "Whatever records any one person had",
                "Whatever rows any one person had in all tables",
                ("The number of records or of persons: this release treats it as public.",),
            )
        case Adjacency.LABEL:
            return _Words(
                "Whatever target value any one record had",
                "Whatever target values the records of any one person had",
                "Whatever target values the rows of any one person had",
                ("All columns except the target, and the number of records: this release treats them as public.",),
            )
        case _:
            assert_never(adjacency)


Units = Annotated[int, Field(gt=0, le=10**30)]


class _Content(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Item(_Content):
    """One measurement as the statement lists it."""

    what: str
    sensitivity: PositiveFloat
    mu: PositiveFloat
    sigma: PositiveFloat
    units: Units


class PrivacyStatement(_Content):
    """What is promised.

    `units` are 1e-12 of mu squared; `reservation` is the hash of the ledger's entry, if there is one; `contents` is the
    hash of schema, header, plan and measurements, so that the ledger, which keeps the hash of this statement, vouches
    for them. `tables` are those of a family, whose `unit` is a person with all rows in all of them. `delta_keys` of
    delta went to lists of values that were discovered; the rest is for the noise.
    """

    dataset: str
    mechanism: str
    adjacency: Adjacency
    epsilon: PositiveFloat
    delta: PositiveFloat
    seeded: bool
    items: tuple[Item, ...]
    contents: str
    units_budget: Units
    units_spent: Units | Literal[0]
    reservation: str | None
    unit: Unit | None = None
    tables: tuple[str, ...] | None = None
    delta_keys: Annotated[float, Field(gt=0, lt=1)] | None = None

    @model_validator(mode="after")
    def _set_aside(self) -> Self:
        if self.delta_keys is not None and self.delta_keys >= self.delta:
            raise ValueError("more than delta is set aside for lists of values")
        return self

    @classmethod
    def of(
        cls,
        measurements: Sequence[Measurement],
        *,
        contents: str,
        dataset: str,
        mechanism: str,
        adjacency: Adjacency,
        budget: "Budget",
        seeded: bool,
        reservation: str | None,
        unit: Unit | None = None,
        tables: Sequence[str] | None = None,
    ) -> "PrivacyStatement":
        """The statement of everything that came through the curator."""
        items = tuple(item_of(measurement, adjacency, unit) for measurement in measurements)
        return cls(
            dataset=dataset,
            mechanism=mechanism,
            adjacency=adjacency,
            epsilon=budget.epsilon,
            delta=budget.delta,
            seeded=seeded,
            items=items,
            contents=contents,
            units_budget=budget.units,
            units_spent=sum(item.units for item in items),
            reservation=reservation,
            unit=unit,
            tables=None if tables is None else tuple(tables),
            delta_keys=budget.delta_keys or None,
        )

    def __repr__(self) -> str:
        return f"<PrivacyStatement of {shorten(self.dataset)}: {self.claim}; {len(self.items)} measurements>"

    __str__ = __repr__

    @property
    def claim(self) -> str:
        """The promise in a few words."""
        if self.seeded:
            return f"NOT PRIVATE, {self.label}"
        law = f"({self.epsilon:g}, {self.delta:g})-differential privacy"
        return f"{self.label} {law} for {self.protects}, {self.adjacency} adjacency"

    @property
    def budget(self) -> "Budget":
        """The budget as it was given."""
        from sfumato.trusted.budget import Budget  # it needs scipy; a receiver need not

        return Budget(self.epsilon, self.delta, self.unit.records if self.unit else 1, self.delta_keys or 0.0)

    @property
    def protects(self) -> str:
        """Whom the promise is for."""
        if self.tables is not None:
            return "one person, all of their rows in all tables"
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
        epsilon = self.epsilon
        factor = math.exp(min(epsilon, 700.0))
        words = _words_for(self.adjacency)
        change = words.family if self.tables is not None else words.person if self.unit else words.record
        return (
            f"{change}, the probability of anything that can be seen in this release changes by a factor of at most "
            f"e^{epsilon:g} = {factor:.4g}, except with an additional probability of at most {self.delta:g}: "
            f"({epsilon:g}, {self.delta:g})-differential privacy for {self.protects}, {self.adjacency} adjacency."
            f"{self._whose}{self._of_lists}"
        )

    @property
    def _of_lists(self) -> str:
        if self.delta_keys is None:
            return ""
        return (
            f" Of the {self.delta:g}, {self.delta_keys:.3g} is for lists of values that were found in the records: a "
            "value that only one of the protected holds stays unnamed, except with that probability."
        )

    @property
    def _whose(self) -> str:
        if self.unit is None:
            return ""
        if self.tables is not None:
            return (
                f" Column {self.unit.column} tells persons apart; the rows of {_listed(self.tables)} that lead to a "
                "person by the keys of the schema, and to nobody else, are theirs, however many they are."
            )
        records = self.unit.records
        count = "1 record of each counts" if records == 1 else f"{records} records of each count"
        return f" Column {self.unit.column} tells persons apart; {count} at most."

    @property
    def remainder(self) -> str:
        """What the plan did not spend."""
        left = 1 - self.units_spent / self.units_budget
        if left < 0.001:
            return "The whole budget of this release is spent."
        from sfumato.trusted.budget import epsilon_of

        spent = epsilon_of(self.mu, self.delta - (self.delta_keys or 0.0)) if self.units_spent else 0.0
        return f"{left:.1%} of the budget is left: what was spent is epsilon {spent:.4g} at the same delta."

    @property
    def not_protected(self) -> tuple[str, ...]:
        """What this promise does not cover."""
        of_one = (_OPEN_BY_PERSON if self.unit else _OPEN_BY_RECORD,)
        whose = of_one if self.tables is None else _OPEN_BY_FAMILY
        return (*_ALWAYS_OPEN, *whose, *_words_for(self.adjacency).open)

    @property
    def hash(self) -> str:
        """The statement's fingerprint, as the ledger keeps it."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries; what there is not, unit or delta of lists, is left out."""
        absent = {name for name in ("unit", "tables", "delta_keys") if getattr(self, name) is None}
        return self.model_dump(mode="json", exclude=absent)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "PrivacyStatement":
        """The statement that `to_dict` wrote; anything else is refused."""
        return cls.model_validate(content)


def hash_contents(
    schema: Schema | FamilySchema,
    header: Header | Mapping[str, Header],
    plan: StoredPlan,
    measurements: Sequence[Measurement],
) -> str:
    """The fingerprint of all that a release says beside its model, which follows from it."""
    content = {
        "schema": schema.to_dict(),
        "header": _plain(header) if isinstance(header, Header) else {name: _plain(one) for name, one in header.items()},
        "plan": plan.to_dict(),
        "measurements": [*map(_hash_of, measurements)],
    }
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _plain(header: Header) -> dict[str, Any]:
    return {"frame": header.frame, "types": dict(header.types)}


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _hash_of(measurement: Measurement) -> str:
    """Of the question as it is written down, and of every answer."""
    question = json.dumps(measurement.to_dict(), sort_keys=True).encode()
    return hashlib.sha256(question + b"\0" + measurement.values.astype("<i8").tobytes()).hexdigest()


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
