"""A statistic of a share of the records, where all of them would tell hardly more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.grid import grids_follow
from sfumato.trusted.feature_maps.hashed_share import HashedShare
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Statistic, Titled, register, statistic_from_dict


@dataclass(frozen=True, eq=False, repr=False)
class Sampled(Titled):
    """The sum of `statistic` over the records that are in `of`, a share of them that a keyed hash chooses.

    A record r adds s(r) f(r): f(r) is its part in the inner statistic, and s(r), which is 1 or 0, a function of the
    public key and of r alone.

    Formal guarantees, D <= D' the inner sensitivities for add-remove and replace, D'' that for label
        add-remove   D: |s(r) f(r)| <= |f(r)| <= D
        replace      D': r becomes q. If both are in, the sum moves by |f(r) - f(q)| <= D'; if one is, by its part,
                     which is at most D <= D'; if none is, by nothing
        label        the larger of D'' and D: the same, whether the hash looks at the label or not
        These are the bounds for all records. The share is not secret, so that nothing is gained by sampling and
        nothing is claimed for it. Attained where the inner bound is, by records that are in.
    Edge cases
        No record is in: zeros.
    """

    statistic: Statistic
    of: HashedShare

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"{self.statistic.title}, on {self.of.share:.3g} of the records"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return tuple(dict.fromkeys((*self.of.columns, *self.statistic.columns)))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return self.statistic.blocks

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE | Adjacency.REPLACE:
                return self.statistic.sensitivity(adjacency)
            case Adjacency.LABEL:
                return max(self.statistic.sensitivity(adjacency), self.statistic.sensitivity(Adjacency.ADD_REMOVE))
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        return self.statistic(self.of.choose(batch, self.statistic.columns))

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return grids_follow(self.of.grids.items(), schema) and self.statistic.follows(schema)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {"kind": "sampled", "hashed": self.of.to_dict(), "statistic": self.statistic.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Sampled":
        """The statistic that `to_dict` wrote."""
        if content["statistic"].get("kind") in ("sampled", "person-level"):
            raise ValueError("a share is taken of records, and once")
        return cls(statistic_from_dict(content["statistic"]), HashedShare.from_dict(content["hashed"]))


register("sampled", Sampled.from_dict)
