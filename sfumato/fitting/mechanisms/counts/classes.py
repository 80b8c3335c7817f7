"""The classes of the target."""

from dataclasses import dataclass

from sfumato.fitting.models.table_mixture.code_weights import CodeWeights
from sfumato.trusted.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Classes:
    """The classes of the target: which cell of its grid lies in which, and a cell's probability within its class."""

    groups: IntArray
    inside: FloatArray
    weights: CodeWeights | None = None  # of the target's codes inside a cell

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.groups.max()) + 1
