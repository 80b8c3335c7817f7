"""How often each value of a column occurs that stands out: the question by which a list of values is bought."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn, assert_never

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.keys import key_of
from sfumato.trusted.encoding.values import Kind, Value
from sfumato.trusted.schema import CategoryColumn, Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register


@dataclass(frozen=True, repr=False)
class KeyCounts(Titled):
    """Counts of the keys of one column, of those keys alone whose noisy count is above a threshold.

    The question has no `keys`; in the answer they are those that were found, in order. `delta` is the probability with
    which a key that one change creates may be found, `records` how many records of one person count.

    Formal guarantees, C the keys that both of two neighbouring tables hold
        A record has at most one key, so that of the counts of C
        add-remove   1: one count moves by 1
        replace      sqrt(2): one loses 1 and another gains 1
        label        sqrt(2): to change a label is one way to replace; where the target is another column, nothing moves
        bounds the move. What the threshold does to the keys that only one of the tables holds is argued in
        `thresholds`: all of them stay unseen, except with probability `delta`.
    Edge cases
        No records, or no key that stands out: no keys and no counts. A value without a key is counted nowhere.
    """

    column: str
    delta: float
    records: int
    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (0 < self.delta < 1 and type(self.records) is int and self.records >= 1):
            raise ValueError("a list of values is found with a delta between 0 and 1, of one record or more")
        if list(self.keys) != sorted(set(self.keys)) or not all(map(_is_key, self.keys)):
            raise ValueError("the keys of a list of values are texts that a value can have, in order, each once")

    @property
    def question(self) -> "KeyCounts":
        """What was asked, without the answer."""
        return replace(self, keys=())

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"list of values of {self.column}; delta {self.delta:.3g}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return (self.column,)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(len(self.keys), 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`; of the keys that both tables hold."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return 1.0
            case Adjacency.REPLACE | Adjacency.LABEL:
                return math.sqrt(2)
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> NoReturn:
        """Refused: keys are counted by the source, and never without a threshold."""
        raise NotImplementedError("a list of values is asked for by `Curator.discover`")

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        return isinstance(schema.by_name.get(self.column), CategoryColumn)

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "key counts",
            "column": self.column,
            "delta": self.delta,
            "records": self.records,
            "keys": list(self.keys),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "KeyCounts":
        """The statistic that `to_dict` wrote."""
        return cls(content["column"], content["delta"], content["records"], tuple(content["keys"]))


def _is_key(text: object) -> bool:
    return isinstance(text, str) and key_of(Value(Kind.TEXT, text.encode())) == text.encode()


register("key counts", KeyCounts.from_dict)
