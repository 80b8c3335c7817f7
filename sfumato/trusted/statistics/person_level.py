"""A statistic of persons who have many records each: a person's records share one unit of weight."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Statistic, Titled, register, statistic_from_dict

PARTS = 2**10
"""The parts that a person's unit has. A person of k records gives each of them floor(PARTS / k): for k up to 32 that
loses at most 3 % of the unit."""


@dataclass(frozen=True, repr=False)
class PersonLevel(Titled):
    """The sum of `statistic` over the records of a view, where those of one person count as one record together.

    A person with k records in the view, 1 <= k <= PARTS, adds  F = sum over these records r of floor(PARTS / k) f(r),
    f being the part of one record in the inner statistic; a person with none adds nothing.

    Formal guarantees, D <= D' the inner sensitivities for add-remove and replace, in the weights of the blocks
        add-remove   PARTS * D: by the triangle inequality |F| <= k floor(PARTS / k) D <= PARTS D. Attained by a person
                     whose k records are one and the same, if k divides PARTS
        replace      PARTS * D': let s <= s' be the weights of all records of the person before and after (or after and
                     before), both PARTS at most. Of the s' parts after, couple s one by one with those before: each
                     pair moves the sum by D' at most, and each of the other s' - s parts by D <= D'. Together s' D'
        label        refused: the target of a row is a column of the record of the next one
        This is for a change of one person with all of their records, however many they are. What records a person has,
        and their weights, must depend on that person's rows alone: see `families.assembly`.
    Edge cases
        No records: zeros.
    """

    statistic: Statistic
    view: str

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"{self.view}: {self.statistic.title}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return self.statistic.columns

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return self.statistic.blocks

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE | Adjacency.REPLACE:
                return PARTS * self.statistic.sensitivity(adjacency)
            case Adjacency.LABEL:
                raise ValueError("label adjacency is not for families of tables")
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`. All records of the batch have its weight."""
        return batch.weight * self.statistic(batch)

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`; the schema is that of the view."""
        return self.statistic.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {"kind": "person-level", "view": self.view, "statistic": self.statistic.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "PersonLevel":
        """The statistic that `to_dict` wrote."""
        if not isinstance(content["view"], str) or content["statistic"].get("kind") == "person-level":
            raise ValueError("a person-level statistic has the name of a view, and another statistic")
        return cls(statistic_from_dict(content["statistic"]), content["view"])


register("person-level", PersonLevel.from_dict)
