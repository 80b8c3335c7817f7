"""Which class a record belongs to: what its target says, or a public rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sfumato.errors import BundleError
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.encoding.codes import codes_of
from sfumato.trusted.feature_maps.features import in_order
from sfumato.trusted.feature_maps.whitening import Whitening
from sfumato.trusted.schema import Schema


class Partition(Protocol):
    """A public map from a record to one of `size` classes."""

    @property
    def size(self) -> int:
        """How many classes there are."""

    @property
    def target(self) -> str | None:
        """The column that says it, if one does."""

    def __call__(self, batch: Batch, places: FloatArray) -> IntArray:
        """The class of each record."""

    def follows(self, schema: Schema) -> bool:
        """Whether its target, if it has one, is the schema's, and its classes are the codes of it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain content; `kind` names the class."""


@dataclass(frozen=True)
class ByTarget:
    """The class is the code of the target; each code is a class, also one that no record has."""

    target: str
    size: int

    def __call__(self, batch: Batch, places: FloatArray) -> IntArray:  # noqa: ARG002
        """See `Partition`."""
        return batch.codes[self.target].astype(np.int64)

    def follows(self, schema: Schema) -> bool:
        """See `Partition`."""
        return self.target == schema.target and self.size == codes_of(schema[self.target]).size

    def to_dict(self) -> dict[str, Any]:
        """See `Partition`."""
        return {"kind": "by target", "target": self.target, "size": self.size}


@dataclass(frozen=True)
class Together:
    """All records are of one class."""

    size = 1
    target = None

    def __call__(self, batch: Batch, places: FloatArray) -> IntArray:  # noqa: ARG002
        """See `Partition`."""
        return np.zeros(batch.rows, dtype=np.int64)

    def follows(self, schema: Schema) -> bool:  # noqa: ARG002
        """See `Partition`."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """See `Partition`."""
        return {"kind": "together"}


@dataclass(frozen=True, eq=False)
class ByRule:
    """The class with the least |z_k|^2 + offset_k, z_k = W_k (x - c_k); the first of equals."""

    whitenings: tuple[Whitening, ...]
    offsets: tuple[float, ...]

    target = None

    def __post_init__(self) -> None:
        if not self.whitenings or len(self.whitenings) != len(self.offsets):
            raise ValueError("a rule needs a whitening and an offset for each class")

    @property
    def size(self) -> int:
        """See `Partition`."""
        return len(self.whitenings)

    def __call__(self, batch: Batch, places: FloatArray) -> IntArray:
        """See `Partition`."""
        if self.size == 1:
            return np.zeros(batch.rows, dtype=np.int64)
        far = np.empty((self.size, batch.rows))
        for row, whitening, offset in zip(far, self.whitenings, self.offsets, strict=True):
            z = whitening(places)
            row[:] = in_order(z * z) + offset
        nearest: IntArray = far.argmin(axis=0)
        return nearest

    def follows(self, schema: Schema) -> bool:  # noqa: ARG002
        """See `Partition`."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """See `Partition`."""
        return {
            "kind": "by rule",
            "whitenings": [whitening.to_dict() for whitening in self.whitenings],
            "offsets": list(self.offsets),
        }


def parting_from_content(content: Mapping[str, Any]) -> Partition:
    """The parting that `to_dict` wrote."""
    match content.get("kind"):
        case "by target":
            return ByTarget(content["target"], content["size"])
        case "together":
            return Together()
        case "by rule":
            return ByRule(tuple(map(Whitening.from_dict, content["whitenings"])), tuple(content["offsets"]))
        case other:
            raise BundleError(f"a parting of kind {other!r} is not known to this version; update sfumato")
