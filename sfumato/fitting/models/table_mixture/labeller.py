"""What the target of a table is, given its other columns."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.fitting.models.table_mixture.label_tables import LabelTables
from sfumato.fitting.models.table_mixture.target_rules import TargetRules
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch, Codes
from sfumato.trusted.feature_maps.features import Softmax
from sfumato.trusted.schema.schema import Combination

_GOLDEN = (5**0.5 - 1) / 2
_KEY_BITS, _SHARE_BITS = 63, 32


@dataclass(frozen=True, eq=False)
class Labeller:
    """Class probabilities of each record, and `share`: how much of each class is left, given what has been asked.

    `of_samples` says whether records of a sample are labelled by it; if not, they keep the class they were drawn in.
    """

    model: Softmax
    target: str
    share: FloatArray
    of_samples: bool = True
    rules: TargetRules | None = None  # that name the target, where there are any

    def __post_init__(self) -> None:
        if (
            self.share.shape != self.model.coefficients.shape[1:]
            or not (self.share >= 0).all()
            or self.share.sum() <= 0
        ):
            raise ValueError("a labeller needs a share for every class")

    @classmethod
    def of(
        cls, model: Softmax, target: str, of_samples: bool = True, forbidden: Iterable[Combination] = ()
    ) -> "Labeller":
        """Before anything has been asked: all of every class is left."""
        share = np.ones(model.coefficients.shape[1])
        return cls(model, target, share, of_samples, TargetRules.of(target, forbidden))

    def knows(self, batch: Batch) -> bool:
        """Whether the records have every column that it looks at."""
        needed = {*self.model.features.columns, *(self.rules.columns if self.rules else ())}
        return needed <= batch.codes.keys()

    def fits(self, codes: Mapping[str, Codes]) -> bool:
        """Whether it looks at columns with these codes."""
        grids = self.model.features.grids
        if self.rules is not None and not self.rules.fits(codes):
            return False
        return self.target in codes and all(name in codes and grid.codes == codes[name].size for name, grid in grids)

    def probabilities(self, batch: Batch) -> FloatArray:
        """The probability of every class (records x classes)."""
        p = LabelTables.of(self.model).probabilities(batch)
        # a class that is left must keep some probability, or a record may have none at all
        left: FloatArray = np.maximum(p, 1e-12) * self.share
        left /= left.sum(axis=1, keepdims=True)
        return left

    def draw(self, probabilities: FloatArray, kind: IntArray, rng: np.random.Generator) -> IntArray:
        """A class for each record, drawn so that records that are alike have classes in proportion.

        Sorted by their `kind` (the mixture's component) and probability, neighbours get places that the golden ratio
        spreads evenly over [0, 1): each class is as likely as it should be, and sums over many records hardly vary.
        """
        order = _order_of(kind, probabilities[:, 0])
        place = np.empty(len(order))
        place[order] = (rng.random() + _GOLDEN * np.arange(len(order))) % 1.0
        up_to = np.cumsum(probabilities, axis=1)
        label = (up_to[:, :-1] <= place[:, None]).sum(axis=1)
        # a sum that falls short of 1 by its last digit must not lead to a class without probability
        possible: IntArray = np.minimum(label, (up_to < up_to[:, -1:]).sum(axis=1))
        return possible

    def given(self, share: FloatArray) -> "Labeller":
        """The labeller given that only so much of each class is left."""
        return replace(self, share=self.share * share)

    def to_dict(self) -> dict[str, Any]:
        """Plain content. Only what was fitted is written, never what has been asked."""
        content: dict[str, Any] = {"model": self.model.to_dict(), "target": self.target}
        content |= {} if self.of_samples else {"of_samples": False}
        return content if self.rules is None else {**content, "forbidden": self.rules.to_list()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Labeller":
        """The labeller that `to_dict` wrote."""
        of_samples = content.get("of_samples", True)
        if set(content) - {"of_samples", "forbidden"} != {"model", "target"} or not isinstance(of_samples, bool):
            raise ValueError("a labeller has a model, a target, perhaps a word on samples or rules, and nothing else")
        target, stored = content["target"], content.get("forbidden")
        forbidden = () if stored is None else TargetRules.from_list(stored, target).forbidden
        return cls.of(Softmax.from_dict(content["model"]), target, of_samples, forbidden)


def _order_of(kind: IntArray, share: FloatArray) -> IntArray:
    """Records by kind, then by share, as far as the bits of one number tell it apart."""
    record_bits, kind_bits = len(kind).bit_length(), int(kind.max(initial=0)).bit_length()
    bits = min(_SHARE_BITS, _KEY_BITS - record_bits - kind_bits)
    keys = np.minimum(share * 2.0**bits, 2.0**bits - 1).astype(np.int64)
    keys |= kind << bits
    keys <<= record_bits
    keys |= np.arange(len(keys))
    keys.sort()
    keys &= (1 << record_bits) - 1
    return keys
