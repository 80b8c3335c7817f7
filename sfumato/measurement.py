"""What comes through the door: a noisy sum and the law of its noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.statistics import Statistic


@dataclass(frozen=True, eq=False)
class Measurement:
    """A statistic's sum over the private records plus rounded Gaussian noise. Public.

    The noise of a block of weight w has standard deviation sigma / w, and the whole is mu-GDP.
    """

    statistic: Statistic
    mu: float
    sigma: float
    values: NDArray[np.int64]

    def __post_init__(self) -> None:
        self.values.setflags(write=False)

    def to_content(self) -> dict[str, Any]:
        """All but the values, which a bundle keeps as an Arrow file."""
        return {"statistic": self.statistic.to_content(), "mu": self.mu, "sigma": self.sigma}
