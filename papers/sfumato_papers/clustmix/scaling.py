"""Records into [0, 1]: by their least and largest values, or by their ranks. Both are private, and not paid for."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.trusted.arrays import FloatArray

Scaling = Literal["min-max", "normal quantiles"]


@dataclass(frozen=True)
class Scaled:
    """A map into [0, 1] that was fitted to records; others are clipped."""

    ranks: Any
    low: FloatArray
    width: FloatArray

    @classmethod
    def to(cls, X: FloatArray, scaling: Scaling) -> "Scaled":  # noqa: N803
        """The map for these records. A column of one value lies at 0."""
        ranks = None
        if scaling == "normal quantiles":
            from sklearn.preprocessing import QuantileTransformer

            count = min(1_000, len(X))
            ranks = QuantileTransformer(n_quantiles=count, output_distribution="normal", random_state=0).fit(X)
            X = ranks.transform(X)
        low, width = X.min(axis=0), np.ptp(X, axis=0)
        return cls(ranks, low, np.where(width > 0, width, 1.0))

    def __call__(self, X: FloatArray) -> FloatArray:  # noqa: N803
        """Records on this scale."""
        plain = X if self.ranks is None else self.ranks.transform(X)
        scaled: FloatArray = ((plain - self.low) / self.width).clip(0.0, 1.0)
        return scaled
