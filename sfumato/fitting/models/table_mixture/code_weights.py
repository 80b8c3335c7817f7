"""How much each code of a piece weighs: a piece is wider than what can be counted, and its values are not alike.

Values of one kind (see `sfumato.trusted.encoding.kinds`) in one region of a column weigh the same: multiples of ten
may be likelier than their neighbours, and Sundays rarer.
"""

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Codes, NumericCodec
from sfumato.trusted.encoding.kinds import count_kinds, kinds_of

_KEPT = 32
_LARGEST, _FURTHEST_APART = 1e50, 1e15


@dataclass(frozen=True, eq=False)
class CodeWeights:
    """The weight of a code: rates[region, kind].

    Region r begins at code starts[r]. Only weights within a piece count, each relative to the others.
    """

    codes: NumericCodec
    starts: IntArray
    rates: FloatArray

    def __post_init__(self) -> None:
        rising = len(self.starts) > 0 and self.starts[0] == 0 and (np.diff(self.starts) > 0).all()
        if not rising or self.starts[-1] >= self.codes.size:
            raise ValueError("the regions of a column must begin with its first code and rise")
        if self.rates.shape != (len(self.starts), count_kinds(self.codes)):
            raise ValueError("the weights of a column need a number for each region and kind")
        least, most = self.rates.min(), self.rates.max()
        if not 1 / _LARGEST < least <= most < _LARGEST or most > _FURTHEST_APART * least:
            raise ValueError("the weights of a column must be numbers above 0, and not too far apart")

    def of(self, codes: NDArray[np.integer[Any]]) -> FloatArray:
        """The weight of each code."""
        region = np.searchsorted(self.starts, codes, side="right") - 1
        weight: FloatArray = self.rates[region, kinds_of(self.codes).of_code[codes]]
        return weight

    def between(self, starts: IntArray, stops: IntArray, *, keep: bool = True) -> FloatArray:
        """The weight of runs of codes; never 0, though a sum of many may lose a small one. For `keep` see `draw`."""
        up_to = self.up_to if keep else _sum_weights(self)
        weight: FloatArray = np.maximum(up_to[stops] - up_to[starts], self.rates.min() * (stops - starts))
        return weight

    @property
    def up_to(self) -> FloatArray:
        """The weight of all codes below each, and at the end of all."""
        return _keep_sums(self)

    def draw(self, starts: IntArray, stops: IntArray, rng: np.random.Generator, *, keep: bool = True) -> IntArray:
        """A code of each run, by their weights; `keep` says whether sums of weights are kept for the next draw."""
        up_to = self.up_to if keep else _sum_weights(self)
        low, high = up_to[starts], up_to[stops]
        codes = np.searchsorted(up_to, low + rng.random(len(starts)) * (high - low), side="right") - 1
        return np.clip(codes, starts, stops - 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists."""
        return {"starts": self.starts.tolist(), "rates": self.rates.tolist()}

    @classmethod
    def from_dict(cls, content: dict[str, Any], codes: Codes) -> "CodeWeights":
        """The weights that `to_dict` wrote, of a column with these codes."""
        if not isinstance(codes, NumericCodec) or set(content) != {"starts", "rates"}:
            raise ValueError("only a column on a scale has weights, of regions and kinds")
        return cls(codes, np.array(content["starts"], dtype=np.int64), np.array(content["rates"], dtype=np.float64))


def _sum_weights(weights: CodeWeights) -> FloatArray:
    """See `CodeWeights.up_to`."""
    summed, kinds = np.zeros(weights.codes.size + 1), kinds_of(weights.codes).of_code
    runs = itertools.pairwise((*weights.starts.tolist(), weights.codes.size))
    for rates, (start, stop) in zip(weights.rates, runs, strict=True):
        rates.take(kinds[start:stop], out=summed[start + 1 : stop + 1], mode="clip")
    return np.cumsum(summed, out=summed)


_keep_sums = lru_cache(maxsize=_KEPT)(_sum_weights)  # 8 MB for a long column, so that only some are kept
