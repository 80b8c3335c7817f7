"""What comes through the curator: a noisy sum and the law of its noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sfumato.trusted.arrays import IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.schema.display import shorten
from sfumato.trusted.statistics import Statistic, statistic_from_dict

_MOST = 2.0**100  # far above what any budget buys and any statistic needs


@dataclass(frozen=True, eq=False)
class Measurement:
    """A statistic's sum over the private records plus rounded Gaussian noise. Public.

    The noise of a block of weight w has standard deviation sigma / w, and the whole is mu-GDP.
    """

    statistic: Statistic
    mu: float
    sigma: float
    values: IntArray

    def __post_init__(self) -> None:
        if not all(isinstance(number, float) and 0 < number < _MOST for number in (self.mu, self.sigma)):
            raise ValueError("mu and sigma must be numbers above 0 that a budget can buy")
        self.values.setflags(write=False)

    def __repr__(self) -> str:
        title = shorten(self.statistic.title, 120)
        return f"<Measurement: {title}; {len(self.values):,} values, mu {self.mu:.4g}, sigma {self.sigma:.4g}>"

    def to_dict(self) -> dict[str, Any]:
        """All but the values, which a bundle keeps as an Arrow file."""
        return {"statistic": self.statistic.to_dict(), "mu": self.mu, "sigma": self.sigma}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], values: IntArray) -> "Measurement":
        """The measurement that `to_dict` wrote, with its values."""
        if set(content) != {"statistic", "mu", "sigma"}:
            raise ValueError("a measurement has a statistic, mu, sigma and nothing else")
        return cls(statistic_from_dict(content["statistic"]), content["mu"], content["sigma"], values)


class CuratorLike(Protocol):
    """Where a mechanism asks: the curator, or a record of what the curator once answered."""

    def measure(self, statistic: Statistic, mu: float) -> Measurement:
        """The answer, which is mu-GDP."""

    def features(self, names: Sequence[str]) -> Batch:
        """Columns that are public by schema and adjacency."""
