"""How much a record counts by its distance: a sum of exponentials, on records by a table of whole numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.trusted.arrays import FloatArray
from sfumato.trusted.feature_maps.packing import pack, unpack

_PER_OCTAVE = 64
_OCTAVES = 20
_UNIT = 2.0**27  # so that kappa up to _HIGHEST has room in 32 bits
_HIGHEST = 15.0


@dataclass(frozen=True, eq=False)
class RadialWeight:
    """kappa(t) = sum of coefficient exp(-rate t), t = |z|^2 >= 0.

    On a record kappa is read off `nodes` by straight lines between t + 2**start = 2**e (1 + i/64): the exponent and the
    leading bits of a float are exact, so kappa is a function of t to the last bit. The exponentials serve the
    expectation under a Gaussian, which they make exact; straight lines are within 1e-3 of them.
    """

    rates: tuple[float, ...]
    coefficients: tuple[float, ...]
    start: int
    nodes: NDArray[np.int32]

    def __post_init__(self) -> None:
        if len(self.rates) != len(self.coefficients) or len(self.nodes) != _OCTAVES * _PER_OCTAVE + 1:
            raise ValueError("a damping needs a coefficient for every rate and a node for every part of its range")

    @classmethod
    def of(cls, rates: Sequence[float], coefficients: Sequence[float], dimension: int) -> "RadialWeight":
        """The damping of these exponentials; from t = 200,000 times the dimension on it is nothing."""
        start = math.floor(math.log2(dimension)) - 2
        octave, place = np.divmod(np.arange(_OCTAVES * _PER_OCTAVE + 1), _PER_OCTAVE)
        t = 2.0 ** (start + octave) * (1 + place / _PER_OCTAVE) - 2.0**start
        kappa = np.exp(-np.outer(t, rates)) @ np.array(coefficients)
        nodes = np.trunc(kappa.clip(-_HIGHEST, _HIGHEST) * _UNIT)
        nodes[-1] = 0
        return cls(tuple(map(float, rates)), tuple(map(float, coefficients)), start, nodes.astype(np.int32))

    def __call__(self, t: FloatArray) -> FloatArray:
        """kappa of each t."""
        leading, exponent = np.frexp(t + 2.0**self.start)
        where = ((leading - 0.5) * 2 + (exponent - 1 - self.start)) * _PER_OCTAVE
        where = np.minimum(where, len(self.nodes) - 1.0)
        left = np.minimum(where.astype(np.int64), len(self.nodes) - 2)
        low, high = (self.nodes.take(node).astype(np.float64) for node in (left, left + 1))
        kappa: FloatArray = (low + (high - low) * (where - left)) / _UNIT
        return kappa

    def to_dict(self) -> dict[str, Any]:
        """Plain content."""
        return {
            "rates": list(self.rates),
            "coefficients": list(self.coefficients),
            "start": self.start,
            "nodes": pack(self.nodes),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "RadialWeight":
        """The damping that `to_dict` wrote."""
        return cls(
            tuple(content["rates"]), tuple(content["coefficients"]), int(content["start"]), unpack(content["nodes"])
        )
