"""Tables of three columns as evidence on a mixture of products, where there are no classes.

    p(a, b, c) = sum over components k of  pi_k A_k[a] B_k[b] C_k[c],    A, B, C on coarse cells

Error and gradient are matrix products over the outer product of the first two.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.fitting.mechanisms.counts.pairs import TripleTable
from sfumato.trusted.arrays import Float32Array


@dataclass(frozen=True, eq=False)
class TripleEvidence:
    """The groups of three columns, the 0/1 map from each to coarse cells, the table and the precision of its entries.

    table   cells of the first two columns x cells of the third, on the scale of probabilities
    """

    groups: tuple[slice, ...]
    maps: tuple[Float32Array, ...]
    table: Float32Array
    precision: float

    @classmethod
    def of(cls, triple: TripleTable, groups: Mapping[str, slice], size: float) -> "TripleEvidence":
        """A noisy table of so many records; `groups` are where those of each column stand."""
        cells = [triple.coarse[name] for name in triple.names]
        maps = tuple(np.eye(coarse.max() + 1, dtype=np.float32)[coarse] for coarse in cells)
        table = (triple.table / size).astype(np.float32).reshape(-1, triple.table.shape[-1])
        return cls(tuple(groups[name] for name in triple.names), maps, table, float((size / triple.sigma) ** 2))

    def add_error(self, theta: Float32Array, pi: Float32Array, by_theta: Float32Array, by_pi: Float32Array) -> float:
        """Half the squared residuals by their precision; adds its gradient to the other two arrays."""
        first, second, third = (theta[:, at] @ seen for at, seen in zip(self.groups, self.maps, strict=True))
        outer = (first[:, :, None] * second[:, None, :]).reshape(len(pi), -1)
        off = (pi[:, None] * outer).T @ third - self.table
        push = self.precision * off
        by_outer = (third @ push.T).reshape(len(pi), first.shape[1], second.shape[1])
        by_third = outer @ push
        parts = ((by_outer * second[:, None, :]).sum(axis=2), (by_outer * first[:, :, None]).sum(axis=1), by_third)
        for at, seen, part in zip(self.groups, self.maps, parts, strict=True):
            by_theta[:, at] += pi[:, None] * part @ seen.T
        by_pi += (by_third * third).sum(axis=1)
        return 0.5 * float((push * off).sum())
