"""How far a public model of the target is off, summed over the records: one bounded vector for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np

from sfumato.trusted.adjacency import Adjacency
from sfumato.trusted.arrays import FloatArray, IntArray
from sfumato.trusted.encoding import Batch
from sfumato.trusted.feature_maps.features import Softmax, contrasts, in_order
from sfumato.trusted.feature_maps.grid import Grid, grids_follow
from sfumato.trusted.fixed_point import A_HAIR_LESS, RECORD_NORM
from sfumato.trusted.schema import Schema
from sfumato.trusted.statistics.statistic import Block, Titled, register

UNIT = RECORD_NORM
_RECORDS_AT_ONCE = 1 << 12


@dataclass(frozen=True, eq=False, repr=False)
class Gradient(Titled):
    """Sum over the records of  w psi (e_y - p)' Q: the gradient of a weighted log-likelihood of the target.

    psi and p are those of the public `model`, e_y marks the record's class, Q is an orthonormal basis of the
    contrasts, and w = 1 / (|psi| rho) with rho = max_c |e_c - p|. The weight depends on the features alone, so that
    the expected gradient is zero where the model is the truth; and every record can move the sum equally far.

    Formal guarantees, in units of 2**22
        add-remove   1: |psi (e_y - p)' Q| = |psi| |Q'(e_y - p)| <= |psi| rho, because Q'v is as long as v if v adds up
                     to zero and rho is the largest over all classes
        replace      2: by the triangle inequality
        label        2: the same. Attained for two classes at p = 1/2, where |e_1 - e_0| / rho = 2
        The vector is psi a' with a = Q'(e_y - p) 2**22 / (|psi| rho) cut to whole numbers towards zero, psi being whole
        already. Should floats ever err, the bound stands: a record with |psi|^2 |a|^2 > 2**44, compared in integers,
        counts for nothing.
    Edge cases
        Every value has a code and psi is never zero, so nothing is divided by zero. No records: zeros.
    """

    model: Softmax
    target: str
    grid: Grid

    def __post_init__(self) -> None:
        if self.model.coefficients.shape[1] != self.grid.size:
            raise ValueError("a gradient needs coefficients for every class of its target")

    @property
    def title(self) -> str:
        """See `Statistic`."""
        return f"a correction to the predictor of {self.target}"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Statistic`."""
        return (*self.model.features.columns, self.target)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """See `Statistic`."""
        return (Block(self.model.features.size * (self.grid.size - 1), 1.0),)

    def sensitivity(self, adjacency: Adjacency) -> float:
        """See `Statistic`."""
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return float(UNIT)
            case Adjacency.REPLACE | Adjacency.LABEL:
                return float(2 * UNIT)
            case _:
                assert_never(adjacency)

    def __call__(self, batch: Batch) -> IntArray:
        """See `Statistic`."""
        total = np.zeros((self.model.features.size, self.grid.size - 1), dtype=np.int64)
        for part in batch.parts(_RECORDS_AT_ONCE, self.columns):
            psi = self.model.features(part)
            pull = self._pull(psi, self.grid.cell_of_code.take(part.codes[self.target]))
            # whole numbers of at most 2**22 each, 2**12 of them: the product is exact
            total += (psi @ pull.T).astype(np.int64)
        return total.ravel()

    def _pull(self, psi: FloatArray, label: np.ndarray[Any, Any]) -> FloatArray:
        """a of each record (contrasts x records), integer-valued."""
        length = np.einsum("kn,kn->n", psi, psi)  # whole numbers below 2**53: exact
        return bounded_residual(self.model.probabilities(psi), label, length)

    def weights(self, psi: FloatArray, p: FloatArray) -> FloatArray:
        """w of each record, in units of psi."""
        weights: FloatArray = UNIT / (np.sqrt(np.einsum("kn,kn->n", psi, psi)) * _farthest(p))
        return weights

    def follows(self, schema: Schema) -> bool:
        """See `Statistic`."""
        read = [*self.model.features.grids, (self.target, self.grid)]
        return grids_follow(read, schema) and self.target == schema.target

    def to_dict(self) -> dict[str, Any]:
        """See `Statistic`."""
        return {
            "kind": "gradient",
            "model": self.model.to_dict(),
            "target": self.target,
            "grid": self.grid.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Gradient":
        """The statistic that `to_dict` wrote."""
        return cls(Softmax.from_dict(content["model"]), content["target"], Grid.from_dict(content["grid"]))


def bounded_residual(p: FloatArray, label: np.ndarray[Any, Any], length: FloatArray) -> FloatArray:
    """Q'(e_y - p) 2**22 / (sqrt(length) rho) of each record (contrasts x records), cut to whole numbers towards zero.

    `length`, whole numbers from 1 on, is the squared length of what it will be multiplied with; the squared length of
    the product is at most 2**44.
    """
    off = [(label == c) - p[c] for c in range(len(p))]
    basis = contrasts(len(p))
    along = [in_order([basis[c, j] * off[c] for c in range(len(p))]) for j in range(len(p) - 1)]
    scale = UNIT * A_HAIR_LESS / (np.sqrt(length) * _farthest(p))
    pull = np.trunc(np.array(along) * scale)
    too_long = in_order(pull * pull).astype(np.int64) > UNIT**2 // length.astype(np.int64)
    return np.where(too_long, 0.0, pull)


def _farthest(p: FloatArray) -> FloatArray:
    """rho = max over classes c of |e_c - p|, for each record: |e_c - p|^2 = 1 - 2 p_c + |p|^2."""
    rho: FloatArray = np.sqrt(1 - 2 * p.min(axis=0) + in_order(p * p))
    return rho


register("gradient", Gradient.from_dict)
