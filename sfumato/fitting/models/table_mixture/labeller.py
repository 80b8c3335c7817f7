"""What the target of a table is, given its other columns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch, Codes
from sfumato.trusted.feature_maps.features import Softmax

_AT_ONCE = 1 << 12
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Labeller:
    """Class probabilities of each record, and `share`: how much of each class is left, given what has been asked.

    `of_samples` says whether records of a sample are labelled by it; if not, they keep the class they were drawn in.
    """

    model: Softmax
    target: str
    share: FloatArray
    of_samples: bool = True

    def __post_init__(self) -> None:
        if (
            self.share.shape != self.model.coefficients.shape[1:]
            or not (self.share >= 0).all()
            or self.share.sum() <= 0
        ):
            raise ValueError("a labeller needs a share for every class")

    @classmethod
    def of(cls, model: Softmax, target: str, of_samples: bool = True) -> "Labeller":
        """Before anything has been asked: all of every class is left."""
        return cls(model, target, np.ones(model.coefficients.shape[1]), of_samples)

    def knows(self, batch: Batch) -> bool:
        """Whether the records have every column that it looks at."""
        return all(name in batch.codes for name in self.model.features.columns)

    def fits(self, codes: Mapping[str, Codes]) -> bool:
        """Whether it looks at columns with these codes."""
        grids = self.model.features.grids
        return self.target in codes and all(name in codes and grid.codes == codes[name].size for name, grid in grids)

    def probabilities(self, batch: Batch) -> FloatArray:
        """The probability of every class (records x classes)."""
        features = self.model.features
        parts = [self.model.probabilities(features(part)).T for part in batch.parts(_AT_ONCE, features.columns)]
        p = np.concatenate([np.empty((0, len(self.share))), *parts])
        # a class that is left must keep some probability, or a record may have none at all
        left: FloatArray = np.maximum(p, 1e-12) * self.share
        left /= left.sum(axis=1, keepdims=True)
        return left

    def draw(self, probabilities: FloatArray, kind: IntArray, rng: np.random.Generator) -> IntArray:
        """A class for each record, drawn so that records that are alike have classes in proportion.

        Sorted by their `kind` (the mixture's component) and probability, neighbours get places that the golden ratio
        spreads evenly over [0, 1): each class is as likely as it should be, and sums over many records hardly vary.
        """
        order = np.lexsort((probabilities[:, 0], kind))
        place = np.empty(len(order))
        place[order] = (rng.random() + _GOLDEN * np.arange(len(order))) % 1.0
        label: IntArray = (np.cumsum(probabilities, axis=1)[:, :-1] <= place[:, None]).sum(axis=1)
        return label

    def given(self, share: FloatArray) -> "Labeller":
        """The labeller given that only so much of each class is left."""
        return replace(self, share=self.share * share)

    def to_dict(self) -> dict[str, Any]:
        """Plain content. Only what was fitted is written, never what has been asked."""
        content = {"model": self.model.to_dict(), "target": self.target}
        return content if self.of_samples else {**content, "of_samples": False}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Labeller":
        """The labeller that `to_dict` wrote."""
        of_samples = content.get("of_samples", True)
        if set(content) - {"of_samples"} != {"model", "target"} or not isinstance(of_samples, bool):
            raise ValueError("a labeller has a model, a target, perhaps a word on samples, and nothing else")
        return cls.of(Softmax.from_dict(content["model"]), content["target"], of_samples)
