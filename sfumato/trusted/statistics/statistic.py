"""What a statistic must be and prove."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from sfumato.errors import BundleError
from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.schema import Schema
from sfumato.trusted.schema.display import shorten


class Block(NamedTuple):
    """A stretch of a statistic's vector, and the weight by which its noise is divided."""

    size: int
    weight: float


class Statistic(Protocol):
    """A map from one record to a vector of whole numbers, summed over the records of a batch.

    Formal guarantees that a class must argue in its docstring
        The sum over two batches is the sum of the two sums, and a record's part is a function of that record alone, to
        the last bit: integers, or IEEE arithmetic on single values, never a product whose rounding depends on other
        rows. For every pair of tables that differ by one change of the adjacency, with w the weight of each block,
        sqrt(sum of (w * move of the block)^2) <= sensitivity(adjacency). That of add-remove is not above that of
        replace, so that a person whose records are replaced may come to have fewer or more of them.
    Edge cases
        No batch makes it raise: encoding has given every value a code.
    """

    @property
    def title(self) -> str:
        """What it measures, in a few words."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The stretches of its vector, in order."""

    def sensitivity(self, adjacency: Adjacency) -> float:
        """How far one change can move the sum."""

    def __call__(self, batch: Batch) -> IntArray:
        """The sum over a batch."""

    def follows(self, schema: Schema) -> bool:
        """Whether it reads columns of the schema, as the schema has them, and its target as the label."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries from which it can be made again; `kind` names its class."""


class Titled(ABC):
    """A statistic that is shown by its title: what it holds may be long."""

    @property
    @abstractmethod
    def title(self) -> str:
        """See `Statistic`."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {shorten(self.title, 200)}>"


_KINDS: dict[str, Callable[[Mapping[str, Any]], Statistic]] = {}


def register(kind: str, make: Callable[[Mapping[str, Any]], Statistic]) -> None:
    """Name a class of statistics, so that a bundle can hold one.

    The list of names is closed: nothing is imported by name.
    """
    _KINDS[kind] = make


def statistic_from_dict(content: Mapping[str, Any]) -> Statistic:
    """The statistic that `to_dict` wrote; an unknown kind is refused, never ignored."""
    kind = content.get("kind")
    if kind not in _KINDS:
        raise BundleError(f"a statistic of kind {kind!r} is not known to this version; update sfumato")
    return _KINDS[kind](content)


def size_of(statistic: Statistic) -> int:
    """How long its vector is."""
    return sum(block.size for block in statistic.blocks)
